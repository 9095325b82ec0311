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
	pages [][]uint32 // 1 + tokens; 0 is not counted
	from  record.History
	err   error // the first of reading a record in order to count it
}

const countPage = 256

func (c *counts) get(block int) (tokens int, ok bool) {
	if page := block / countPage; page < len(c.pages) && c.pages[page] != nil {
		n := c.pages[page][block%countPage]
		return int(n) - 1, n > 0
	}
	return 0, false
}

func (c *counts) set(block, tokens int) {
	for block/countPage >= len(c.pages) {
		c.pages = append(c.pages, nil)
	}
	page := &c.pages[block/countPage]
	if *page == nil {
		*page = make([]uint32, countPage)
	}
	(*page)[block%countPage] = uint32(tokens) + 1
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

// countRecord counts the blocks of record n.
func (w *Workset) countRecord(n int) {
	first, blocks := int(w.metas[n-1].first), len(w.guessed(n))
	if w.exact.from == nil || blocks == 0 {
		return
	}
	r, err := w.load(w.exact.from, n)
	if err == nil && len(r.Blocks) != blocks {
		err = fmt.Errorf("messages:%d: it has changed since it was folded", n)
	}
	if err != nil {
		if w.exact.err == nil {
			w.exact.err = err
		}
		return
	}
	for i := range r.Blocks {
		w.exact.set(first+i, min(w.tok.Count(shown(&r.Blocks[i])), maxBlockTokens))
	}
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
	n := w.tok.Count(text)
	if len(w.sizes) >= maxSizes {
		clear(w.sizes)
	}
	w.sizes[h] = int32(n)
	return n
}

// hash is the hash of the records of r.
func (w *Workset) hash(r swap.Range) swap.Hash {
	h, err := w.tree.Hash(r, w.exact.line)
	if err != nil && w.exact.err == nil {
		w.exact.err = err
	}
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

// holdsAll tells whether the whole log fits into room, with at most limit tokens for a block.
func (w *Workset) holdsAll(room, limit int) bool {
	if w.measure(limit).upTo(w, w.Len()) > 2*room {
		return false // no guess is so far off
	}
	for n := 1; n <= w.Len() && room >= 0; n++ {
		room -= w.cost(n, limit)
	}
	return room >= 0
}
