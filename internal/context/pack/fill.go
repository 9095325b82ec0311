package pack

import (
	"slices"

	"ctxfs/internal/dedup"
	"ctxfs/internal/record"
)

// limits are how many tokens a block may take, by its role in the pack. They follow the whole budget, not the plan: a
// plan made a little smaller must not change them.
type limits struct {
	big   int // near the end, and the newest content of a file
	words int // what was said, further back, and what recall brings
	small int // tool output further back
}

func limitsOf(budget int) limits {
	return limits{big: max(budget*4/5, 40), words: max(min(budget/12, 3000), 40), small: max(min(budget/20, 400), min(budget/40, 2000), 40)}
}

// superseded is the limit of a block that a later one stands in for: only its place is shown.
const superseded = 0

// nearShare is how much of the window's room records take whole before tool outputs are cut, in percent.
const nearShare = 30

// filler walks back from the settled end of the log and gives each block its limit, until the room is used.
type filler struct {
	b    *builder
	room int
	near int          // room left at which records stop being near
	paid map[int]bool // calls whose results are in the window: in with them, wherever the window starts
}

// fill makes the window: it starts as far back as room allows. What chosen records take is paid already. It gives the
// records before the window that hold the other halves of its calls.
func (b *builder) fill(room int) (calls []int) {
	f := &filler{b: b, room: room, near: room * (100 - nearShare) / 100, paid: map[int]bool{}}
	n := b.settled
	for n >= 1 && f.take(n) {
		n--
	}
	b.start = n + 1
	for c := range f.paid {
		if c < b.start {
			calls = append(calls, c)
		}
	}
	slices.Sort(calls)
	return calls
}

// take puts record n in with the calls that it answers, cut when it must be.
func (f *filler) take(n int) bool {
	b := f.b
	if b.isTask(n) || f.paid[n] || b.working[n] > 0 || b.w.skips(n, b.flow.noStartup) || b.aside(n) {
		return true
	}
	if b.isChosen(n) {
		f.widen(n)
		return true
	}
	cost := f.cost(n)
	calls := f.calls(n)
	for _, c := range calls {
		cost += f.cost(c)
	}
	if cost = f.shrink(n, cost); cost > f.room {
		return false
	}
	f.room -= cost
	for _, c := range calls {
		f.paid[c] = true
	}
	return true
}

// calls lists the records before n that n answers and that are not in yet.
func (f *filler) calls(n int) []int {
	var out []int
	for _, p := range f.b.w.linksTo(n) {
		if c := int(p.call); c < n && c != f.b.user && !f.paid[c] && !f.b.isChosen(c) && (len(out) == 0 || out[len(out)-1] != c) {
			out = append(out, c)
		}
	}
	return out
}

// cost gives the blocks of record n their limits, and what they take then.
func (f *filler) cost(n int) int {
	sum := firstMarker - nextMarker
	for i, m := range f.b.w.blocksOf(n) {
		l := f.limit(n, i, m)
		f.b.set[dedup.Place{Rec: uint32(n), Block: uint32(i + 1)}] = l
		sum += blockCost(m.tokens(), l)
	}
	return sum
}

// shrink cuts the blocks of record n until cost fits the room, when it can.
func (f *filler) shrink(n, cost int) int {
	for i, m := range f.b.w.blocksOf(n) {
		at := dedup.Place{Rec: uint32(n), Block: uint32(i + 1)}
		if shown := min(m.tokens(), f.b.set[at]); cost > f.room && shown > minCut {
			cost -= blockCost(m.tokens(), f.b.set[at])
			f.b.set[at] = max(shown-(cost+blockCost(m.tokens(), shown)-f.room)-cutMarker, minCut)
			cost += blockCost(m.tokens(), f.b.set[at])
		}
	}
	return cost
}

// widen gives the blocks of a chosen record what they may take in the window, beyond what is paid.
func (f *filler) widen(n int) {
	for i, m := range f.b.w.blocksOf(n) {
		at := dedup.Place{Rec: uint32(n), Block: uint32(i + 1)}
		paid, l := blockCost(m.tokens(), f.b.limitOf(n, i+1)), f.limit(n, i, m)
		if more := blockCost(m.tokens(), l) - paid; more > 0 && more <= f.room {
			f.b.set[at] = l
			f.room -= more
		}
	}
}

// limit is what block i of record n may take.
func (f *filler) limit(n, i int, m blockMeta) int {
	at := dedup.Place{Rec: uint32(n), Block: uint32(i + 1)}
	l, s := f.b.limits, f.b.w.stale
	_, old := s.by(at, f.b.settled)
	switch {
	case old && m.tokens() > cutMarker:
		return superseded
	case f.room > f.near, s.live[at]:
		return l.big
	case m.kind() == record.Text:
		return l.words
	}
	return l.small
}

// blockCost is what a block of so many tokens takes when it may have limit.
func blockCost(tokens, limit int) int {
	if tokens > limit+cutMarker || limit == superseded && tokens > cutMarker {
		tokens = limit + cutMarker
	}
	return tokens + nextMarker
}

// limitOf is what block k of record n may take, once records are chosen.
func (b *builder) limitOf(n, k int) int {
	if b.isTask(n) {
		return b.userLimit
	}
	if l, ok := b.set[dedup.Place{Rec: uint32(n), Block: uint32(k)}]; ok {
		return l
	}
	if n > b.settled {
		return b.limits.big
	}
	return b.limits.words
}

// minCut is the least that a cut block shows, in tokens.
const minCut = 100
