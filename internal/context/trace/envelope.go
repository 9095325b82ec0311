package trace

import "slices"

func (b *builder) producer() Producer { return Producer{ID: "ctxfs", Version: b.in.Producer} }

// scope is that of the context: a turn when a user's message is what it answers.
func (b *builder) scope() string {
	if b.in.Pack.Asked == "none" {
		return "session"
	}
	return "turn"
}

// surface writes surface.json.
func (b *builder) surface() error {
	s := Surface{SurfaceID: id("surface", b.ctx), SurfaceKind: b.scope() + "_surface", Scope: b.scope(), Producer: b.producer(), SourceRefs: list(b.sourceIDs), ItemRefs: []string{},
		Capability: []string{"context/recall/", "context/swap/open/"}, PolicyRefs: list(b.in.PolicyRefs), Visibility: []string{b.in.Target}, CreatedAt: b.in.Created,
		Metadata: map[string]any{"records": b.in.Input.History.Len()}}
	for i := range b.all {
		s.ItemRefs = append(s.ItemRefs, b.all[i].ItemID)
	}
	return b.one("surface.json", s)
}

// envelope writes envelope.json.
func (b *builder) envelope() error {
	e := Envelope{SchemaVersion: Version, ContextID: b.ctx, Scope: b.scope(), Lifecycle: "assembled", CreatedAt: b.in.Created, Producer: b.producer(),
		ActorRefs: b.actorRefs(), RuntimeRefs: append([]Ref{{"session", b.in.Session.ID}}, b.runtime...), SurfaceRefs: []string{id("surface", b.ctx)},
		ItemRefs: list(b.chosen), SelectionRefs: []string{id("selection", b.ctx)}, BudgetRef: id("budget", b.ctx), AssemblyRefs: []string{b.asm.AssemblyID},
		InjectionRefs: []string{}, CompactionRefs: []string{}, MissingRefs: []string{}, PolicyRefs: list(b.in.PolicyRefs), EvidenceRefs: []string{}, TelemetryRefs: list(b.telemetry)}
	for _, x := range b.shown {
		e.Lifecycle = "injected"
		e.InjectionRefs = append(e.InjectionRefs, x.InjectionID)
		if !slices.Contains(e.AssemblyRefs, x.AssemblyID) {
			e.AssemblyRefs = append(e.AssemblyRefs, x.AssemblyID)
		}
	}
	for _, c := range b.compacted {
		e.CompactionRefs = append(e.CompactionRefs, c.CompactionID)
	}
	for _, m := range b.gaps {
		e.MissingRefs = append(e.MissingRefs, m.MissingID)
	}
	for _, c := range b.evidence {
		e.EvidenceRefs = append(e.EvidenceRefs, c.ref)
	}
	for _, t := range b.tools {
		e.ToolRefs = append(e.ToolRefs, t.ID)
	}
	return b.one("envelope.json", e)
}

func (b *builder) actorRefs() []Ref {
	kind := "agent"
	if b.in.Session.Model {
		kind = "model"
	}
	out := []Ref{{kind, b.in.Session.Agent}}
	if b.in.Session.UID >= 0 {
		out = append(out, Ref{"user", uidRef(b.in.Session.UID)})
	}
	return append(out, b.actors...)
}

// finish writes items.jsonl, to which several steps added.
func (b *builder) finish() error {
	b.files["items.jsonl"] = lines(b.all)
	return nil
}
