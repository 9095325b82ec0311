package pack

import (
	"sort"

	"ctxfs/internal/record"
)

// meta is what the fold keeps of a record: 8 bytes, and 4 for each of its blocks.
type meta struct {
	first uint32 // its first block in Workset.blocks
	flags uint8
}

const (
	flagBad          = 1 << iota // the line is not a JSON object
	flagInstructions             // record.IsInstructions
	flagSide                     // of a side chain
)

// blockMeta is a block's kind (high 4 bits) and its tokens when shown whole, guessed or exact.
type blockMeta uint32

const maxBlockTokens = 1<<28 - 1

func newBlockMeta(k record.BlockKind, tokens int) blockMeta {
	return blockMeta(uint32(k)<<28 | uint32(min(tokens, maxBlockTokens)))
}

func (b blockMeta) tokens() int            { return int(b & maxBlockTokens) }
func (b blockMeta) kind() record.BlockKind { return record.BlockKind(b >> 28) }

// guessed gives the blocks of record n, with guessed tokens.
func (w *Workset) guessed(n int) []blockMeta {
	end := uint32(len(w.blocks))
	if n < len(w.metas) {
		end = w.metas[n].first
	}
	return w.blocks[w.metas[n-1].first:end]
}

func (w *Workset) isBad(n int) bool { return w.metas[n-1].flags&flagBad != 0 }

// latestUser is the newest of the first upTo records that is the user's; 0 when there is none.
func (w *Workset) latestUser(upTo int) int {
	i := sort.Search(len(w.users), func(i int) bool { return int(w.users[i]) > upTo })
	if i == 0 {
		return 0
	}
	return int(w.users[i-1])
}

// What a marker costs beside its text, in tokens: an upper bound for usual names.
const (
	firstMarker = 10 // with role, name and time
	nextMarker  = 8
	cutMarker   = 40
)

// guessedCost is cost going by guesses.
func (w *Workset) guessedCost(n, limit int) int {
	sum := firstMarker - nextMarker
	for _, b := range w.guessed(n) {
		sum += blockCost(b.tokens(), limit)
	}
	return sum
}

// stride is how many records share one entry of a measure.
const stride = 16

// measure sums guessed costs under one limit from the start of the log. It grows with the log and depends on nothing else, so
// places that are named by it ("the record that crosses 40,000") stay where they are.
type measure struct {
	limit int
	sums  []int // sums[i]: the first i*stride records
}

// maxMeasures is how many limits are remembered: budgets in use at a time.
const maxMeasures = 8

func (w *Workset) measure(limit int) *measure {
	for i, m := range w.measures {
		if m.limit == limit {
			copy(w.measures[1:i+1], w.measures[:i])
			w.measures[0] = m
			m.extend(w)
			return m
		}
	}
	m := &measure{limit: limit, sums: []int{0}}
	m.extend(w)
	w.measures = append([]*measure{m}, w.measures[:min(len(w.measures), maxMeasures-1)]...)
	return m
}

// cost is what record n adds to the measure: nothing when packs leave it aside, unless records are measured whole.
func (m *measure) cost(w *Workset, n int) int {
	if m.limit < maxBlockTokens && w.isSide(n) {
		return 0
	}
	return w.guessedCost(n, m.limit)
}

func (m *measure) extend(w *Workset) {
	for len(m.sums) <= w.Len()/stride {
		from := (len(m.sums) - 1) * stride
		sum := m.sums[len(m.sums)-1]
		for n := from + 1; n <= from+stride; n++ {
			sum += m.cost(w, n)
		}
		m.sums = append(m.sums, sum)
	}
}

// upTo is the cost of the first n records.
func (m *measure) upTo(w *Workset, n int) int {
	sum := m.sums[n/stride]
	for k := n/stride*stride + 1; k <= n; k++ {
		sum += m.cost(w, k)
	}
	return sum
}

// reach is the first record at which the sum is v or more; Len() when none is.
func (m *measure) reach(w *Workset, v int) int {
	i := sort.SearchInts(m.sums, v)
	n, sum := 0, 0
	if i > 0 {
		n, sum = (i-1)*stride, m.sums[i-1]
	}
	for sum < v && n < w.Len() {
		n++
		sum += m.cost(w, n)
	}
	return n
}
