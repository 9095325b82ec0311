package bundle

import (
	"fmt"
	"strings"
)

// mirror writes snapshot.md.
func mirror(b *Bundle) []byte {
	var out strings.Builder
	m, s := &b.Manifest, &b.Snapshot
	out.WriteString("# Working context\n\n" + plain(m.Format) + " " + plain(m.Version) + ", made " + plain(m.CreatedAt))
	if m.AgentID != "" {
		out.WriteString(" by " + plain(m.AgentID))
	}
	fmt.Fprintf(&out, "; units: %s", plain(m.UnitSource))
	if m.UnitRef != "" {
		out.WriteString(" (" + plain(m.UnitRef) + ")")
	}
	fmt.Fprintf(&out, ".\n%d entries, %d of %d tokens; %d lines of lifecycle.\n", len(s.Entries), s.TokenCount, s.BudgetTokens, len(b.Lifecycle))
	statuses := b.Statuses()
	for _, slot := range s.Schema {
		list := s.in(slot)
		if len(list) > 0 {
			out.WriteString("\n# " + plain(slot) + "\n")
		}
		for _, e := range list {
			out.WriteString("\n" + e.section(statuses[e.ID]))
		}
	}
	return []byte(strings.ToValidUTF8(strings.ReplaceAll(out.String(), "\x00", "\uFFFD"), "\uFFFD"))
}

// in lists the entries of a slot in their order.
func (s *Snapshot) in(slot string) []*Entry {
	var out []*Entry
	for i := range s.Entries {
		if s.Entries[i].Slot == slot {
			out = append(out, &s.Entries[i])
		}
	}
	return out
}

// section writes an entry under a heading that no content can pass itself off as: a line of content that begins as one
// gets a backslash before it.
func (e *Entry) section(status string) string {
	head := "## [" + plain(e.ID) + "] " + status
	if e.Resolution != Full {
		head += ", " + e.Resolution
	}
	if e.UnitRef != "" {
		head += ", " + plain(e.UnitRef)
	}
	text := strings.ReplaceAll("\n"+strings.TrimRight(e.Content, "\n"), "\n## [", "\n\\## [")
	if e.Content == "" {
		return head + "\n"
	}
	return head + "\n" + text + "\n"
}

// Document is the text of the entries of one slot that are to be in force.
type Document struct {
	Slot string
	Name string // a file name: the slot with all but letters, digits, '-' and '_' replaced; no two alike
	Text []byte
}

// Documents writes what an importer pins: a document a slot, in the order of the schema, each entry under its id and
// status. Entries that are superseded or deprecated are not in them, and a slot without others has no document.
func Documents(b *Bundle) []Document {
	statuses := b.Statuses()
	taken := map[string]bool{}
	var out []Document
	for _, slot := range b.Snapshot.Schema {
		var text strings.Builder
		for _, e := range b.Snapshot.in(slot) {
			if InForce(statuses[e.ID]) {
				text.WriteString("\n" + e.section(statuses[e.ID]))
			}
		}
		if text.Len() > 0 {
			head := "# Imported working context: " + plain(slot) + "\n"
			out = append(out, Document{slot, fileName(slot, taken), []byte(head + text.String())})
		}
	}
	return out
}

// fileName gives the slot a name that is not taken.
func fileName(slot string, taken map[string]bool) string {
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, slot)
	base = base[:min(len(base), 100)]
	name := base + ".md"
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%s-%d.md", base, i)
	}
	taken[name] = true
	return name
}

// Entering gives the entries that an importer takes over: those whose status is hypothesis, active or validated.
func Entering(b *Bundle) []Entry {
	statuses := b.Statuses()
	var out []Entry
	for i := range b.Snapshot.Entries {
		if e := b.Snapshot.Entries[i]; InForce(statuses[e.ID]) {
			out = append(out, e)
		}
	}
	return out
}
