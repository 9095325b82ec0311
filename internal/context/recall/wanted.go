package recall

import (
	"math"
	"slices"
	"sort"
)

// wanted is a term of a query that the index knows.
type wanted struct {
	key    uint32
	weight float64
	packed uint32    // records in parts that have it
	df     uint32    // all records that have it
	in     []cursor  // the parts that have it
	list   []posting // its postings in them, once they were read
	recent []posting // its postings in the newest records
}

// asked is the last query, with what was read for it: while a log grows the same is mostly asked again.
type asked struct {
	q     []Term
	known map[uint32]*wanted // nil: nothing is kept
}

// maxKept is how many postings are kept from one query to the next: 2 MiB.
const maxKept = 256 << 10

// forget drops what is kept when that is too much.
func (a *asked) forget() {
	kept := 0
	for _, w := range a.known {
		kept += len(w.list)
	}
	if kept > maxKept {
		*a = asked{}
	}
}

// wanted looks for the terms of q; one that stands in q twice is there twice, with the weight of both.
func (x *Index) wanted(q []Term) []*wanted {
	a := &x.asked
	if a.known == nil || !slices.Equal(a.q, q) {
		*a = asked{q, x.find(q)}
	}
	for _, w := range a.known {
		w.df, w.recent = w.packed, w.recent[:0]
	}
	x.open.fill(a.known, uint32(len(x.lens)-len(x.open.ends)+1))
	var out []*wanted
	for _, t := range q {
		if w := a.known[t.key]; w.df > 0 {
			out = append(out, w)
		}
	}
	return out
}

// find looks for the terms of q in the parts.
func (x *Index) find(q []Term) map[uint32]*wanted {
	known := map[uint32]*wanted{}
	for _, t := range q {
		w := known[t.key]
		if w == nil {
			w = &wanted{key: t.key}
			known[t.key] = w
			for _, p := range x.parts {
				if c, ok := p.find(t.key); ok {
					w.in = append(w.in, c)
					w.packed += c.df
				}
			}
		}
		w.weight += t.Weight
	}
	return known
}

// fill reads the postings of the wanted terms in the newest records, of which base is the first.
func (o *open) fill(known map[uint32]*wanted, base uint32) {
	if len(o.terms) == 0 {
		return
	}
	byTerm, is := map[uint32]*wanted{}, make([]uint64, len(o.terms)/64+1)
	for _, w := range known {
		if n := o.slots[o.find(w.key)]; n > 0 {
			byTerm[n-1] = w
			is[(n-1)/64] |= 1 << ((n - 1) % 64)
		}
	}
	from := uint32(0)
	for doc, end := range o.ends {
		for _, p := range o.posts[from:end] {
			if is[p.term/64]&(1<<(p.term%64)) != 0 {
				w := byTerm[p.term]
				w.df++
				w.recent = append(w.recent, posting{base + uint32(doc), p.tf})
			}
		}
		from = end
	}
}

// count is how many of the first upTo records have the term: the answer over them must not depend on later ones.
func (w *wanted) count(upTo uint32) uint32 {
	n := upToRecord(w.recent, upTo)
	if w.list != nil {
		return uint32(n + upToRecord(w.list, upTo))
	}
	for i := range w.in {
		if c := &w.in[i]; c.first+c.part.count-1 <= upTo {
			n += int(c.df)
		} else {
			n += len(c.read(nil, upTo))
		}
	}
	return uint32(n)
}

// read gives the postings up to record upTo.
func (w *wanted) read(upTo uint32) []posting {
	if w.list == nil {
		w.list = make([]posting, 0, w.packed)
		for i := range w.in {
			w.list = w.in[i].read(w.list, math.MaxUint32)
		}
	}
	n, recent := upToRecord(w.list, upTo), upToRecord(w.recent, upTo)
	if recent == 0 {
		return w.list[:n:n]
	}
	return append(append(make([]posting, 0, n+recent), w.list[:n]...), w.recent[:recent]...)
}

// upToRecord is how many postings, in order of their records, are of the first upTo ones.
func upToRecord(list []posting, upTo uint32) int {
	return sort.Search(len(list), func(i int) bool { return list[i].doc > upTo })
}
