package trace

import (
	"fmt"
	"strconv"

	"ctxfs/internal/context/pack"
)

func uidRef(uid int) string { return "uid:" + strconv.Itoa(uid) }

// Before is the context that was shown last: what has changed since then is told against it.
type Before struct {
	ContextID string
	Items     []pack.Item
}

// happened is the stream of a context's events.
type happened struct {
	b   *builder
	all []Event
}

// tell adds an event; at is when it happened, "" for when the context came about.
func (h *happened) tell(class, subject, at string, data map[string]any) {
	if at == "" {
		at = h.b.in.Created
	}
	h.all = append(h.all, Event{SpecVersion: "1.0", ID: id("event", h.b.ctx, class, subject), Source: "ctxfs/" + h.b.in.Session.ID, Type: class, Subject: subject, Time: at,
		ContentType: "application/json", Sequence: fmt.Sprintf("%08d", len(h.all)), Data: data})
}

// events writes events.jsonl: what happened on the way to this context, in the specification's event classes.
func (b *builder) events() error {
	h := &happened{b: b}
	surface := id("surface", b.ctx)
	h.tell("context.surface.created", surface, "", map[string]any{"context_id": b.ctx, "items": len(b.all)})
	if b.in.Before != nil {
		h.tell("context.surface.updated", surface, "", map[string]any{"context_id": b.ctx, "since": b.in.Before.ContextID})
	}
	b.itemEvents(h)
	h.tell("context.selection.started", id("selection", b.ctx), "", map[string]any{"surface_id": surface})
	h.tell("context.selection.completed", id("selection", b.ctx), "", map[string]any{"selected": len(b.chosen), "omitted": len(b.out)})
	h.tell("context.budget.applied", id("budget", b.ctx), "", map[string]any{"max_tokens": b.in.Input.Budget, "actual_tokens": b.in.Pack.Tokens})
	for _, c := range b.compacted {
		h.tell("context.compaction.started", c.CompactionID, c.CreatedAt, map[string]any{"source_item_refs": c.Sources})
		h.tell("context.compaction.completed", c.CompactionID, c.CreatedAt, map[string]any{"summary_ref": c.SummaryRef})
	}
	h.tell("context.summary.created", b.digest.SummaryID, b.digest.CreatedAt, map[string]any{"summary_kind": b.digest.Kind})
	for _, m := range b.gaps {
		b.missingEvents(h, m)
	}
	for _, r := range b.masked {
		h.tell("context.redaction.applied", r.RedactionID, "", map[string]any{"item_ref": r.ItemRef, "redaction_method": r.Method, "count": r.Count})
	}
	h.tell("context.assembly.created", b.asm.AssemblyID, "", map[string]any{"target": b.in.Target, "hash": b.asm.Hash})
	for _, x := range b.shown {
		h.tell("context.injection.applied", x.InjectionID, x.CreatedAt, map[string]any{"assembly_id": x.AssemblyID, "injection_point": x.Point})
	}
	for _, e := range b.in.Exports {
		h.tell("context.exported", e.ID, e.Time, map[string]any{"export": e.Data})
	}
	b.files["events.jsonl"] = lines(h.all)
	return nil
}

// itemEvents tells which items entered, changed and left since the context that was shown last.
func (b *builder) itemEvents(h *happened) {
	before := map[string]string{}
	if b.in.Before != nil {
		for _, it := range b.in.Before.Items {
			before[b.idOf(&it)] = it.Value()
		}
	}
	now := map[string]bool{}
	for i, item := range b.chosen {
		p := &b.in.Pack.Items[i]
		now[item] = true
		old, was := before[item]
		if !was {
			h.tell("context.item.added", item, "", map[string]any{"tokens": p.Tokens})
		} else if old != p.Value() {
			h.tell("context.item.updated", item, "", map[string]any{"tokens": p.Tokens})
		}
	}
	if b.in.Before == nil {
		return
	}
	for _, it := range b.in.Before.Items {
		if item := b.idOf(&it); !now[item] {
			h.tell("context.item.removed", item, "", map[string]any{"kind": it.Kind, "source": it.Source, "range": it.Range})
		}
	}
}

func (b *builder) missingEvents(h *happened, m Missing) {
	h.tell("context.missing.detected", m.MissingID, m.CreatedAt, map[string]any{"severity": m.Severity})
	switch m.Status {
	case "requested", "waiting":
		h.tell("context.missing.requested", m.MissingID, m.CreatedAt, map[string]any{"requested_from": m.RequestedOf})
	case "resolved":
		h.tell("context.missing.resolved", m.MissingID, "", map[string]any{"resolution_refs": m.Resolution})
	}
}
