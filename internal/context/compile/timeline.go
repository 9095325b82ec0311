package compile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ctxfs/internal/context/derive"
	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// maxTimeline is how many entries the timeline has: the newest.
const maxTimeline = 200

// Moment is a line of channels/timeline.jsonl: what happened, turn by turn.
type Moment struct {
	Time  string   `json:"time,omitempty"`
	Until string   `json:"until,omitempty"` // of work: its last record
	Kind  string   `json:"kind"`            // request, work, answer, decision, compaction, injection, run, state
	Text  string   `json:"text"`
	Calls int      `json:"calls,omitempty"`
	Fails int      `json:"failed,omitempty"`
	Files []string `json:"files,omitempty"`
	Prov
	Refs []string `json:"refs"` // all that it stands for

	at time.Time
}

// timeline puts the turns of the log, decisions, compactions, injections and events together.
func (b *builder) timeline() {
	list := b.turns()
	for _, l := range b.held("decisions", b.in.Decisions) {
		if r := b.inLog(refNumber(l.Source)); r != nil {
			list = append(list, Moment{Time: stamp(r.Time), Kind: "decision", Text: shown(l.Text, maxLine), Prov: b.lineProv("context/decisions.jsonl", l), Refs: []string{l.ID, l.Source}, at: r.at})
		}
	}
	for _, c := range b.in.Compactions {
		m := Moment{Time: c.CreatedAt, Kind: "compaction", Text: shown(c.Method+" "+c.Trigger, maxLine), Prov: Prov{Path: "context/trace/compactions.jsonl", Source: c.CompactionID}, Refs: some(c.Sources)}
		m.at, _ = time.Parse(time.RFC3339Nano, c.CreatedAt)
		list = append(list, m)
	}
	for _, x := range b.in.Injections {
		m := Moment{Time: x.CreatedAt, Kind: "injection", Text: shown(x.Point+" of "+x.Target, maxLine), Prov: Prov{Path: "context/injections.jsonl", Source: x.InjectionID}, Refs: []string{x.ContextID, x.Hash}}
		m.at, _ = time.Parse(time.RFC3339Nano, x.CreatedAt)
		list = append(list, m)
	}
	for _, j := range b.eventLines() {
		if j.Kind == "run" || j.Kind == "state" {
			list = append(list, Moment{Time: j.Time, Kind: j.Kind, Text: strings.TrimSpace(j.Text + " " + j.Status), Prov: j.Prov, Refs: []string{j.ID}, at: j.at})
		}
	}
	slices.SortStableFunc(list, func(x, y Moment) int { return x.at.Compare(y.at) })
	b.dated = list[max(0, len(list)-maxTimeline):]
}

// inLog gives a record among those that were read.
func (b *builder) inLog(n int) *seen {
	i, ok := slices.BinarySearchFunc(b.log, n, func(r seen, n int) int { return r.N - n })
	if !ok {
		return nil
	}
	return &b.log[i]
}

// turns tells the log turn by turn: the request, the work as one entry, the agent's last words about it.
func (b *builder) turns() (out []Moment) {
	var work *Moment
	answer := 0
	var first int
	end := func() {
		if work != nil {
			work.Text = fmt.Sprintf("%d calls, %d failed", work.Calls, work.Fails)
			out = append(out, *work)
		}
		if r := b.inLog(answer); r != nil {
			out = append(out, b.moment("answer", r, r.Words()))
		}
		work, answer = nil, 0
	}
	for i := range b.log {
		r := &b.log[i]
		switch {
		case slices.Contains(b.in.Boundaries, r.N) || r.Compaction:
			end()
			out = append(out, b.moment("compaction", r, r.Words()))
			continue
		case r.IsUser():
			end()
			out = append(out, b.moment("request", r, r.Words()))
			continue
		case r.Role == "assistant" && r.Words() != "":
			answer = r.N
		}
		if len(r.Calls()) == 0 && len(r.Results()) == 0 {
			continue
		}
		if work == nil {
			m := b.moment("work", r, "")
			work, first = &m, r.N
		}
		b.worked(work, r)
		work.Until = stamp(r.at)
		work.Refs = []string{swap.Range{A: first, B: r.N}.Ref()}
		work.Path, work.Source, work.Anchor = swap.OpenPath(work.Refs[0]), work.Refs[0], lineAnchor(first, r.N)
	}
	end()
	return out
}

func (b *builder) moment(kind string, r *seen, text string) Moment {
	return Moment{Time: stamp(r.Time), Kind: kind, Text: shown(text, maxLine), Prov: b.recordProv(r.N), Refs: []string{msgRef(r.N)}, at: r.at}
}

// maxTouched is how many files one entry of work names.
const maxTouched = 8

func (b *builder) worked(m *Moment, r *seen) {
	for i := range r.Blocks {
		x := &r.Blocks[i]
		switch x.Kind {
		case record.ToolUse:
			m.Calls++
			for _, p := range derive.Paths(x) {
				if p = shown(p, 300); len(m.Files) < maxTouched && !slices.Contains(m.Files, p) {
					m.Files = append(m.Files, p)
				}
			}
		case record.ToolResult:
			if x.IsError {
				m.Fails++
			}
		}
	}
}
