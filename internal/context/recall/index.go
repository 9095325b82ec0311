// Package recall ranks a log's records against a query: BM25 over stemmed words and the parts of code identifiers,
// with an index that grows record by record. It holds no text, only hashes of terms and packed postings.
package recall

import "time"

// Index is the inverted index of a log. Records are numbered from 1 in the order of Add. Not safe for concurrent use.
type Index struct {
	parts  []*part   // all but the newest records, in order
	open   open      // the newest records
	lens   []uint16  // terms of record n, clipped, at n-1
	sums   []uint64  // sums[i]: total length of the first 64*i records
	starts []uint32  // first records of episodes
	before []uint64  // total length of what stands before each episode
	last   time.Time // of the newest record that has one
	scan   *scanner
	asked  asked // the last query, as of parts
}

// NewIndex is an empty index.
func NewIndex() *Index { return &Index{sums: []uint64{0}, scan: newScanner()} }

// Len is the number of records indexed.
func (x *Index) Len() int { return len(x.lens) }

// Add indexes the next record, written at t (zero: unknown), whose content is texts.
func (x *Index) Add(t time.Time, texts ...string) {
	begin, total := x.open.begin(), 0
	for _, text := range texts {
		list := x.scan.scan(text)
		total += len(list)
		for _, key := range list {
			x.open.count(key, begin)
		}
	}
	n := uint32(len(x.lens) + 1)
	if x.begins(t, n) {
		x.starts = append(x.starts, n)
		x.before = append(x.before, x.total(len(x.lens)))
		if !t.IsZero() {
			for _, d := range dateTerms(t) {
				x.open.count(key(hash(d, 0, len(d))), begin)
				total++
			}
		}
	}
	x.open.end()
	x.lens = append(x.lens, uint16(min(total, 65535)))
	if len(x.lens)%64 == 0 {
		x.sums = append(x.sums, x.total(len(x.lens)))
	}
	if len(x.open.posts) >= maxPosts {
		x.pack()
	}
}

// fan is how many parts of one level become one of the next, and maxLevel the last level that is made: a merge is
// a pause, and a few dozen parts are searched as fast as one.
const (
	fan      = 8
	maxLevel = 3
)

// pack packs the newest records, then merges parts.
func (x *Index) pack() {
	x.asked = asked{}
	x.parts = append(x.parts, x.open.pack(uint32(len(x.lens)-len(x.open.ends)+1)))
	for len(x.parts) >= fan {
		last := x.parts[len(x.parts)-fan:]
		if level := last[fan-1].level; level == maxLevel || last[0].level != level {
			return
		}
		one := merged(last)
		clear(last)
		x.parts = append(x.parts[:len(x.parts)-fan], one)
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

// total is the summed length of the first n records.
func (x *Index) total(n int) uint64 {
	i := min(n/64, len(x.sums)-1)
	sum := x.sums[i]
	for _, l := range x.lens[i*64 : n] {
		sum += uint64(l)
	}
	return sum
}
