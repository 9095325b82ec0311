package pack

import (
	"slices"

	"ctxfs/internal/context/recall"
	"ctxfs/internal/swap"
)

type rangeSet = swap.Range

// missedHit is a record that matches the query and did not fit.
type missedHit struct {
	n     int
	score float64
}

// smallBudget is where room becomes worth more than a steady prefix, in tokens.
const smallBudget = 16_000

// recallShare is how much of the room records that match the query may take, in percent. Work with tools goes on from
// where it is; talk comes back to what was said before.
func (b *builder) recallShare() int {
	switch {
	case b.in.Query != "":
		return 90
	case len(b.w.links) == 0 || int(b.w.links[0].result) > b.settled:
		return 60
	}
	return 3
}

// docShare is how many tokens all derived files together may take.
func (b *builder) docShare() int {
	if b.full < smallBudget {
		return b.full*6/100 + min(150, b.full/8)
	}
	return b.full * 12 / 100
}

// headings is what the headings and fences of the messages take.
const headings = 40

// choose decides which records are in: the unbroken end of the log from start on, and older ones: the newest contents
// of files, and what matches.
func (b *builder) choose(room int) error {
	w, n := b.w, b.w.Len()
	b.start = n + 1
	room -= headings
	b.userLimit = max(room/3/max(b.blocks(b.user), 1)-cutMarker, 8)
	m := w.measure(b.limits.big)
	total := m.upTo(w, n)
	if left, ok := w.holdsAll(room-b.userCost(b.user), b.limits.big, b.flow.noStartup); ok {
		b.start, b.whole = 1, true
		return b.chooseSides(left)
	}
	b.steps = b.settle(m, total, room)
	b.task = w.latestUser(b.settled)
	b.goal = room - b.steps.growth
	docs, err := b.derivedDocs(b.steps.documented)
	if err != nil {
		return err
	}
	room = b.goal - b.userCost(b.task)
	if b.in.Query != "" && b.task != b.user {
		room -= b.userCost(b.user)
	}
	room -= b.place(docs, min(b.docShare(), room/3))
	room -= b.force(room / 2)
	if b.in.Query == "" {
		recs, used := b.workingFiles(b.settled, room, [2]int{lastShare, othersShare})
		b.work = recs
		room -= used
	}
	return b.window(room)
}

// window chooses where the unbroken end of the log starts, and what is recalled from before it.
func (b *builder) window(room int) error {
	old := room * b.recallShare() / 100
	calls := b.fill(room - old) // where the window starts, about
	got, err := b.recall(b.recallable(), old)
	if err != nil {
		return err
	}
	if b.in.Query != "" || b.full < smallBudget || old*2 > room {
		calls = b.fill(room - got)
	}
	for _, c := range calls {
		b.chosen[c] = max(b.chosen[c], 0)
	}
	return nil
}

func (b *builder) blocks(n int) int {
	if n == 0 {
		return 0
	}
	return len(b.w.guessed(n))
}

// userCost is what a message of the user takes that must be in, cut when it must be.
func (b *builder) userCost(n int) int {
	if n == 0 {
		return 0
	}
	return b.w.cost(n, b.userLimit)
}

func (b *builder) isChosen(n int) bool { _, ok := b.chosen[n]; return ok }

// force puts pinned records in.
func (b *builder) force(room int) (used int) {
	for _, r := range b.forced {
		for n := r.A; n <= r.B; n++ {
			used += b.take(n, 1, room-used)
		}
	}
	return used
}

// maxHits is how many matching records are looked at.
const maxHits = 200

// recall puts the best of the first upTo records in that are not in yet, with the other halves of their tool calls.
func (b *builder) recall(upTo, room int) (used int, err error) {
	hits, err := b.hits(upTo)
	if err != nil || len(hits) == 0 {
		return 0, err
	}
	for _, h := range hits {
		rel := round(h.Score / hits[0].Score)
		if b.has(h.N) || b.in.Query == "" && b.w.isSide(h.N) {
			continue
		}
		n := b.take(h.N, rel, room-used)
		if n == 0 {
			b.missed = append(b.missed, missedHit{h.N, rel})
		}
		used += n
	}
	return used, nil
}

// take puts record n and its partners in when they fit, and gives what they take.
func (b *builder) take(n int, rel float64, room int) int {
	if b.has(n) || b.isTask(n) || b.w.skips(n, b.flow.noStartup) {
		return 0
	}
	group := b.group(n)
	if b.leastCost(group) > room {
		return 0
	}
	cost := 0
	for _, g := range group {
		c, ok := b.costWithin(g, room-cost)
		if !ok {
			return 0
		}
		cost += c
	}
	for _, g := range group {
		b.chosen[g] = max(b.chosen[g], rel)
	}
	return cost
}

// group lists record n and those of its partners that are not in yet, in order: so what was found out about them from one of them
// is known when another is looked at.
func (b *builder) group(n int) []int {
	group := []int{n}
	for _, p := range b.w.partners(n) {
		if !b.has(p) && !b.isTask(p) && !slices.Contains(group, p) {
			group = append(group, p)
		}
	}
	slices.Sort(group)
	return group
}

// leastCost is less than what records take, going by half of what is guessed, since no guess is so far off: most of what does
// not fit need not be read.
func (b *builder) leastCost(recs []int) int {
	sum := 0
	for _, n := range recs {
		sum += firstMarker - nextMarker
		for i, m := range b.w.guessed(n) {
			sum += blockCost(m.tokens()/2, b.limitOf(n, i+1))
		}
	}
	return sum
}

// costWithin is what record n takes with the limits that its blocks have now, if that is not more than room. It counts no further
// than it must to tell.
func (b *builder) costWithin(n, room int) (cost int, ok bool) {
	cost = firstMarker - nextMarker
	for i := range b.w.guessed(n) {
		whole := b.limitOf(n, i+1) + cutMarker // more is cut to this
		most := min(whole, room-cost-nextMarker)
		tokens, within := b.w.tokensWithin(n, i+1, most)
		if !within && most < whole {
			return 0, false
		}
		if !within {
			tokens = whole
		}
		cost += tokens + nextMarker
	}
	return cost, cost <= room
}

// hits ranks the first upTo records against the query, or against the latest user message.
func (b *builder) hits(upTo int) ([]recall.Hit, error) {
	query := b.in.Query
	if query == "" && b.user > 0 {
		r, err := b.flow.load(b.user)
		if err != nil {
			return nil, err
		}
		query = indexed(r.Words())
	}
	return b.w.rank(query, upTo, b.in.Without), nil
}

// ranking is an answer of the index, kept because the next pack mostly asks the same: once for each plan that it tries.
type ranking struct {
	query   string
	upTo    int
	without recall.Technique
	hits    []recall.Hit
}

// maxRankings is how many answers are kept.
const maxRankings = 8

func (w *Workset) rank(query string, upTo int, without recall.Technique) []recall.Hit {
	for _, l := range w.ranked {
		if l.query == query && l.upTo == upTo && l.without == without {
			return l.hits
		}
	}
	l := ranking{query, upTo, without, w.index.Rank(query, upTo, maxHits, without)}
	if len(w.ranked) == maxRankings {
		w.ranked = append(w.ranked[:0], w.ranked[1:]...)
	}
	w.ranked = append(w.ranked, l)
	return l.hits
}
