package bundle

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
)

// Render writes the files of a bundle by their names. The same bundle gives the same bytes, and reading them gives the
// same bundle. It does not check: what Make or Parse made is valid.
func Render(b *Bundle) map[string][]byte {
	var log bytes.Buffer
	for i := range b.Lifecycle {
		b.Lifecycle[i].write(&log)
	}
	return map[string][]byte{
		ManifestFile:  b.Manifest.json(),
		SnapshotFile:  b.Snapshot.json(),
		LifecycleFile: append([]byte{}, log.Bytes()...),
		MirrorFile:    mirror(b),
	}
}

// writer writes one object: the fields of the format, then the foreign ones.
type writer struct {
	out   *bytes.Buffer
	start string // before each field
	space string // after each colon
	more  bool
}

func (w *writer) raw(quoted, value []byte) {
	if w.more {
		w.out.WriteByte(',')
	}
	w.more = true
	w.out.WriteString(w.start)
	w.out.Write(quoted)
	w.out.WriteString(":" + w.space)
	w.out.Write(value)
}

func (w *writer) field(name string, value []byte) { w.raw(quote(name), value) }
func (w *writer) text(name, s string)             { w.field(name, quote(s)) }
func (w *writer) count(name string, n int)        { w.field(name, strconv.AppendInt(nil, int64(n), 10)) }

// line writes a string of one line; an optional one that is empty is left out.
func (w *writer) line(name, s string, required bool) {
	if required || s != "" {
		w.text(name, plain(s))
	}
}

// plain puts a mark where a control character stands: what goes into one line must stay there.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

func (w *writer) number(name string, n Number, required bool) {
	if required && n.text == "" {
		n.text = "0"
	}
	if n.text != "" {
		w.field(name, []byte(n.text))
	}
}

func (w *writer) foreign(f Foreign) {
	for i := range f.fields {
		w.raw(f.fields[i].quoted, f.fields[i].value)
	}
}

func (m *Manifest) json() []byte {
	var out bytes.Buffer
	out.WriteByte('{')
	w := &writer{out: &out, start: "\n  ", space: " "}
	w.text("format", m.Format)
	w.text("version", m.Version)
	w.line("agent_id", m.AgentID, false)
	w.line("created_at", m.CreatedAt, true)
	w.line("unit_source", m.UnitSource, true)
	w.line("unit_ref", m.UnitRef, false)
	w.foreign(m.Foreign)
	out.WriteString("\n}\n")
	return out.Bytes()
}

// json writes snapshot.json with one entry a line, so that grep and diff work on it.
func (s *Snapshot) json() []byte {
	var out bytes.Buffer
	out.WriteByte('{')
	w := &writer{out: &out, start: "\n  ", space: " "}
	slots := make([][]byte, len(s.Schema))
	for i, slot := range s.Schema {
		slots[i] = quote(plain(slot))
	}
	w.field("schema", append(append([]byte{'['}, bytes.Join(slots, []byte(", "))...), ']'))
	w.count("budget_tokens", s.BudgetTokens)
	w.count("token_count", s.TokenCount)
	w.field("entries", s.entries())
	w.foreign(s.Foreign)
	out.WriteString("\n}\n")
	return out.Bytes()
}

func (s *Snapshot) entries() []byte {
	if len(s.Entries) == 0 {
		return []byte("[]")
	}
	var out bytes.Buffer
	out.WriteByte('[')
	for i := range s.Entries {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n    ")
		s.Entries[i].write(&out)
	}
	out.WriteString("\n  ]")
	return out.Bytes()
}

func (e *Entry) write(out *bytes.Buffer) {
	out.WriteByte('{')
	w := &writer{out: out}
	w.line("id", e.ID, true)
	w.line("slot", e.Slot, true)
	w.text("content", e.Content)
	w.count("tokens", e.Tokens)
	w.number("score", e.Score, true)
	w.text("resolution", e.Resolution)
	w.line("unit_ref", e.UnitRef, false)
	w.line("committed_at", e.CommittedAt, true)
	w.foreign(e.Foreign)
	out.WriteByte('}')
}

func (l *Line) write(out *bytes.Buffer) {
	out.WriteByte('{')
	w := &writer{out: out}
	w.line("ts", l.TS, true)
	w.line("entry_id", l.EntryID, true)
	w.text("decision", l.Decision)
	w.text("status", l.Status)
	w.line("supersedes", l.Supersedes, false)
	if l.Reason != nil {
		w.field("reason", l.Reason.json())
	}
	w.foreign(l.Foreign)
	out.WriteString("}\n")
}

func (r *Reason) json() json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	w := &writer{out: &out}
	w.number("relevance", r.Relevance, false)
	w.number("novelty", r.Novelty, false)
	w.number("drift", r.Drift, false)
	w.foreign(r.Foreign)
	out.WriteByte('}')
	return out.Bytes()
}
