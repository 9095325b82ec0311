package pack

import (
	"errors"
	"fmt"
	"hash/maphash"

	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// counts holds what is only known of records that a pack came to: the exact tokens of their blocks, by number in the log.
// The rest is guessed only.
type counts struct {
	pages [][]uint32 // 1 + tokens; 0 is not counted; with overMark, there are more
	from  record.History
	err   error // the first of reading a record in order to count it
}

const (
	countPage = 256
	overMark  = 1 << 31
)

func (c *counts) at(block int) uint32 {
	if page := block / countPage; page < len(c.pages) && c.pages[page] != nil {
		return c.pages[page][block%countPage]
	}
	return 0
}

func (c *counts) get(block int) (tokens int, ok bool) {
	n := c.at(block)
	return int(n) - 1, n > 0 && n&overMark == 0
}

// isOver tells whether it is known that a block has more tokens than most.
func (c *counts) isOver(block, most int) bool {
	n := c.at(block)
	return n&overMark != 0 && int(n&^overMark)-1 >= most
}

func (c *counts) set(block, tokens int) { c.put(block, uint32(tokens)+1) }

// setOver notes that a block has more tokens than most.
func (c *counts) setOver(block, most int) { c.put(block, overMark|uint32(most+1)) }

func (c *counts) put(block int, n uint32) {
	for block/countPage >= len(c.pages) {
		c.pages = append(c.pages, nil)
	}
	page := &c.pages[block/countPage]
	if *page == nil {
		*page = make([]uint32, countPage)
	}
	(*page)[block%countPage] = n
}

// readFrom lets records be read from h from now on, and forgets an error of the last time. What it gives brings that back.
func (c *counts) readFrom(h record.History) (back func()) {
	before := c.err
	c.from, c.err = h, nil
	return func() {
		if c.err == nil {
			c.err = before
		}
	}
}

// tokensOf is what block k (from 1) of record n counts when shown whole.
func (w *Workset) tokensOf(n, k int) int {
	at := int(w.metas[n-1].first) + k - 1
	tokens, ok := w.exact.get(at)
	if !ok {
		w.countRecord(n)
		if tokens, ok = w.exact.get(at); !ok {
			tokens = w.blocks[at].tokens()
		}
	}
	return tokens
}

// tokensWithin is tokensOf, if that is not more than most. It counts no further than to there.
func (w *Workset) tokensWithin(n, k, most int) (tokens int, ok bool) {
	at := int(w.metas[n-1].first) + k - 1
	tokens, known := w.exact.get(at)
	switch {
	case known:
		return tokens, tokens <= most
	case most < 0 || w.exact.isOver(at, most):
		return 0, false
	}
	r, ok := w.countable(n)
	if !ok {
		tokens = w.blocks[at].tokens()
		return tokens, tokens <= most
	}
	text := shown(&r.Blocks[k-1])
	size, tokens := w.tok.Prefix(text, most)
	if size < len(text) {
		w.exact.setOver(at, most)
		return 0, false
	}
	w.exact.set(at, tokens)
	return tokens, true
}

// countRecord counts the blocks of record n.
func (w *Workset) countRecord(n int) {
	r, ok := w.countable(n)
	if !ok {
		return
	}
	for i := range r.Blocks {
		w.exact.set(int(w.metas[n-1].first)+i, min(w.tok.Count(shown(&r.Blocks[i])), maxBlockTokens))
	}
}

// countable reads record n in order to count it.
func (w *Workset) countable(n int) (r *record.Record, ok bool) {
	blocks := len(w.guessed(n))
	if w.exact.from == nil || blocks == 0 {
		return nil, false
	}
	r, err := w.load(w.exact.from, n)
	if err == nil && len(r.Blocks) != blocks {
		err = fmt.Errorf("messages:%d: it has changed since it was folded", n)
	}
	if err != nil && w.exact.err == nil {
		w.exact.err = err
	}
	return r, err == nil
}

// load reads record n as packs show it: a line that holds no message is one block.
func load(h record.History, n int) (*record.Record, error) {
	r, err := h.Record(n)
	if err != nil {
		return nil, err
	}
	if plain(&r) {
		raw, err := h.Raw(n)
		if err != nil {
			return nil, err
		}
		r.Blocks = []record.Block{{Kind: record.Other, Text: string(raw)}}
	}
	return &r, nil
}

// maxSizes is how many texts' tokens are remembered.
const maxSizes = 8192

// countShown counts a record's text as a pack shows it. Most of it stood in the pack before, and is not counted again.
func (w *Workset) countShown(text string) int {
	h := maphash.String(w.seed, text)
	if n, ok := w.sizes[h]; ok {
		return int(n)
	}
	return w.counted(h, text)
}

// countBytes is countShown of a part of a page.
func (w *Workset) countBytes(text []byte) int {
	h := maphash.Bytes(w.seed, text)
	if n, ok := w.sizes[h]; ok {
		return int(n)
	}
	return w.counted(h, string(text))
}

func (w *Workset) counted(h uint64, text string) int {
	n := w.tok.Count(text)
	if len(w.sizes) >= maxSizes {
		clear(w.sizes)
	}
	w.sizes[h] = int32(n)
	return n
}

// maxHashes is how many hashes of ranges are remembered: from one pack to the next most are the same.
const maxHashes = 1024

// hash is the hash of the records of r.
func (w *Workset) hash(r swap.Range) swap.Hash {
	if h, ok := w.hashes[r]; ok {
		return h
	}
	h, err := w.tree.Hash(r, w.exact.line)
	if err != nil {
		if w.exact.err == nil {
			w.exact.err = err
		}
		return h
	}
	if len(w.hashes) >= maxHashes {
		clear(w.hashes)
	}
	w.hashes[r] = h
	return h
}

func (c *counts) line(n int) ([]byte, error) {
	if c.from == nil {
		return nil, errors.New("no history to read it from")
	}
	return c.from.Raw(n)
}

// maxChunks is how many ids of chunks are remembered.
const maxChunks = 256

// chunk gives the records that the chunk with that id names.
func (w *Workset) chunk(id string) (swap.Range, bool) {
	if r, ok := w.chunks[id]; ok {
		return r, true
	}
	r, ok, err := w.tree.Find(id, w.Len(), w.exact.line)
	if err != nil && w.exact.err == nil {
		w.exact.err = err
	}
	if ok && len(w.chunks) < maxChunks {
		w.chunks[id] = r
	}
	return r, ok
}

// blocksOf gives the blocks of record n with their exact tokens.
func (w *Workset) blocksOf(n int) []blockMeta {
	out := append([]blockMeta(nil), w.guessed(n)...)
	for i := range out {
		out[i] = newBlockMeta(out[i].kind(), w.tokensOf(n, i+1))
	}
	return out
}

// cost is what record n takes in a pack, about, when each block may have at most limit tokens.
func (w *Workset) cost(n, limit int) int {
	sum := firstMarker - nextMarker
	for k := range w.guessed(n) {
		sum += blockCost(w.tokensOf(n, k+1), limit)
	}
	return sum
}

// holdsAll reports whether all records that are not skipped fit into room, but for side chains, with at most limit tokens for a block, and
// how much room they leave.
func (w *Workset) holdsAll(room, limit int, noStartup bool) (left int, ok bool) {
	m := w.measure(limit)
	guess := m.upTo(w, w.Len())
	if noStartup {
		for _, n := range w.startup {
			guess -= m.cost(w, int(n))
		}
	}
	if guess > 2*room {
		return 0, false // no guess is so far off
	}
	for n := 1; n <= w.Len() && room >= 0; n++ {
		if !w.skips(n, noStartup) && !w.isSide(n) {
			room -= w.cost(n, limit)
		}
	}
	return room, room >= 0
}
