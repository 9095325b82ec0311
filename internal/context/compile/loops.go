package compile

import (
	"bytes"
	"fmt"

	"ctxfs/internal/context/derive"
	"ctxfs/internal/record"
)

// loops are what is open: what the agent's list says is to do, what is missing, the user's message that has no answer yet, and
// calls that have no result.
func (b *builder) loops() (out []Entry) {
	if b.sees("todo") {
		for _, t := range b.todo() {
			if t.Status != "completed" && t.Status != "cancelled" {
				out = append(out, t)
			}
		}
	}
	for _, m := range b.in.Missing {
		switch m.Status {
		case "open", "requested", "waiting", "blocked":
			e := b.entry(m.MissingID, m.Question, "agent", weightOf(m.Severity), Prov{Path: "context/trace/missing.jsonl", Source: m.MissingID})
			e.Kind, e.MissingID, e.Status, e.Severity = "missing", m.MissingID, m.Status, m.Severity
			out = append(out, e)
		}
	}
	out = append(out, b.unanswered()...)
	return b.ranked("open_loops", out, maxSection)
}

// todo returns the entries of todo.md, at most MaxLines of them.
func (b *builder) todo() (out []Entry) {
	n := 0
	for l := range bytes.Lines(b.in.Todo) {
		n++
		box, ok := derive.ParseBox(string(l))
		if !ok {
			continue
		}
		source := box.Source
		if r := refNumber(source); r > 0 && b.cited(source) == nil {
			continue // the target must not see it
		} else if r == 0 {
			source = ""
		}
		if len(out) == MaxLines {
			b.notes = append(b.notes, fmt.Sprintf("todo: what follows %d boxes is not looked at", MaxLines))
			return out
		}
		score := 0.8
		if box.Status == "in_progress" {
			score = 0.9
		}
		e := b.entry(name("todo", box.Text), box.Text, b.origin(b.in.Input.Authored.Todo), score, b.fileProv("context/todo.md", n, source))
		e.Kind, e.Status = "todo", box.Status
		out = append(out, e)
	}
	return out
}

// unanswered are the newest message of the user when no words of the agent follow, and calls without a result since then.
func (b *builder) unanswered() (out []Entry) {
	answered := map[string]bool{}
	for i := len(b.log) - 1; i >= 0; i-- {
		r := &b.log[i]
		for _, id := range r.Results() {
			answered[id] = true
		}
		if r.Role == "assistant" && r.Words() != "" {
			answered[""] = true
		}
		for k := range r.Blocks {
			if c := &r.Blocks[k]; c.Kind == record.ToolUse && c.CallID != "" && !answered[c.CallID] {
				e := b.entry(c.CallID, "no result yet: "+c.Name+" "+c.Input, "log", 0.7, b.recordProv(r.N))
				e.Kind = "call"
				out = append(out, e)
			}
		}
		if r.IsUser() {
			if !answered[""] && r.Words() != "" {
				e := b.entry("answer-to-"+msgRef(r.N), r.Words(), "log", 1, b.recordProv(r.N))
				e.Kind = "unanswered"
				out = append(out, e)
			}
			return out
		}
	}
	return out
}

// plan is plan.jsonl, without what is done; without that file the agent's own list.
func (b *builder) plan() (out []Entry) {
	if b.in.Authored.Plan == nil {
		for _, e := range b.v2.Loops {
			if e.Kind == "todo" {
				e.ID = "step-of-" + e.ID
				out = append(out, e)
			}
		}
		return some(out)
	}
	for i, s := range b.authored.plan {
		if s.Status == "completed" || s.Status == "cancelled" {
			continue
		}
		e := b.entry(s.ID, s.Text, "authored", max(0.3, 0.9-0.01*float64(i)), b.fileProv(PlanFile, s.Line, s.Source)) // in their order
		e.Status, e.DependsOn, e.Metadata = s.Status, s.DependsOn, known(s.Extra)
		out = append(out, e)
	}
	return b.ranked("suggested_plan", out, maxSection)
}
