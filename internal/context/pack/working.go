package pack

import (
	"cmp"
	"math"
	"slices"

	"ctxfs/internal/context/derive"
	"ctxfs/internal/dedup"
)

// The working set: the newest content of the files that the agent touched last.
const (
	maxWorking  = 12 // files
	maxTouches  = 24 // calls looked at for each of them
	reach       = 4  // budgets: a file touched further back is not of the set
	lastShare   = 90 // percent of the room, for the file touched last
	othersShare = 60 // percent of the room, for all of them
)

// unit is a content of a file, and what it is worth.
type unit struct {
	at    dedup.Place
	rank  int // of its file: 0 was touched last
	value float64
}

// workingFiles puts the newest content of the files that were touched last up to record upTo in, each as a unit with
// its call: the next edit needs it more than the talk around it. A file counts by its last touch, be it a read or an
// edit, so that a file which was read long ago and is edited now stays. The file touched last comes first, the others
// by worth per token.
func (b *builder) workingFiles(upTo, whole int, share [2]int) (recs []int, used int) {
	units := b.units(upTo)
	slices.SortStableFunc(units, func(x, y unit) int { return cmp.Compare(y.value, x.value) })
	for _, u := range units {
		room := whole * share[min(u.rank, 1)] / 100
		got, n := b.takeWorking(u, room-used)
		recs = append(recs, got...)
		used += n
	}
	slices.Sort(recs)
	return recs, used
}

// units lists the contents that are not in yet.
func (b *builder) units(upTo int) []unit {
	var out []unit
	m := b.w.measure(b.limits.big)
	end := m.upTo(b.w, upTo)
	for rank, touches := range b.w.derived.Recent(upTo, maxWorking, maxTouches) {
		if rank > 0 && end-m.upTo(b.w, touches[0].N) > reach*b.full {
			continue
		}
		for _, t := range touches {
			if at, ok := b.contentOf(t, upTo); ok && !b.isIn(int(at.Rec)) {
				out = append(out, unit{at, rank, worth(rank, b.w.blocksOf(int(at.Rec))[at.Block-1].tokens())})
			}
		}
	}
	return out
}

// worth is what a content is worth per token. In half to three quarters of the real edits the file is the one touched
// last, so that one comes first whatever its size; how the others rank says less than what they take.
func worth(rank, tokens int) float64 {
	if rank == 0 {
		return 1
	}
	return 1 / math.Sqrt(float64(1+rank)) / float64(tokens+50)
}

// isIn tells whether record n, or the call that it answers, is written or will be.
func (b *builder) isIn(n int) bool {
	if b.has(n) {
		return true
	}
	for _, p := range b.w.linksTo(n) {
		if b.has(int(p.call)) {
			return true
		}
	}
	return false
}

// contentOf gives the block that shows what a touch saw or wrote, while nothing up to record upTo stands in for it.
func (b *builder) contentOf(t derive.Touch, upTo int) (dedup.Place, bool) {
	s := b.w.stale
	at := dedup.Place{Rec: uint32(t.N), Block: uint32(t.Block)}
	if !t.Edit {
		i := slices.IndexFunc(b.w.linksFrom(t.N), func(p pairing) bool { return int(p.cblock) == t.Block })
		if i < 0 {
			return at, false
		}
		p := b.w.linksFrom(t.N)[i]
		at = dedup.Place{Rec: p.result, Block: uint32(p.rblock)}
	}
	_, old := s.by(at, upTo)
	return at, int(at.Rec) <= b.settled && s.live[at] && !old
}

// takeWorking puts one content in, whole or not at all.
func (b *builder) takeWorking(u unit, room int) (recs []int, used int) {
	n := int(u.at.Rec)
	if b.w.blocksOf(n)[u.at.Block-1].tokens() > b.limits.big {
		return nil, 0
	}
	b.set[u.at] = b.limits.big
	if used = b.take(n, 0, room); used == 0 {
		delete(b.set, u.at)
		return nil, 0
	}
	for _, k := range append(b.w.partners(n), n) {
		if b.isChosen(k) && b.working[k] == 0 {
			b.working[k] = round(1 / float64(1+u.rank))
			recs = append(recs, k)
		}
	}
	return recs, used
}
