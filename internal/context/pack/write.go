package pack

import (
	"sort"

	"ctxfs/internal/swap"
)

// write puts the chosen records into the page: older ones right before the latest user message, so that they move
// only when that does.
func (b *builder) write() error {
	var older []int
	for n := range b.chosen {
		if n < b.start && n != b.user {
			older = append(older, n)
		}
	}
	sort.Ints(older)
	end := b.w.Len()
	split := b.start
	if b.user >= b.start {
		split = b.user
	}
	if len(older) == 0 && b.user >= b.start {
		split = end + 1
	}
	if err := b.run("messages from ", kindRecent, span(b.start, split-1)); err != nil {
		return err
	}
	if err := b.run("older messages that match, from ", kindRecalled, older); err != nil {
		return err
	}
	if b.user > 0 && b.user < b.start {
		if err := b.run("latest user message, ", kindRecent, []int{b.user}); err != nil {
			return err
		}
	}
	return b.run("messages from ", kindRecent, span(split, end))
}

func span(a, z int) []int {
	var out []int
	for n := a; n <= z; n++ {
		out = append(out, n)
	}
	return out
}

// run writes the records as one section and accounts for them.
func (b *builder) run(title, kind string, recs []int) error {
	var shown []shownRecord
	first := 0
	for _, n := range recs {
		s, err := b.flow.record(n)
		if err != nil {
			return err
		}
		b.omitted = append(b.omitted, s.out...)
		if s.text == "" {
			continue
		}
		if first == 0 {
			first = n
		}
		shown = append(shown, s)
	}
	if first == 0 {
		return nil
	}
	b.page.messages(title+swap.Range{A: first, B: first}.String(), shown)
	for i := 0; i < len(shown); {
		j := i + 1
		for j < len(shown) && shown[j].n == shown[j-1].n+1 && (shown[j].n == b.user) == (shown[i].n == b.user) && b.chosen[shown[j].n] == b.chosen[shown[i].n] {
			j++
		}
		b.item(kind, shown[i:j])
		i = j
	}
	return nil
}

// item accounts for records that stand in one unbroken run.
func (b *builder) item(kind string, recs []shownRecord) {
	r := swap.Range{A: recs[0].n, B: recs[len(recs)-1].n}
	it := Item{Kind: kind, Source: messagesFile, Range: r.String(), Hash: b.w.hash(r).String(), Path: swap.OpenPath(r.Ref())}
	for _, s := range recs {
		it.Tokens += s.tokens
		it.Cut = it.Cut || len(s.out) > 0
	}
	if kind == kindRecalled {
		it.Parts.Relevance = b.chosen[r.A]
	} else {
		it.Parts.Recency = round(1 / (1 + float64(b.w.Len()-r.B)/100))
	}
	if r.A == b.user {
		it.Parts.Floor = 1
	}
	it.Score = it.Parts.sum()
	b.items = append(b.items, it)
}
