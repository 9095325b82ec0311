package pack

import (
	"math/bits"

	"ctxfs/internal/dedup"
	"ctxfs/internal/record"
)

// limits are how many tokens a block may take, by its role in the pack. They follow the whole budget, not the plan,
// and in coarse steps: a plan made a little smaller must not change them.
type limits struct {
	big   int // near the end, and the newest content of a file
	words int // what was said, further back, and what recall brings
	small int // tool output further back
}

func limitsOf(budget int) limits {
	return limits{big: max(coarse(budget*3/4), 40), words: max(coarse(min(budget/12, 3000)), 40), small: max(coarse(min(budget/20, 2000)), 40)}
}

// coarse rounds down to three leading bits.
func coarse(n int) int {
	if k := bits.Len(uint(max(n, 0))) - 3; k > 0 {
		return n >> k << k
	}
	return n
}

// superseded is the limit of a block that a later one stands in for: only its place is shown.
const superseded = 0

// filler walks back from the settled end of the log and gives each block its limit, until the room is used.
type filler struct {
	b    *builder
	room int
	near int // room left at which records stop being near
}

// fill makes the window: it starts as far back as room allows. Records that are chosen already cost nothing.
func (b *builder) fill(room int) {
	f := &filler{b: b, room: room, near: room / 2}
	n := b.settled
	for n >= 1 && f.take(n) {
		n--
	}
	b.start = b.wholePairs(n + 1)
}

func (f *filler) take(n int) bool {
	b := f.b
	if n == b.user || b.isChosen(n) || b.w.isBad(n) {
		return true
	}
	blocks := b.w.blocksOf(n)
	set := make([]int, len(blocks))
	cost := firstMarker - nextMarker
	for i, m := range blocks {
		set[i] = f.limit(n, i, m)
		cost += blockCost(m.tokens(), set[i])
	}
	for i, m := range blocks { // the largest ones are cut to what room is left
		over := cost - f.room
		if shown := min(m.tokens(), set[i]); over > 0 && shown > minCut {
			cost -= blockCost(m.tokens(), set[i])
			set[i] = max(shown-over-cutMarker, minCut)
			cost += blockCost(m.tokens(), set[i])
		}
	}
	if cost > f.room {
		return false
	}
	f.room -= cost
	for i := range blocks {
		b.set[dedup.Place{Rec: uint32(n), Block: uint32(i + 1)}] = set[i]
	}
	return true
}

// limit is what block i of record n may take.
func (f *filler) limit(n, i int, m blockMeta) int {
	at := dedup.Place{Rec: uint32(n), Block: uint32(i + 1)}
	l, s := f.b.limits, f.b.w.stale
	_, old := s.by(at, f.b.settled)
	switch {
	case old && m.tokens() > cutMarker:
		return superseded
	case s.live[at], f.room > f.near:
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
	if n == b.user {
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

// workingShare is how much of the room the newest contents of files may take that stand before the window, in percent.
func (b *builder) workingShare() int {
	if b.full < smallBudget {
		return 10
	}
	return 20
}

// maxWorking is how many of the newest file contents are looked at.
const maxWorking = 60

// workingFiles puts the newest content of files that the agent worked on in, newest first, when it stands before the
// window: the next edit needs it more than the talk around it.
func (b *builder) workingFiles(room int) (used int) {
	s := b.w.stale
	for i, seen := s.upTo(b.settled)-1, 0; i >= 0 && seen < maxWorking; i-- {
		at := s.contents[i]
		if _, old := s.by(at, b.settled); old || int(at.Rec) >= b.start || b.has(int(at.Rec)) {
			continue
		}
		seen++
		b.set[at] = b.limits.big
		if got := b.takeWith(int(at.Rec), 1, room-used, b.limits.big); got > 0 {
			used += got
		} else {
			delete(b.set, at)
		}
	}
	return used
}

// minCut is the least that a cut block shows, in tokens.
const minCut = 100
