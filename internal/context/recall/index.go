// Package recall ranks a log's records against a query: BM25 over stemmed words and the parts of code identifiers,
// with an index that grows record by record. It holds no text, only hashes of terms and packed postings.
package recall

import (
	"encoding/binary"
	"time"
)

// Index is the inverted index of a log. Records are numbered from 1 in the order of Add. Not safe for concurrent use.
type Index struct {
	slots  []uint32 // open addressing: 1 + number of a term, 0 empty
	terms  []term
	pages  pages
	lens   []uint16  // terms of record n, clipped, at n-1
	sums   []uint64  // sums[i]: total length of the first 64*i records
	starts []uint32  // first records of episodes
	last   time.Time // of the newest record that has one
	doc    map[uint64]uint16
	order  []uint64 // the keys of doc in order of appearance: postings must not depend on map order
	scan   scanner
}

// term is one entry of the vocabulary. While df is 1 the posting stands in the entry itself (last, and tail as the
// frequency): most terms of a log occur in one record only.
type term struct {
	hash  uint32 // of the 64-bit hash, the high half
	df    uint32
	last  uint32 // the newest record that has it
	head  uint32 // first chunk, with its class
	tail  uint32 // last chunk
	class uint8  // of the last chunk
	used  uint16 // bytes of the last chunk in use
}

// NewIndex is an empty index.
func NewIndex() *Index {
	x := &Index{slots: make([]uint32, 64), doc: map[uint64]uint16{}, sums: []uint64{0}}
	x.scan.yield = x.count
	return x
}

// Len is the number of records indexed.
func (x *Index) Len() int { return len(x.lens) }

// Add indexes the next record, written at t (zero: unknown), whose content is texts.
func (x *Index) Add(t time.Time, texts ...string) {
	clear(x.doc)
	x.order = x.order[:0]
	total := 0
	for _, t := range texts {
		x.scan.scan(t)
	}
	n := uint32(len(x.lens) + 1)
	if x.begins(t, n) {
		x.starts = append(x.starts, n)
		if !t.IsZero() {
			for _, d := range dateTerms(t) {
				x.count(hash(d))
			}
		}
	}
	for _, h := range x.order {
		tf := x.doc[h]
		total += int(tf)
		x.post(h, n, tf)
	}
	x.lens = append(x.lens, uint16(min(total, 65535)))
	if len(x.lens)%64 == 0 {
		x.sums = append(x.sums, x.total(len(x.lens)))
	}
}

// begins tells whether record n, written at t, starts an episode.
func (x *Index) begins(t time.Time, n uint32) bool {
	gap := !t.IsZero() && t.Sub(x.last) > pause
	if !t.IsZero() {
		x.last = t
	}
	return gap || n == 1 || n-x.starts[len(x.starts)-1] >= maxEpisode
}

func (x *Index) count(h uint64) {
	tf, seen := x.doc[h]
	if !seen {
		x.order = append(x.order, h)
	}
	if tf < 65535 {
		x.doc[h] = tf + 1
	}
}

// total is the summed length of the first n records.
func (x *Index) total(n int) uint64 {
	i := min(n/64, len(x.sums)-1)
	sum := x.sums[i]
	for _, l := range x.lens[i*64 : n] {
		sum += uint64(l)
	}
	return sum
}

// hash is FNV-1a, 64 bits, of which the vocabulary keeps 32: a collision makes two words one, which costs a little rank
// and nothing else.
func hash[T string | []byte](t T) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(t); i++ {
		h = (h ^ uint64(t[i])) * 1099511628211
	}
	return h
}

// find gives the slot of h: of its term, or the empty one where it belongs.
func (x *Index) find(h uint64) int {
	mask := len(x.slots) - 1
	i := int(h>>32) * 5 & mask
	for x.slots[i] != 0 && x.terms[x.slots[i]-1].hash != uint32(h>>32) {
		i = (i + 1) & mask
	}
	return i
}

func (x *Index) grow() {
	x.slots = make([]uint32, 2*len(x.slots))
	for i := range x.terms {
		x.slots[x.find(uint64(x.terms[i].hash)<<32)] = uint32(i + 1)
	}
}

// post adds record n, with the term's frequency in it, to the postings of h.
func (x *Index) post(h uint64, n uint32, tf uint16) {
	i := x.find(h)
	if x.slots[i] == 0 {
		x.terms = append(x.terms, term{hash: uint32(h >> 32), df: 1, last: n, tail: uint32(tf)})
		x.slots[i] = uint32(len(x.terms))
		if 4*len(x.terms) > 3*len(x.slots) {
			x.grow()
		}
		return
	}
	t := &x.terms[x.slots[i]-1]
	if t.df == 1 {
		first := posting{t.last, t.tail}
		if !x.write(t, first.doc, first.tf) {
			t.tail = first.tf
			return
		}
	}
	if x.write(t, n-t.last, uint32(tf)) {
		t.df++
		t.last = n
	}
}

// write packs a posting: the distance to the one before, and the frequency when it is not 1.
func (x *Index) write(t *term, delta, tf uint32) bool {
	var b [10]byte
	var n int
	if tf == 1 {
		n = binary.PutUvarint(b[:], uint64(delta)<<1)
	} else {
		n = binary.PutUvarint(b[:], uint64(delta)<<1|1)
		n += binary.PutUvarint(b[n:], uint64(tf))
	}
	return x.pages.write(t, b[:n])
}
