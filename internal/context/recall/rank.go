package recall

import (
	"slices"
	"time"
)

// Technique is something that ranking does beyond BM25. The benchmarks leave them out one by one.
type Technique uint8

// The techniques, in the order in which a score is made.
const (
	Dates      Technique = 1 << iota // a month, year or day in the query finds what was said then
	Neighbours                       // a record counts for those around it: an answer often shares no word with its question
	Episodes                         // so does the whole stretch of talk that a record stands in
)

// How much of a score records pass to others; chosen on LoCoMo conversations, where values around them do as well.
const (
	nextShare    = 0.5  // of the record before and the one after
	secondShare  = 0.25 // of those two away
	episodeShare = 0.5  // of the episode, scored as one text
)

// An episode ends at a pause, or when it is long.
const (
	pause      = 30 * time.Minute
	maxEpisode = 64
)

// maxTerms is how many terms of a query count: the rarest ones of a long text.
const maxTerms = 64

// Rank scores the first upTo records against the query and gives the best k, best first; of equals the newer. The
// answer depends on those records only, not on what was added later.
func (x *Index) Rank(query string, upTo, k int, without Technique) []Hit {
	upTo = min(upTo, x.Len())
	if upTo < 1 || k < 1 {
		return nil
	}
	q := Query(query)
	if without&Dates == 0 {
		q = append(q, queryDates(query)...)
	}
	lists := x.lists(q, upTo)
	scores := x.scores(lists, upTo)
	out := slices.Clone(scores)
	if without&Neighbours == 0 {
		pass(scores, out)
	}
	if without&Episodes == 0 {
		x.episodes(lists, out)
	}
	return top(out, k)
}

// pass adds to each score its share of the scores around it.
func pass(scores, out []float32) {
	for i, s := range scores {
		if s == 0 {
			continue
		}
		for _, p := range [...]struct {
			away  int
			share float32
		}{{-2, secondShare}, {-1, nextShare}, {1, nextShare}, {2, secondShare}} {
			if j := i + p.away; j >= 0 && j < len(out) {
				out[j] += p.share * s
			}
		}
	}
}

// episodes adds to each record's score its share of its episode's, by BM25 over episodes.
func (x *Index) episodes(lists []weighted, out []float32) {
	n, _ := slices.BinarySearch(x.starts, uint32(len(out)+1))
	starts := x.starts[:n]
	scores, tf, lens := make([]float32, n), make([]float32, n), make([]float64, n)
	for e := range lens {
		lens[e] = x.episodeLen(starts, e, len(out))
	}
	mean := max(float64(x.total(len(out)))/float64(n), 1)
	var in []int // the episodes that have the term
	for _, l := range lists {
		in = in[:0]
		for i, at := 0, 0; i < len(l.list); i++ {
			for at+1 < n && l.list[i].doc >= starts[at+1] {
				at++
			}
			if tf[at] == 0 {
				in = append(in, at)
			}
			tf[at] += float32(l.list[i].tf)
		}
		weight := l.weight * idf(len(in), n)
		for _, e := range in {
			scores[e] += float32(bm25(weight, float64(tf[e]), lens[e], mean))
			tf[e] = 0
		}
	}
	for e := range starts {
		for i := int(starts[e]) - 1; i < episodeEnd(starts, e, len(out)); i++ {
			if scores[e] > 0 {
				out[i] += episodeShare * scores[e]
			}
		}
	}
}

// episodeEnd is the last record of episode e.
func episodeEnd(starts []uint32, e, upTo int) int {
	if e+1 < len(starts) {
		return int(starts[e+1]) - 1
	}
	return upTo
}

// episodeLen is the summed length of episode e in terms.
func (x *Index) episodeLen(starts []uint32, e, upTo int) float64 {
	sum := 0
	for _, l := range x.lens[starts[e]-1 : episodeEnd(starts, e, upTo)] {
		sum += int(l)
	}
	return float64(sum)
}
