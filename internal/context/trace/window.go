package trace

import (
	"fmt"
)

// window writes budget.json and window.json: how the tokens are used.
func (b *builder) window() error {
	budget := id("budget", b.ctx)
	items := b.in.Pack.Items
	sum := 0
	for i := 0; i < len(items); {
		j := i
		s := Segment{SegmentID: id("segment", b.ctx, fmt.Sprint(len(b.segments))), Role: items[i].Kind, Target: b.in.Target, Order: len(b.segments), Truncation: []Truncation{}}
		for ; j < len(items) && items[j].Kind == items[i].Kind; j++ {
			s.Actual += items[j].Tokens
			s.ItemRefs = append(s.ItemRefs, b.chosen[j])
			s.Truncation = append(s.Truncation, b.cuts[b.chosen[j]]...)
		}
		sum += s.Actual
		b.segments = append(b.segments, s)
		i = j
	}
	if rest := b.in.Pack.Tokens - sum; rest > 0 {
		b.segments = append(b.segments, Segment{SegmentID: id("segment", b.ctx, "headings"), Role: "headings", Target: b.in.Target, Actual: rest, ItemRefs: []string{},
			Order: len(b.segments), Truncation: []Truncation{}})
	}
	if r := b.in.Input.Reserve; r > 0 {
		b.segments = append(b.segments, Segment{SegmentID: id("segment", b.ctx, "reserve"), Role: "reserve", Target: b.in.Target, Reserved: r, ItemRefs: []string{},
			Order: len(b.segments), Truncation: []Truncation{}})
	}
	v := Budget{BudgetID: budget, Target: b.in.Target, MaxTokens: b.in.Input.Budget, Reserved: b.in.Input.Reserve, Actual: b.in.Pack.Tokens,
		ActualByte: len(b.in.Pack.Markdown), ActualItem: len(items), Overflow: "defer_to_retrieval", Truncation: []Truncation{}, Segments: []string{},
		Tokenizer: b.in.Tokenizer, CreatedAt: b.in.Created}
	for _, c := range b.chosen {
		v.Truncation = append(v.Truncation, b.cuts[c]...)
	}
	for _, s := range b.segments {
		v.Segments = append(v.Segments, s.SegmentID)
	}
	if err := b.one("budget.json", v); err != nil {
		return err
	}
	return b.one("window.json", Window{WindowID: id("window", b.ctx), Target: b.in.Target, BudgetRef: budget, Segments: list(b.segments), CreatedAt: b.in.Created})
}

// selection writes selection.json.
func (b *builder) selection() error {
	s := Selection{SelectionID: id("selection", b.ctx), SurfaceID: id("surface", b.ctx), Query: b.in.Pack.Query, QuerySource: b.in.Pack.Asked,
		Candidates: []string{}, Selected: list(b.chosen), Omitted: list(b.out), Signals: map[string]map[string]float64{},
		Policy: "ctxfs pack: docs/packing.md", BudgetRef: id("budget", b.ctx), ActorRef: Ref{"service", "ctxfs"}, CreatedAt: b.in.Created,
		Rationale: fmt.Sprintf("%d of %d tokens: what must be in first, then by value a token; %d items in, %d left out or cut", b.in.Pack.Tokens,
			b.in.Input.Budget, len(b.chosen), len(b.out)), Metadata: map[string]any{"omitted_readable_at": "the content_ref of each item"}}
	for i := range b.in.Pack.Items {
		p := &b.in.Pack.Items[i]
		g := signals(p.Parts.Floor, p.Parts.Authority, p.Parts.Recency, p.Parts.Working, p.Parts.Relevance, p.Tokens)
		if p.Parts.Floor > 0 && p.Source != messages {
			g["user_pin"] = p.Parts.Floor
			delete(g, "runtime_need")
		}
		s.Signals[b.chosen[i]] = g
		s.Candidates = append(s.Candidates, b.chosen[i])
	}
	for i := range b.in.Pack.Omitted {
		o := &b.in.Pack.Omitted[i]
		s.Signals[b.out[i].ItemRef] = signals(o.Parts.Floor, o.Parts.Authority, o.Parts.Recency, o.Parts.Working, o.Parts.Relevance, o.Tokens)
		s.Candidates = append(s.Candidates, b.out[i].ItemRef)
	}
	return b.one("selection.json", s)
}

// signals gives the parts of a score in the specification's words ("Ranking signals").
func signals(floor, authority, recency, working, relevance float64, tokens int) map[string]float64 {
	out := map[string]float64{"token_cost": float64(tokens)}
	for _, s := range []struct {
		name string
		v    float64
	}{{"runtime_need", floor}, {"authority", authority}, {"recency", recency}, {"freshness", working}, {"relevance", relevance}} {
		if s.v != 0 {
			out[s.name] = s.v
		}
	}
	return out
}
