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
	x.asked.forget()
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
