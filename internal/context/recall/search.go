package recall

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// BM25's usual constants: how fast repeats of a term saturate, and how much long records are held back.
const (
	bm25K1 = 1.2
	bm25B  = 0.5
)

// Hit is a record with its score.
type Hit struct {
	N     int
	Score float64
}

// Term is one term of a query with its weight.
type Term struct {
	key    uint32
	Weight float64
}

// Query gives the terms of text, each once, weighted by how often it occurs there.
func Query(text string) []Term {
	var q []Term
	at := map[uint32]int{}
	for _, k := range newScanner().scan(text) {
		if i, ok := at[k]; ok {
			q[i].Weight++
			continue
		}
		at[k] = len(q)
		q = append(q, Term{k, 1})
	}
	return q
}

// weighted is the postings of one term of a query.
type weighted struct {
	list   []posting
	weight float64
	rarity float64 // its IDF among the records
}

// wanted is a term of a query that the index knows.
type wanted struct {
	key    uint32
	weight float64
	df     uint32
	in     []cursor  // the parts that have it
	recent []posting // its postings in the newest records
}

// lists reads the postings of q in the first upTo records. Of a long query the rarest terms are taken.
func (x *Index) lists(q []Term, upTo int) []weighted {
	terms := x.wanted(q)
	if len(terms) > maxTerms {
		for _, t := range terms {
			t.df = t.count(uint32(upTo))
		}
		slices.SortStableFunc(terms, func(a, b *wanted) int { return cmp.Compare(a.df, b.df) })
		terms = terms[:maxTerms]
	}
	var out []weighted
	for _, t := range terms {
		if list := t.read(uint32(upTo)); len(list) > 0 {
			out = append(out, weighted{list, t.weight, idf(len(list), upTo)})
		}
	}
	return out
}

// wanted looks for the terms of q; one that stands in q twice is there twice, with the weight of both.
func (x *Index) wanted(q []Term) []*wanted {
	known := map[uint32]*wanted{}
	for _, t := range q {
		w := known[t.key]
		if w == nil {
			w = &wanted{key: t.key}
			known[t.key] = w
			for _, p := range x.parts {
				if c, ok := p.find(t.key); ok {
					w.in = append(w.in, c)
					w.df += c.df
				}
			}
		}
		w.weight += t.Weight
	}
	x.open.fill(known, uint32(len(x.lens)-len(x.open.ends)+1))
	var out []*wanted
	for _, t := range q {
		if w := known[t.key]; w.df > 0 {
			out = append(out, w)
		}
	}
	return out
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
	n := uint32(0)
	for i := range w.in {
		c := &w.in[i]
		if c.first+c.part.count-1 <= upTo {
			n += c.df
			continue
		}
		n += uint32(len(c.read(nil, upTo)))
	}
	for _, p := range w.recent {
		if p.doc <= upTo {
			n++
		}
	}
	return n
}

// read gives the postings up to record upTo.
func (w *wanted) read(upTo uint32) []posting {
	out := make([]posting, 0, w.df)
	for i := range w.in {
		out = w.in[i].read(out, upTo)
	}
	for _, p := range w.recent {
		if p.doc <= upTo {
			out = append(out, p)
		}
	}
	return out
}

// scores gives the BM25 score of record n at n-1.
func (x *Index) scores(lists []weighted, upTo int) []float32 {
	scores := make([]float32, upTo)
	mean := max(float64(x.total(upTo))/float64(upTo), 1)
	for _, l := range lists {
		for _, p := range l.list {
			scores[p.doc-1] += float32(bm25(l.weight*l.rarity, float64(p.tf), norm(float64(x.lens[p.doc-1]), mean)))
		}
	}
	return scores
}

// bm25 is one term's part of the score of a text with that norm.
func bm25(weight, tf, norm float64) float64 { return weight * tf * (bm25K1 + 1) / (tf + norm) }

// norm holds back texts by their length.
func norm(length, mean float64) float64 { return bm25K1 * (1 - bm25B + bm25B*length/mean) }

func idf(df, n int) float64 { return math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5)) }

// top gives the k best of scores above 0, best first; of equals the newer.
func top(scores []float32, k int) []Hit {
	var h worst
	least := float32(0) // of those in h, once there are k
	for i, s := range scores {
		if s < least || s <= 0 {
			continue
		}
		if len(h) < k {
			heap.Push(&h, Hit{i + 1, float64(s)})
		} else {
			h[0] = Hit{i + 1, float64(s)}
			heap.Fix(&h, 0)
		}
		if len(h) == k {
			least = float32(h[0].Score)
		}
	}
	slices.SortFunc(h, func(a, b Hit) int {
		if c := cmp.Compare(b.Score, a.Score); c != 0 {
			return c
		}
		return b.N - a.N
	})
	return h
}

// worst is a heap of hits whose worst is first.
type worst []Hit

func (h worst) Len() int { return len(h) }
func (h worst) Less(i, j int) bool {
	return h[i].Score < h[j].Score || h[i].Score == h[j].Score && h[i].N < h[j].N
}
func (h worst) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push and Pop are for container/heap.
func (h *worst) Push(x any) { *h = append(*h, x.(Hit)) }
func (h *worst) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
