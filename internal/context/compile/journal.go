package compile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// maxJournal is how many entries the journal has: the newest.
const maxJournal = 200

// Journal is a line of channels/journal.jsonl: one thing that was said or done.
type Journal struct {
	ID     string `json:"id"`
	Time   string `json:"time,omitempty"`
	Kind   string `json:"kind"` // user_message, agent_message, tool_call, tool_result, note, run, state, event
	Text   string `json:"text"`
	Status string `json:"status,omitempty"` // of a result: ok or error
	CallID string `json:"call_id,omitempty"`
	Prov

	at time.Time
}

// journal writes what was said and done, oldest first.
func (b *builder) journal() {
	var out []Journal
	for i := len(b.log) - 1; i >= 0 && len(out) < maxJournal; i-- {
		lines := b.said(&b.log[i])
		for k := len(lines) - 1; k >= 0; k-- {
			out = append(out, lines[k])
		}
	}
	slices.Reverse(out)
	b.entries = merged(out, b.eventLines())
	b.entries = b.entries[max(0, len(b.entries)-maxJournal):]
}

// merged puts two lists in order of time together, without changing the order within either. What has no time stays behind
// what comes before it.
func merged(x, y []Journal) []Journal {
	var out []Journal
	for len(x) > 0 && len(y) > 0 {
		if y[0].at.Before(x[0].at) {
			out, y = append(out, y[0]), y[1:]
		} else {
			out, x = append(out, x[0]), x[1:]
		}
	}
	return append(append(out, x...), y...)
}

const maxLine = 200 // bytes of an entry's text

// said gives the entries of a record.
func (b *builder) said(r *seen) (out []Journal) {
	add := func(kind, id, text string) *Journal {
		out = append(out, Journal{ID: id, Time: stamp(r.Time), Kind: kind, Text: shown(text, maxLine), Prov: b.recordProv(r.N), at: r.at})
		return &out[len(out)-1]
	}
	if words := r.Words(); words != "" {
		kind := "note"
		switch {
		case r.IsUser():
			kind = "user_message"
		case r.Role == "assistant":
			kind = "agent_message"
		case r.Role == "tool":
			kind = "tool_result"
		}
		add(kind, msgRef(r.N), words)
	}
	for i := range r.Blocks {
		x := &r.Blocks[i]
		switch x.Kind {
		case record.ToolUse:
			add("tool_call", swap.BlockRef(r.N, i+1), x.Name+" "+x.Input).CallID = x.CallID
		case record.ToolResult:
			j := add("tool_result", swap.BlockRef(r.N, i+1), fmt.Sprintf("%d bytes", len(x.Text)))
			j.CallID, j.Status = x.CallID, "ok"
			if x.IsError {
				j.Status, j.Text = "error", shown(x.Text, maxLine)
			}
		}
	}
	return out
}

// eventLines are the events that say something beside the records: runs, states, what other programs wrote.
func (b *builder) eventLines() (out []Journal) {
	var at time.Time
	for i := range b.events {
		e := &b.events[i]
		if !e.at.IsZero() {
			at = e.at
		}
		j := Journal{ID: shown(e.ID, 100), Time: stamp(e.at), Kind: "event", Text: shown(e.Type, maxLine), Prov: b.eventProv(e), at: at}
		switch e.Type {
		case "ctxfs.run.started", "ctxfs.run.ended":
			j.Kind, j.Text, j.Status = "run", shown("run "+e.str("run")+" "+strings.TrimPrefix(e.Type, "ctxfs.run."), maxLine), shown(e.str("status"), 60)
		case "ctxfs.session.state":
			j.Kind, j.Text = "state", shown("state "+e.str("from")+" to "+e.str("to"), maxLine)
		case "ctxfs.run.tool_call":
			j.Kind, j.Text = "tool_call", shown("run "+e.str("run")+" calls "+e.str("name"), maxLine)
		}
		out = append(out, j)
	}
	return out
}

// channels writes the channels.
func (b *builder) channels() {
	b.lines("channels/journal.jsonl", len(b.entries), func(i int) any { return &b.entries[i] })
	b.lines("channels/review.jsonl", len(b.reviews), func(i int) any { return &b.reviews[i] })
	b.lines("channels/timeline.jsonl", len(b.dated), func(i int) any { return &b.dated[i] })
}
