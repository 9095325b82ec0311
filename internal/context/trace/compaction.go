package trace

import (
	"fmt"

	"ctxfs/internal/swap"
)

// compactions writes compactions.jsonl: those that `ctxfs compact` recorded, and the places where a runtime put a text of
// its own in place of all before it. What they replaced is whole in the log, and has an item.
func (b *builder) compactions() error {
	for _, c := range b.in.Compactions {
		c.Sources = b.covered(c.Sources)
		if c.SummaryRef == "context/summary.md" {
			c.SummaryRef = b.summaryID()
		}
		c.LossNotes = list(c.LossNotes)
		if c.Validation == nil {
			c.Validation = map[string]any{"status": "unreviewed"}
		}
		b.compacted = append(b.compacted, c)
	}
	for _, n := range b.in.Boundaries {
		c, err := b.boundary(n)
		if err != nil {
			return err
		}
		b.compacted = append(b.compacted, c)
	}
	b.files["compactions.jsonl"] = lines(b.compacted)
	return nil
}

// covered turns references as messages:1-39 into items.
func (b *builder) covered(refs []string) []string {
	out := []string{}
	for _, ref := range refs {
		r, err := swap.ParseRange(ref)
		if err != nil || r.B > b.in.Input.History.Len() {
			out = append(out, ref)
			continue
		}
		out = append(out, b.itemOf(r, "compacted"))
	}
	return out
}

// itemOf gives the id of an item for records, which is made when the pack has none.
func (b *builder) itemOf(r swap.Range, why string) string {
	for i := range b.all {
		if b.all[i].Metadata["source"] == messages && b.all[i].Metadata["range"] == r.String() {
			return b.all[i].ItemID
		}
	}
	o := Item{ItemID: b.itemID(why, messages, r.String()), Kind: "session_history", Title: title(why, messages, r.String()), Mode: "ref",
		ContentRef: swap.OpenPath(r.Ref()), MimeType: "application/x-ndjson", SourceRefs: b.logSource(), RedactionState: "none", Visibility: b.targets("messages"),
		Metadata: map[string]any{"kind": why, "source": messages, "range": r.String(), "selected": false, "path": swap.OpenPath(r.Ref())}}
	b.all = append(b.all, o)
	return o.ItemID
}

// boundary is a compaction by a runtime, as the log shows it: why and how well it was done, the log does not say.
func (b *builder) boundary(n int) (Compaction, error) {
	r, err := b.in.Input.History.Record(n)
	if err != nil {
		return Compaction{}, err
	}
	c := Compaction{CompactionID: id("compact", b.in.Session.ID, fmt.Sprint(n)), Scope: "session", Sources: []string{}, Method: "custom",
		Coverage: map[string]int{"items_covered": n - 1}, LossNotes: []string{}, Validation: map[string]any{"status": "unknown"},
		Replacement: "summary_beside_source", Metadata: map[string]any{"by": "runtime", "record": n},
		SummaryRef: b.itemOf(swap.Range{A: n, B: n}, "compaction_text")}
	if n > 1 {
		c.Sources = []string{b.itemOf(swap.Range{A: 1, B: n - 1}, "compacted")}
	}
	if !r.Time.IsZero() {
		c.CreatedAt = stamp(r.Time)
	}
	return c, nil
}

func (b *builder) summaryID() string { return id("summary", b.in.Session.ID, b.summaryHash()) }

// summaryHash is that of context/summary.md as it is now: of what an agent wrote, else of the log that it is derived from.
func (b *builder) summaryHash() string {
	if s := b.in.Input.Authored.Summary; s != nil {
		return swap.Sum(s).String()
	}
	for _, in := range b.in.Pack.Inputs {
		if in.Source == messages {
			return in.Value()
		}
	}
	return ""
}

// summary writes summary.json: what context/summary.md is.
func (b *builder) summary() error {
	n := b.in.Input.History.Len()
	s := Summary{SummaryID: b.summaryID(), Kind: "extractive", ContentRef: "context/summary.md", SourceItems: []string{}, Coverage: map[string]int{"items_covered": n},
		LossNotes: []string{"extracts by rule; what is not in them is whole in messages.jsonl"}, OpenQuestions: []string{}, Validation: map[string]any{"status": "unreviewed"},
		Refresh: "rebuilt_after_every_append", CreatedAt: b.in.Created}
	if n > 0 {
		s.SourceItems = []string{b.itemOf(swap.Range{A: 1, B: n}, "summarized")}
	}
	if text := b.in.Input.Authored.Summary; text != nil {
		s.Kind, s.Refresh, s.Digest = "agent_written", "until_unlinked", swap.Sum(text).String()
		s.SourceItems, s.Coverage, s.LossNotes = []string{}, map[string]int{}, []string{}
		for _, c := range b.compacted {
			if c.SummaryHash == s.Digest {
				s.SourceItems, s.Coverage, s.LossNotes, s.CreatedAt = c.Sources, c.Coverage, c.LossNotes, c.CreatedAt
			}
		}
	}
	for _, m := range b.in.Missing {
		if isOpen(m.Status) {
			s.OpenQuestions = append(s.OpenQuestions, m.Question)
		}
	}
	b.digest = s
	return b.one("summary.json", s)
}
