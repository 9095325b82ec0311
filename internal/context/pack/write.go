package pack

import (
	"slices"

	"ctxfs/internal/swap"
)

// write puts the chosen records into the page: first what is chosen anew only with a wide step, then portions, and at
// last what came since.
func (b *builder) write() error {
	used := b.page.count()
	window := b.start
	if err := b.run("older messages that show the files touched last, from ", kindRecalled, b.work); err != nil {
		return err
	}
	var recent, older []int
	for n := window; n <= b.settled; n++ {
		if b.working[n] == 0 && !b.aside(n) {
			recent = append(recent, n)
		}
	}
	for n := range b.chosen {
		if n < window && !b.isTask(n) && b.working[n] == 0 {
			older = append(older, n)
		}
	}
	slices.Sort(older)
	if err := b.run("messages from ", kindRecent, recent); err != nil {
		return err
	}
	if err := b.run("older messages that match, from ", kindRecalled, older); err != nil {
		return err
	}
	if b.task > 0 && b.task < window {
		if err := b.run("latest user message, ", kindRecent, []int{b.task}); err != nil {
			return err
		}
	}
	if err := b.writePortions(b.goal - used - b.written); err != nil {
		return err
	}
	return b.run("messages from ", kindRecent, slices.DeleteFunc(span(b.settled+1, b.w.Len()), b.aside))
}

// writePortions writes what stands in the room that is left over, and in that which the log has yet to grow into: at
// its end the contents of files that were touched in the small steps since settled, before them portions.
func (b *builder) writePortions(room int) error {
	if b.whole || b.in.Query != "" {
		return nil
	}
	free := room + max(b.steps.portions, 0)*b.steps.portion
	fresh, used := b.workingFiles(b.steps.reached, max(free-headings, 0), [2]int{100, 100})
	free -= used
	for i := 0; i <= b.steps.portions && b.start > 1; i++ {
		if i > 0 {
			room += b.steps.portion
		}
		before := b.written
		if min(room, free) < minPortion || room > free && i > 0 {
			continue
		}
		if err := b.run("older messages from ", kindRecent, b.portion(min(room, free)-headings)); err != nil {
			return err
		}
		room -= b.written - before
		free -= b.written - before
	}
	return b.run("older messages that show the files touched last, from ", kindRecalled, fresh)
}

// minPortion is the least room that is worth a portion of its own, in tokens.
const minPortion = 200

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
		b.written += s.tokens
	}
	if first == 0 {
		return nil
	}
	b.page.messages(title+swap.Range{A: first, B: first}.String(), shown)
	for i := 0; i < len(shown); {
		j := i + 1
		for j < len(shown) && shown[j].n == shown[j-1].n+1 && b.isTask(shown[j].n) == b.isTask(shown[i].n) && b.chosen[shown[j].n] == b.chosen[shown[i].n] && b.working[shown[j].n] == b.working[shown[i].n] {
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
	it := Item{Kind: kind, Source: messagesFile, Range: r.String(), Digest: b.w.digest(r), Path: swap.OpenPath(r.Ref()),
		Start: recs[0].start, End: recs[len(recs)-1].end}
	for _, s := range recs {
		it.Tokens += s.tokens
		it.Cut = it.Cut || len(s.out) > 0
		it.Masked = addMasked(it.Masked, b.w.secrets[s.n])
	}
	if kind == kindRecalled {
		it.Parts.Working = b.working[r.A]
		it.Parts.Relevance = b.chosen[r.A]
	} else {
		it.Parts.Recency = round(1 / (1 + float64(b.w.Len()-r.B)/100))
	}
	if b.isTask(r.A) {
		it.Parts.Floor = 1
	}
	it.Score = it.Parts.sum()
	b.items = append(b.items, it)
}
