package compile

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
)

// How many runs and files the episode's state names: the newest.
const (
	maxRuns  = 10
	maxFiles = 10
)

// maxEvents is how many of the newest events are read.
const maxEvents = 400

// event is a line of events.jsonl, whoever wrote it.
type event struct {
	n    int
	ID   string         `json:"id"`
	Type string         `json:"type"`
	Time string         `json:"time"`
	Data map[string]any `json:"data"`
	at   time.Time
}

func (e *event) str(key string) string {
	s, _ := e.Data[key].(string)
	return s
}

func (b *builder) readEvents() {
	first := max(b.in.FirstEvent, 1)
	from := max(0, len(b.in.Events)-maxEvents)
	for i, l := range b.in.Events[from:] {
		e := event{n: first + from + i}
		if json.Unmarshal(b.maskedOne(l), &e) != nil || e.Type == "" {
			continue
		}
		e.at, _ = time.Parse(time.RFC3339Nano, e.Time) // zero when it has none
		b.events = append(b.events, e)
	}
}

func (b *builder) eventProv(e *event) Prov {
	return Prov{Path: "events.jsonl", Anchor: lineAnchor(e.n, e.n), Source: shown(e.ID, 100)}
}

// episode says where the work stands.
func (b *builder) episode() Episode {
	e := Episode{State: b.in.State, Records: b.in.Input.History.Len(), Runs: b.runs(), Files: b.working()}
	for i := range b.events {
		if x := &b.events[i]; x.Type == "ctxfs.session.state" && b.in.State == "" {
			e.State = shown(x.str("to"), 60)
		}
	}
	if b.in.Input.History.Len() > 0 {
		if r := b.cited(msgRef(1)); r != nil {
			e.FirstTime = stamp(r.Time)
		}
	}
	for i := len(b.log) - 1; i >= 0; i-- {
		r := &b.log[i]
		if e.LastTime == "" {
			e.LastTime = stamp(r.Time)
		}
		if e.LastUser == nil && r.IsUser() {
			e.LastUser = &Intent{shown(r.Words(), 200), b.recordProv(r.N)}
		}
		if e.LastAgent == nil && r.Role == "assistant" && r.Words() != "" {
			e.LastAgent = &Intent{shown(r.Words(), 200), b.recordProv(r.N)}
		}
	}
	if n := refNumber(b.in.Pack.Asked); e.LastUser == nil && n > 0 && b.in.Pack.Query != "" {
		e.LastUser = &Intent{shown(b.in.Pack.Query, 200), b.recordProv(n)}
	}
	return e
}

// runs are those that events tell of.
func (b *builder) runs() []Run {
	out := []Run{}
	at := map[string]int{}
	for i := range b.events {
		e := &b.events[i]
		id := shown(e.str("run"), 100)
		if id == "" || e.Type != "ctxfs.run.started" && e.Type != "ctxfs.run.ended" {
			continue
		}
		k, ok := at[id]
		if !ok {
			k = len(out)
			at[id] = k
			out = append(out, Run{ID: id, Status: "started", Prov: b.eventProv(e)})
		}
		if e.Type == "ctxfs.run.started" {
			out[k].Started = e.Time
		} else {
			out[k].Status, out[k].Ended, out[k].Prov = shown(e.str("status"), 60), e.Time, b.eventProv(e)
			if out[k].Status == "" {
				out[k].Status = "ended"
			}
		}
	}
	return out[max(0, len(out)-maxRuns):]
}

// working are the files of refs.jsonl that were named last, the latest first.
func (b *builder) working() []Working {
	type row struct {
		ID, Path, Kind, Summary, Source string
		n, at                           int
	}
	var rows []row
	n := 0
	for l := range bytes.Lines(b.in.Refs) {
		r := row{}
		n++
		if b.sees("refs") && json.Unmarshal(l, &r) == nil && r.Path != "" && r.Kind == "file" {
			r.n, r.at = n, refNumber(r.Source)
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(x, y row) int { return y.at - x.at })
	out := []Working{}
	for _, r := range rows {
		if len(out) == maxFiles {
			break
		}
		if r.at == 0 || b.cited(r.Source) != nil {
			out = append(out, Working{ID: r.ID, File: shown(r.Path, 300), Note: shown(r.Summary, 160), Prov: b.fileProv("context/refs.jsonl", r.n, r.Source)})
		}
	}
	return out
}
