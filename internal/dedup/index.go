// Package dedup finds texts that stand in a log more than once: tool outputs, file contents, pasted logs
// (context-runtime-abi, "Dedup"; design.md section 6). It keeps fingerprints and places, never text.
package dedup

import (
	"encoding/hex"
	"hash/maphash"
	"math"

	"lukechampine.com/blake3"
)

// MinBytes is the size from which a text is worth a reference: below it the reference is as long as the text.
const MinBytes = 128

// Place is where a text stands: block Block (from 1) of record Rec.
type Place struct{ Rec, Block uint32 }

// Entry is a text with two places or more.
type Entry struct {
	Hash   [32]byte
	Places []Place // in order of the log
	Bytes  int
	Tokens int
}

// ID is the blob's name: "blake3-" and 64 hex digits.
func (e *Entry) ID() string { return "blake3-" + hex.EncodeToString(e.Hash[:]) }

// Index is the fold of a log's texts. A text seen once costs some 16 bytes and a fast hash, which differs from process to
// process; only what comes again gets the hash that others can check. The chance that a text is taken for an older one
// is one in 2^48 for each of those.
type Index struct {
	seed    maphash.Seed
	slots   []slot // open addressing, in order of tags but for collisions
	used    int
	entries []Entry // in order of the second appearance
}

// slot is a text: its fingerprint, and its place, or the number of its entry when block is 0.
type slot struct {
	tag   uint32
	rec   uint32
	block uint16
	more  uint16 // of the fingerprint
}

func (s slot) empty() bool { return s.rec == 0 && s.block == 0 }

// New is an empty index.
func New() *Index { return &Index{seed: maphash.MakeSeed(), slots: make([]slot, 16)} }

// Add folds a text at its place. It tells where the same text stood last before. count, which gives the tokens of an
// entry, is asked only when it becomes one.
func (x *Index) Add(text string, at Place, count func() int) (last Place, repeated bool) {
	if len(text) < MinBytes || at.Block > math.MaxUint16 {
		return Place{}, false
	}
	h := maphash.String(x.seed, text)
	s := x.find(uint32(h>>32), uint16(h))
	switch {
	case s.empty():
		*s = slot{uint32(h >> 32), at.Rec, uint16(at.Block), uint16(h)}
		if x.used++; x.used*8 > len(x.slots)*7 {
			x.grow()
		}
		return Place{}, false
	case s.block == 0:
		e := &x.entries[s.rec-1]
		e.Places = append(e.Places, at)
		return e.Places[len(e.Places)-2], true
	}
	last = Place{s.rec, uint32(s.block)}
	x.entries = append(x.entries, Entry{Hash: blake3.Sum256([]byte(text)), Places: []Place{last, at}, Bytes: len(text), Tokens: count()})
	s.rec, s.block = uint32(len(x.entries)), 0
	return last, true
}

// find gives the slot of a fingerprint, or the empty one where it belongs.
func (x *Index) find(tag uint32, more uint16) *slot {
	i := int(uint64(tag) * uint64(len(x.slots)) >> 32)
	for !x.slots[i].empty() && (x.slots[i].tag != tag || x.slots[i].more != more) {
		if i++; i == len(x.slots) {
			i = 0
		}
	}
	return &x.slots[i]
}

func (x *Index) grow() {
	old := x.slots
	x.slots = make([]slot, len(old)+len(old)/2)
	for _, s := range old {
		if !s.empty() {
			*x.find(s.tag, s.more) = s
		}
	}
}

// Entries lists the repeated texts, in order of their second appearance. The caller must not change them.
func (x *Index) Entries() []Entry { return x.entries }

// Find gives the entry of a hash.
func (x *Index) Find(h [32]byte) (Entry, bool) {
	for i := range x.entries {
		if x.entries[i].Hash == h {
			return x.entries[i], true
		}
	}
	return Entry{}, false
}
