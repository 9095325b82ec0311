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
	fork bool             // they are of the session that this one was forked from
	most int              // bytes of a line that is written
}

// maxLine is how long a line of a session may be, in bytes with its '\n' (appendlog.MaxLine).
const maxLine = 64 << 20

// maxRaw is how much of what is no record stands in its event, in bytes; more becomes a blob. Written as JSON it is up to
// six times as long: a NUL is \u0000.
const maxRaw = 1 << 20

func newWriter(s Sink, f Format) *writer {
	return &writer{sink: s, used: map[string]bool{}, tool: map[string]uint8{}, most: maxLine - 1,
		rep: Report{Format: f, Client: clientOf(f), Skipped: map[string]int{}, Bad: map[string]int{}, Omitted: map[string]int{}}}
}

// clientOf names the program that writes logs of format f, "" for messages, which any program may write.
func clientOf(f Format) string {
	if f == Messages {
		return ""
	}
	return string(f)
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

// event writes e. Pictures in its data go to the sink, and so does all of it when no log takes it.
func (w *writer) event(e *event) error {
	data, err := w.withoutMedia(e.data.encode())
	if err != nil {
		return err
	}
	line := e.line(data)
	if len(line) > w.most {
		ref, err := w.whole(line)
		if err != nil {
			return err
		}
		small := event{typ: e.typ, id: e.id, created: e.created, native: placed(line)}
		small.native.raw("too_large", ref)
		line = small.line(nil)
	}
	w.sawTime(e.created)
	w.rep.Events++
	return w.sink.Event(line)
}

func (e *event) line(data []byte) []byte {
	var l builder
	l.str("type", e.typ)
	l.str("id", e.id)
	l.str("created_at", e.created)
	if len(e.data) > 0 {
		l.raw("data", data)
	}
	l.raw("native", e.native.end())
	return compact(l.end())
}

// importError keeps bytes that are no record.
func (w *writer) importError(line int, p piece) error {
	w.rep.Bad[p.bad]++
	w.rep.Events++
	var l, native builder
	l.str("type", "import_error")
	l.str("reason", p.bad)
	switch {
	case len(p.raw) > maxRaw:
		ref, err := w.whole(p.raw)
		if err != nil {
			return err
		}
		l.raw("raw", ref)
	case utf8.Valid(p.raw):
		l.str("raw", string(p.raw))
	default:
		l.str("raw", base64.StdEncoding.EncodeToString(p.raw))
		l.str("encoding", "base64")
	}
	native.str("format", string(w.rep.Format))
	source{line: line}.place(&native)
	l.raw("native", native.end())
	return w.sink.Event(l.end())
}

// whole keeps as a blob what is too large for a line, and gives its reference.
func (w *writer) whole(data []byte) (json.RawMessage, error) {
	id, err := w.sink.Blob(data)
	if err != nil {
		return nil, err
	}
	w.rep.Blobs++
	var ref builder
	ref.str("type", "ref")
	ref.str("ref", id)
	ref.num("bytes", len(data))
	return ref.end(), nil
}

// placed gives of a line's native part only where its record stands.
func placed(line []byte) builder {
	var n builder
	for _, m := range parseObject(line).obj("native") {
		if oneOf(m.key, "format", "line", "lines", "index") {
			n.raw(m.key, m.val)
		}
	}
	return n
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
