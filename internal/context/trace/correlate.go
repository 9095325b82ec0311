package trace

import "ctxfs/internal/record"

// correlated says where a record belongs, by its own words, and keeps the refs for the envelope.
func (b *builder) correlated(r *record.Record, ids *record.IDs) map[string]any {
	m := map[string]any{"n": r.N}
	if r.Role != "" {
		m["role"] = r.Role
	}
	if r.ID != "" {
		m["id"] = r.ID
	}
	if !r.Time.IsZero() {
		m["time"] = stamp(r.Time)
	}
	for _, c := range []struct{ name, value string }{{"session", ids.Session}, {"thread", ids.Thread}, {"turn", ids.Turn}, {"task", ids.Task},
		{"run", ids.Run}, {"attempt", ids.Attempt}, {"step", ids.Step}} {
		if c.value == "" {
			continue
		}
		m[c.name] = c.value
		id := c.value
		if c.name == "attempt" && ids.Task != "" {
			id = ids.Task + "/" + id // an attempt's number says nothing without its task
		}
		b.refer(&b.runtime, Ref{c.name, id})
	}
	calls := append(r.Calls(), r.Results()...)
	if len(calls) > 0 {
		m["tool_calls"] = calls
		for _, c := range calls {
			b.refer(&b.runtime, Ref{"tool_call", c})
		}
	}
	if ids.Model != "" {
		b.refer(&b.actors, Ref{"model", ids.Model})
	}
	for i := range r.Blocks {
		if k := r.Blocks[i].Kind; k == record.ToolUse {
			b.refer(&b.tools, Ref{"tool", r.Blocks[i].Name})
		} else if k == record.Image && r.Blocks[i].Ref != "" {
			b.cites(r.N, r.Blocks[i].Ref)
		}
	}
	for _, e := range ids.Evidence {
		b.cites(r.N, e)
	}
	for _, x := range ids.Native {
		if x.Name == "trace_id" || x.Name == "span_id" {
			b.refer(&b.telemetry, Ref{x.Name, x.Value})
		}
	}
	return m
}

// refer adds a ref once.
func (b *builder) refer(list *[]Ref, r Ref) {
	if !b.referred[r] {
		b.referred[r] = true
		*list = append(*list, r)
	}
}
