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

// step is how many tokens the log grows before older content is chosen anew. Between two steps an append only adds to
// the end of the pack. A question that was given by hand is asked once: its pack is always chosen anew.
func (b *builder) step() int {
	if b.in.Query != "" {
		return 0
	}
	if b.full < smallBudget {
		return b.full / 16
	}
	return b.full / 8
}

// recallShare is how much of the room records that match the query may take, in percent. Work with tools goes on from
// where it is; talk comes back to what was said before.
func (b *builder) recallShare() int {
	switch {
	case b.in.Query != "":
		return 90
	case len(b.w.links) == 0 || int(b.w.links[0].result) > b.settled:
		return 60
	}
	return 8
}

// choose decides which records are in: the unbroken end of the log from start on, and older ones that match.
func (b *builder) choose(room int) error {
	w, n := b.w, b.w.Len()
	b.start, b.settled = n+1, n
	room -= 24 // headings and fences of the messages
	room -= b.userRoom(room)
	m := w.measure(b.limits.big)
	total := m.upTo(w, n)
	if w.holdsAll(room, b.limits.big) {
		b.start, b.settled = 1, 0
		return nil
	}
	step := b.step()
	if step > 0 {
		b.settled = m.reach(w, total/step*step)
	}
	docs, err := b.derivedDocs(b.settled)
	if err != nil {
		return err
	}
	room -= b.place(docs, room/3)
	room -= b.force(room / 2)
	old := room * b.recallShare() / 100
	work := room * b.workingShare() / 100
	b.fill(room - old - work - step) // where the window starts, about
	used := b.workingFiles(work)
	got, err := b.recall(old)
	if err != nil {
		return err
	}
	b.fill(room - used - got - step)
	return nil
}

// userRoom makes sure that the latest user message fits, cut when it must be, and gives what is set aside for it.
func (b *builder) userRoom(room int) int {
	if b.user == 0 {
		return 0
	}
	blocks := len(b.w.guessed(b.user))
	b.userLimit = max(room/3/blocks-cutMarker, 8)
	return b.w.cost(b.user, b.userLimit)
}

func (b *builder) isChosen(n int) bool { _, ok := b.chosen[n]; return ok }

// wholePairs moves a start forward past results whose calls are before it.
func (b *builder) wholePairs(start int) int {
	for at := start; at <= b.w.Len() && at < start+nearLinks; at++ {
		cut := false
		for _, p := range b.w.linksTo(at) {
			cut = cut || int(p.call) < start && !b.isChosen(int(p.call))
		}
		if !cut {
			return at
		}
	}
	return start
}

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

// recall puts the best older records in, with the other halves of their tool calls.
func (b *builder) recall(room int) (used int, err error) {
	hits, err := b.hits(b.start - 1)
	if err != nil || len(hits) == 0 {
		return 0, err
	}
	for _, h := range hits {
		rel := round(h.Score / hits[0].Score)
		if b.has(h.N) {
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

// take puts record n and its partners in when they fit.
func (b *builder) take(n int, rel float64, room int) int {
	return b.takeWith(n, rel, room, b.limits.words)
}

// takeWith is take with another limit on the blocks of n itself.
func (b *builder) takeWith(n int, rel float64, room, limit int) int {
	if b.has(n) || b.w.isBad(n) {
		return 0
	}
	group := []int{n}
	cost := b.w.cost(n, limit)
	for _, p := range b.w.partners(n) {
		if !b.has(p) && !slices.Contains(group, p) {
			group = append(group, p)
			cost += b.w.cost(p, b.limits.words)
		}
	}
	if cost > room {
		return 0
	}
	for _, g := range group {
		b.chosen[g] = max(b.chosen[g], rel)
	}
	return cost
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

// ranking is an answer of the index, kept because the next pack mostly asks the same.
type ranking struct {
	query   string
	upTo    int
	without recall.Technique
	hits    []recall.Hit
}

func (w *Workset) rank(query string, upTo int, without recall.Technique) []recall.Hit {
	if l := &w.ranked; l.hits == nil || l.query != query || l.upTo != upTo || l.without != without {
		*l = ranking{query, upTo, without, w.index.Rank(query, upTo, maxHits, without)}
	}
	return w.ranked.hits
}
