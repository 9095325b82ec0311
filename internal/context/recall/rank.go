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
	out := x.scores(lists, upTo)
	if without&Neighbours == 0 {
		out = pass(out)
	}
	if without&Episodes == 0 {
		x.episodes(lists, out)
	}
	return top(out, k)
}

// pass gives each score with its share of the scores around it. Each sum is made in order of the records: another order would
// round otherwise.
func pass(scores []float32) []float32 {
	n := len(scores)
	out := make([]float32, n)
	share := func(i int, share float32) float32 {
		if i < 0 || i >= n {
			return 0
		}
		return share * scores[i]
	}
	atEdge := func(i int) {
		out[i] = scores[i] + share(i-2, secondShare) + share(i-1, nextShare) + share(i+1, nextShare) + share(i+2, secondShare)
	}
	for i := range min(2, n) {
		atEdge(i)
	}
	for i := 2; i < n-2; i++ {
		s := scores[i-2 : i+3 : i+3]
		out[i] = s[2] + secondShare*s[0] + nextShare*s[1] + nextShare*s[3] + secondShare*s[4]
	}
	for i := max(2, n-2); i < n; i++ {
		atEdge(i)
	}
	return out
}

// episodes adds to each record's score its share of its episode's, by BM25 over episodes.
func (x *Index) episodes(lists []weighted, out []float32) {
	n, _ := slices.BinarySearch(x.starts, uint32(len(out)+1))
	starts := x.starts[:n]
	scores, tf, norms := make([]float32, n), make([]float32, n), make([]float64, n)
	mean := max(float64(x.total(len(out)))/float64(n), 1)
	for e := range norms {
		norms[e] = norm(x.episodeLen(starts, e, len(out)), mean)
	}
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
			scores[e] += float32(bm25(weight, float64(tf[e]), norms[e]))
			tf[e] = 0
		}
	}
	for e, s := range scores {
		if s <= 0 {
			continue
		}
		all := out[starts[e]-1 : episodeEnd(starts, e, len(out))]
		for i := range all {
			all[i] += episodeShare * s
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
	if e+1 < len(starts) {
		return float64(x.before[e+1] - x.before[e])
	}
	return float64(x.total(upTo) - x.before[e])
}
