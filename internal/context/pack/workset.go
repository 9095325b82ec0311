// Package pack chooses and writes what a model would be shown next: the context pack of context-runtime-abi and of
// design.md section 4, and the views that belong to it (derived files, swap, dedup, recall). All of it is a pure function of a
// log, of the files beside it, of the budget and of the query: no clock, no I/O but reading records back through
// record.History. A Workset folds the log record by record, so that an append costs the same however long the log is.
package pack

import (
	"encoding/binary"
	"hash/fnv"
	"hash/maphash"
	"time"

	"ctxfs/internal/context/derive"
	"ctxfs/internal/context/recall"
	"ctxfs/internal/dedup"
	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// Tokenizer counts and cuts text in tokens (internal/context/token has them). Prefix and Suffix give the bytes n of
// the longest start or end of text that counts at most max tokens, and its count. Counts need not be additive, but at the end
// of a line they are: where a visible character and '\n' stand before a visible ASCII character that is no slash (all encodings
// of context/token split there, whatever else is around).
type Tokenizer interface {
	Name() string
	Count(text string) int
	Prefix(text string, max int) (n, tokens int)
	Suffix(text string, max int) (n, tokens int)
}

// Workset is the fold of a log, from which packs and views are built. Not safe for concurrent use.
type Workset struct {
	tok      Tokenizer
	metas    []meta
	blocks   []blockMeta
	bytes    int64
	tokens   int
	tree     swap.Tree
	index    *recall.Index
	repeats  *dedup.Index
	derived  *derive.State
	stale    *stale
	near     *near
	users    []uint32 // records that are the user's words
	compact  []uint32 // records that stand for what is before them
	calls    map[uint64]uint64
	links    []pairing
	far      map[uint32][]int // call record -> its links that stand more than nearLinks records behind it
	measures []*measure
	bad      []badLine
	ranked   []ranking // the latest last
	seed     maphash.Seed
	sizes    map[uint64]int32         // tokens of texts that packs were made of, by their hashes
	pageSize int                      // of the last page, in bytes
	hashes   map[swap.Range]swap.Hash // some that packs came to
	loaded   map[int]*record.Record   // of the last pack; none of them changes
	docs     *docMemo
	lineEnds bool // see splits
	guess    *guess
	exact    counts
	chunks   map[string]swap.Range // some that were asked for, by their ids
	mask     MaskFunc              // nil: nothing is masked
	masks    func(text string) []Masked
	clean    bits                // records that were searched and hold no secret
	secrets  map[int][]Masked    // those of others that packs came to
	hidden   map[string][]uint32 // records that are kept from a target
	startup  []uint32            // records that are instructions
	main     bool                // a record that is of no side chain was folded
	sides    int                 // records of side chains
}

// badLine is a line that could not be parsed.
type badLine struct {
	n      int
	reason string
}

// NewWorkset is the fold of an empty log, counting with t.
func NewWorkset(t Tokenizer) *Workset {
	w := &Workset{tok: t, index: recall.NewIndex(), repeats: dedup.New(), stale: newStale(), near: newNear(),
		calls: map[uint64]uint64{}, far: map[uint32][]int{}, guess: newGuess(), hashes: map[swap.Range]swap.Hash{}, docs: newDocMemo(), lineEnds: splitsAtLineEnds(t.Name()), chunks: map[string]swap.Range{}, secrets: map[int][]Masked{}, hidden: map[string][]uint32{}, sizes: map[uint64]int32{}, seed: maphash.MakeSeed()}
	w.derived = derive.NewState(w.maskedText)
	return w
}

// Len is the number of records folded.
func (w *Workset) Len() int { return len(w.metas) }

// Tokens is about what all records together count when each is shown whole: block by block, without markers.
func (w *Workset) Tokens() int { return w.tokens }

// Add folds the next record; raw is its line, '\n' included. r.N must be Len()+1.
func (w *Workset) Add(r record.Record, raw []byte) {
	m := w.begin(raw)
	w.limit(&r)
	if r.IsInstructions() {
		m.flags |= flagInstructions
		w.startup = append(w.startup, uint32(r.N))
	}
	side := w.sideChain(&r)
	if side {
		m.flags |= flagSide
	}
	if r.IsUser() {
		w.users = append(w.users, uint32(r.N))
	}
	if r.Compaction && !side {
		w.compact = append(w.compact, uint32(r.N))
	}
	texts := []string{r.Name}
	if plain(&r) {
		texts = append(texts, w.plainLine(raw))
	}
	for i := range r.Blocks {
		texts = append(texts, w.block(&r, i, side))
	}
	w.index.Add(r.Time, texts...)
	w.derived.Add(&r)
	w.metas = append(w.metas, m)
}

// AddBad folds record n, whose line could not be parsed: it is accounted for, and readable, but never shown.
func (w *Workset) AddBad(n int, raw []byte, reason string) {
	m := w.begin(raw)
	m.flags |= flagBad
	w.bad = append(w.bad, badLine{n, reason})
	w.index.Add(time.Time{})
	w.metas = append(w.metas, m)
}

func (w *Workset) begin(raw []byte) meta {
	w.tree.Add(raw)
	w.bytes += int64(len(raw))
	return meta{first: uint32(len(w.blocks))}
}

// plain tells whether r is a line that holds no message: it is shown as it was written.
func plain(r *record.Record) bool { return len(r.Blocks) == 0 }

func (w *Workset) plainLine(raw []byte) string {
	text := scrub(string(raw))
	w.count(record.Other, text)
	return text
}

// block folds one block of r and returns what recall indexes of it. A side chain does not show what the agent has seen: nothing of the
// agent's is old for it.
func (w *Workset) block(r *record.Record, i int, side bool) string {
	b := &r.Blocks[i]
	text := shown(b)
	w.count(b.Kind, text)
	at := dedup.Place{Rec: uint32(r.N), Block: uint32(i + 1)}
	switch b.Kind {
	case record.ToolUse:
		w.called(b.CallID, at)
		if !side {
			w.stale.call(b, at)
		}
		text = b.Name + " " + text
	case record.ToolResult:
		w.answered(b, at)
		w.repeated(b.Text, at, text, side)
		if !w.stale.live[at] {
			w.near.add(b.Text, at)
		}
	case record.Text:
		w.repeated(b.Text, at, text, side)
	}
	return indexed(text)
}

func (w *Workset) repeated(text string, at dedup.Place, shown string, side bool) {
	if last, again := w.repeats.Add(text, at, func() int { return w.tok.Count(shown) }); again && !side {
		w.stale.repeat(last, at)
	}
}

// maxIndexed is how much of one block recall sees, in bytes: its start and its end.
const maxIndexed = 24 << 10

func indexed(text string) string {
	if len(text) <= maxIndexed {
		return text
	}
	return text[:maxIndexed*3/4] + " " + text[len(text)-maxIndexed/4:]
}

func (w *Workset) count(k record.BlockKind, text string) {
	n := w.guess.tokens(text)
	w.blocks = append(w.blocks, newBlockMeta(k, n))
	w.tokens += n
}

// pairing ties block rblock of record result to the call that it answers.
type pairing struct {
	result, call   uint32
	rblock, cblock uint16
}

// nearLinks is how far behind its call a result is looked for without the help of far.
const nearLinks = 64

func (w *Workset) called(id string, at dedup.Place) {
	if id != "" {
		w.calls[idKey(id)] = uint64(at.Rec)<<16 | uint64(at.Block&0xffff)
	}
}

// answered ties a result to the newest call before it that has its id. A result without one is an orphan.
func (w *Workset) answered(b *record.Block, at dedup.Place) {
	c, ok := w.calls[idKey(b.CallID)]
	if b.CallID == "" || !ok {
		return
	}
	p := pairing{result: at.Rec, call: uint32(c >> 16), rblock: uint16(at.Block), cblock: uint16(c)}
	if p.result-p.call > nearLinks {
		w.far[p.call] = append(w.far[p.call], len(w.links))
	}
	w.links = append(w.links, p)
	w.stale.result(b, dedup.Place{Rec: p.call, Block: uint32(p.cblock)}, at)
}

func idKey(id string) uint64 {
	h := fnv.New128a()
	_, _ = h.Write([]byte(id)) // a hash takes every write
	var sum [16]byte
	return binary.LittleEndian.Uint64(h.Sum(sum[:0]))
}
