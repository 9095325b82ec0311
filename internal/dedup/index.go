// Package dedup finds texts that stand in a log more than once: tool outputs, file contents, pasted logs
// (context-runtime-abi, "Dedup"; design.md section 6). It keeps fingerprints and places, never text.
package dedup

import (
	"encoding/binary"
	"encoding/hex"

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

// Index is the fold of a log's texts. A text seen once costs a map slot of 16 bytes and no more.
type Index struct {
	once    map[uint64]Place // by the first 8 bytes of the hash
	entries []Entry          // in order of the second appearance
	byHash  map[[32]byte]int
}

// New is an empty index.
func New() *Index { return &Index{once: map[uint64]Place{}, byHash: map[[32]byte]int{}} }

// Add folds a text at its place, with its token count. It tells where the same text stood last before.
func (x *Index) Add(text string, at Place, tokens int) (last Place, repeated bool) {
	if len(text) < MinBytes {
		return Place{}, false
	}
	h := blake3.Sum256([]byte(text))
	if i, ok := x.byHash[h]; ok {
		e := &x.entries[i]
		e.Places = append(e.Places, at)
		return e.Places[len(e.Places)-2], true
	}
	key := binary.LittleEndian.Uint64(h[:])
	first, repeated := x.once[key]
	if !repeated {
		x.once[key] = at
		return Place{}, false
	}
	x.byHash[h] = len(x.entries)
	x.entries = append(x.entries, Entry{Hash: h, Places: []Place{first, at}, Bytes: len(text), Tokens: tokens})
	return first, true
}

// Entries lists the repeated texts, in order of their second appearance. The caller must not change them.
func (x *Index) Entries() []Entry { return x.entries }

// Find gives the entry of a hash.
func (x *Index) Find(h [32]byte) (Entry, bool) {
	i, ok := x.byHash[h]
	if !ok {
		return Entry{}, false
	}
	return x.entries[i], true
}
