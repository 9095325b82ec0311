package recall

import (
	"cmp"
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

// weighted is the postings of one term of a query.
type weighted struct {
	list   []posting
	weight float64
	rarity float64 // its IDF
}

// lists reads the postings of q in the first upTo records. Of a long query the rarest terms are taken.
func (x *Index) lists(q []Term, upTo int) []weighted {
	var out []weighted
	for _, t := range q {
		i := x.slots[x.find(t.hash)]
		if i == 0 {
			continue
		}
		if list := x.pages.read(&x.terms[i-1], uint32(upTo), nil); len(list) > 0 {
			out = append(out, weighted{list, t.Weight, idf(len(list), upTo)})
		}
	}
	if len(out) > maxTerms {
		slices.SortStableFunc(out, func(a, b weighted) int { return cmp.Compare(b.rarity, a.rarity) })
		out = out[:maxTerms]
	}
	return out
}

// scores gives the BM25 score of record n at n-1.
func (x *Index) scores(lists []weighted, upTo int) []float32 {
	scores := make([]float32, upTo)
	mean := max(float64(x.total(upTo))/float64(upTo), 1)
	for _, l := range lists {
		for _, p := range l.list {
			scores[p.doc-1] += float32(bm25(l.weight*l.rarity, float64(p.tf), float64(x.lens[p.doc-1]), mean))
		}
	}
	return scores
}

// bm25 is one term's part of a text's score.
func bm25(weight, tf, length, mean float64) float64 {
	return weight * tf * (bm25K1 + 1) / (tf + bm25K1*(1-bm25B+bm25B*length/mean))
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
		if c := cmp.Compare(b.Score, a.Score); c != 0 {
			return c
		}
		return b.N - a.N
	})
	return hits[:min(k, len(hits))]
}
