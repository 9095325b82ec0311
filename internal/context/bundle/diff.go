package bundle

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// Difference is one way in which two bundles differ: a row of a table, an object of a list.
type Difference struct {
	Part   string `json:"part"`            // manifest, snapshot, entry, status or lifecycle
	Change string `json:"change"`          // added, removed (an entry or a line) or changed (a field)
	ID     string `json:"id,omitempty"`    // of the entry
	Field  string `json:"field,omitempty"` // of a change: which field
	A      string `json:"a,omitempty"`     // the field, the entry's content or the line in the first bundle
	B      string `json:"b,omitempty"`     // in the second; numbers and foreign values as JSON
}

// Diff tells how b differs from a: manifest, snapshot, entries (those removed, changed and added, in this order, each
// in the order of its bundle), statuses, lines of the log. None when the bundles say the same.
func Diff(a, b *Bundle) []Difference {
	var d differ
	d.fields("manifest", "", a.Manifest.values(), b.Manifest.values())
	d.fields("snapshot", "", a.Snapshot.values(), b.Snapshot.values())
	d.entries(a, b)
	d.lines(a.Lifecycle, b.Lifecycle)
	return d.out
}

// value is a field by its name, in words that compare.
type value struct{ name, text string }

func (m *Manifest) values() []value {
	return append([]value{{"format", m.Format}, {"version", m.Version}, {"agent_id", m.AgentID}, {"created_at", m.CreatedAt},
		{"unit_source", m.UnitSource}, {"unit_ref", m.UnitRef}}, m.Foreign.values()...)
}

func (s *Snapshot) values() []value {
	return append([]value{{"schema", strings.Join(s.Schema, ", ")}, {"budget_tokens", strconv.Itoa(s.BudgetTokens)},
		{"token_count", strconv.Itoa(s.TokenCount)}}, s.Foreign.values()...)
}

func (e *Entry) values() []value {
	return append([]value{{"slot", e.Slot}, {"content", e.Content}, {"tokens", strconv.Itoa(e.Tokens)}, {"score", e.Score.text},
		{"resolution", e.Resolution}, {"unit_ref", e.UnitRef}, {"committed_at", e.CommittedAt}}, e.Foreign.values()...)
}

func (f Foreign) values() []value {
	var out []value
	for i := range f.fields {
		out = append(out, value{f.fields[i].name, string(f.fields[i].value)})
	}
	return out
}

type differ struct{ out []Difference }

// fields compares by name. An absent field and an empty one are the same.
func (d *differ) fields(part, id string, a, b []value) {
	in := func(list []value, name string) string {
		for _, v := range list {
			if v.name == name {
				return v.text
			}
		}
		return ""
	}
	for _, v := range a {
		d.field(part, id, v.name, v.text, in(b, v.name))
	}
	for _, v := range b {
		if !slices.ContainsFunc(a, func(o value) bool { return o.name == v.name }) {
			d.field(part, id, v.name, "", v.text)
		}
	}
}

func (d *differ) field(part, id, name, a, b string) {
	if a != b {
		d.out = append(d.out, Difference{part, "changed", id, name, a, b})
	}
}

func (d *differ) entries(a, b *Bundle) {
	inA, inB := a.Snapshot.byID(), b.Snapshot.byID()
	for i := range a.Snapshot.Entries {
		if e := &a.Snapshot.Entries[i]; inB[e.ID] == nil {
			d.out = append(d.out, Difference{Part: "entry", Change: "removed", ID: e.ID, A: e.Content})
		}
	}
	ofA, ofB := a.Statuses(), b.Statuses()
	for i := range a.Snapshot.Entries {
		e := &a.Snapshot.Entries[i]
		if o := inB[e.ID]; o != nil {
			d.fields("entry", e.ID, e.values(), o.values())
			d.field("status", e.ID, "status", ofA[e.ID], ofB[e.ID])
		}
	}
	for i := range b.Snapshot.Entries {
		if e := &b.Snapshot.Entries[i]; inA[e.ID] == nil {
			d.out = append(d.out, Difference{Part: "entry", Change: "added", ID: e.ID, B: e.Content})
		}
	}
}

func (s *Snapshot) byID() map[string]*Entry {
	out := make(map[string]*Entry, len(s.Entries))
	for i := range s.Entries {
		out[s.Entries[i].ID] = &s.Entries[i]
	}
	return out
}

// lines compares the logs as the lines that only one of them has.
func (d *differ) lines(a, b []Line) {
	only := func(list, others []Line, tell func(id, line string)) {
		have := counted(others)
		for i := range list {
			if s := list[i].String(); have[s] > 0 {
				have[s]--
			} else {
				tell(list[i].EntryID, s)
			}
		}
	}
	only(a, b, func(id, line string) {
		d.out = append(d.out, Difference{Part: "lifecycle", Change: "removed", ID: id, A: line})
	})
	only(b, a, func(id, line string) {
		d.out = append(d.out, Difference{Part: "lifecycle", Change: "added", ID: id, B: line})
	})
}

// counted tells how often each line stands in a log.
func counted(lines []Line) map[string]int {
	out := make(map[string]int, len(lines))
	for i := range lines {
		out[lines[i].String()]++
	}
	return out
}

// String is the line as Render writes it, without its end.
func (l *Line) String() string {
	var out bytes.Buffer
	l.write(&out)
	return strings.TrimSuffix(out.String(), "\n")
}
