package recall

import (
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
	hash   uint64
	Weight float64
}

// Query gives the terms of text, each once, weighted by how often it occurs there.
func Query(text string) []Term {
	var q []Term
	at := map[uint64]int{}
	eachTerm(text, func(t string) {
		h := hash(t)
		if i, ok := at[h]; ok {
			q[i].Weight++
			return
		}
		at[h] = len(q)
		q = append(q, Term{h, 1})
	})
	return q
}

// Search scores the first upTo records against q and gives the best k, best first; of equals the newer. The answer
// depends on those records only, not on what was added later.
func (x *Index) Search(q []Term, upTo, k int) []Hit {
	upTo = min(upTo, x.Len())
	if upTo < 1 || k < 1 {
		return nil
	}
	return top(x.scores(q, upTo), k)
}

// scores gives the BM25 score of record n at n-1.
func (x *Index) scores(q []Term, upTo int) []float32 {
	scores := make([]float32, upTo)
	mean := max(float64(x.total(upTo))/float64(upTo), 1)
	var list []posting
	for _, t := range q {
		i := x.slots[x.find(t.hash)]
		if i == 0 {
			continue
		}
		list = x.pages.read(&x.terms[i-1], uint32(upTo), list[:0])
		w := t.Weight * idf(len(list), upTo)
		for _, p := range list {
			tf := float64(p.tf)
			norm := bm25K1 * (1 - bm25B + bm25B*float64(x.lens[p.doc-1])/mean)
			scores[p.doc-1] += float32(w * tf * (bm25K1 + 1) / (tf + norm))
		}
	}
	return scores
}

func idf(df, n int) float64 { return math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5)) }

// top gives the k best of scores above 0.
func top(scores []float32, k int) []Hit {
	var hits []Hit
	for i, s := range scores {
		if s > 0 {
			hits = append(hits, Hit{i + 1, float64(s)})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return b.N - a.N
	})
	return hits[:min(k, len(hits))]
}
