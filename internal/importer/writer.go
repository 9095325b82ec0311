package importer

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// outcome is the fate of one source record.
type outcome struct {
	kind   fate
	reason string // for skipped
}

type fate uint8

const (
	asMessage fate = iota + 1
	asEvent
	merged
	skipped
	later // held back: the handler calls account when it knows
)

func skip(reason string) outcome { return outcome{skipped, reason} }

// writer gives records their written form, hands them to the sink and counts.
type writer struct {
	sink Sink
	rep  Report
	used map[string]bool  // ids of written messages
	tool map[string]uint8 // call ids: bit 0 called, bit 1 answered
	says string           // the user's first words
}

func newWriter(s Sink, f Format) *writer {
	return &writer{sink: s, used: map[string]bool{}, tool: map[string]uint8{},
		rep: Report{Format: f, Skipped: map[string]int{}, Bad: map[string]int{}, Omitted: map[string]int{}}}
}

// account books the fate of one source record.
func (w *writer) account(o outcome) {
	switch o.kind {
	case asMessage:
		w.rep.MessageRecords++
	case asEvent:
		w.rep.EventRecords++
	case merged:
		w.rep.Merged++
	case skipped:
		w.rep.Skipped[o.reason]++
	}
}

// book has fn take one source record, and books its fate. What is no object is kept as an import_error.
func (w *writer) book(raw []byte, src source, fn func(source) (outcome, error)) error {
	if src.obj = parseObject(raw); src.obj == nil {
		return w.importError(src.line, piece{raw: raw, bad: badObject})
	}
	w.rep.Records++
	w.sawTime(src.obj.str("timestamp"))
	out, err := fn(src)
	if err != nil {
		return err
	}
	w.account(out)
	return nil
}

// report closes the books. An import that broke off does not always add up.
func (w *writer) report() Report {
	r := w.rep
	if r.Title == "" {
		r.Title = w.says
	}
	for _, bits := range w.tool {
		r.Calls += int(bits & 1)
		r.Results += int(bits >> 1)
		switch bits {
		case 1:
			r.UnpairedCalls++
		case 2:
			r.UnpairedResults++
		}
	}
	return r
}

// event is a line of events.jsonl before it is written.
type event struct {
	typ     string
	id      string
	created string
	data    object // the native members that say something
	native  builder
}

// event writes e. Pictures in its data go to the sink.
func (w *writer) event(e *event) error {
	var l builder
	l.str("type", e.typ)
	l.str("id", e.id)
	l.str("created_at", e.created)
	if len(e.data) > 0 {
		data, err := w.withoutMedia(e.data.encode())
		if err != nil {
			return err
		}
		l.raw("data", data)
	}
	l.raw("native", e.native.end())
	w.sawTime(e.created)
	w.rep.Events++
	return w.sink.Event(compact(l.end()))
}

// importError keeps bytes that are no record.
func (w *writer) importError(line int, p piece) error {
	w.rep.Bad[p.bad]++
	w.rep.Events++
	var l, native builder
	l.str("type", "import_error")
	l.str("reason", p.bad)
	if utf8.Valid(p.raw) {
		l.str("raw", string(p.raw))
	} else {
		l.str("raw", base64.StdEncoding.EncodeToString(p.raw))
		l.str("encoding", "base64")
	}
	native.str("format", string(w.rep.Format))
	source{line: line}.place(&native)
	l.raw("native", native.end())
	return w.sink.Event(l.end())
}

// sawTime widens the span of the session.
func (w *writer) sawTime(s string) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		if t, err = time.Parse("2006-01-02T15:04:05.999999999", s); err != nil { // of no zone: taken for UTC
			return
		}
	}
	if t = t.UTC(); w.rep.Started.IsZero() || t.Before(w.rep.Started) {
		w.rep.Started = t
	}
	if t.After(w.rep.Ended) {
		w.rep.Ended = t
	}
}

// firstSet gives the first that is not empty.
func firstSet(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// firstSaid gives the first value that says something.
func firstSaid(list ...json.RawMessage) json.RawMessage {
	for _, v := range list {
		if !void(v) {
			return v
		}
	}
	return nil
}
