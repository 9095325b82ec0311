package derive

import "strings"

// Box is an entry of a todo list in Markdown, as "- [x] text (in progress, messages:12)".
type Box struct {
	Text   string
	Status string // pending, in_progress, completed or cancelled
	Source string // the record that says so, as messages:12; empty when the line names none
}

// ParseBox parses a line of todo.md, whether State.Todo or an agent wrote it. ok is false for a line without a box.
func ParseBox(line string) (b Box, ok bool) {
	text := strings.TrimLeft(strings.TrimSpace(line), "-*+0123456789.) ")
	if len(text) < 4 || text[0] != '[' || text[2:4] != "] " {
		return Box{}, false
	}
	mark := text[1]
	var note string
	b.Text, note = cutNote(text[4:])
	if i := strings.LastIndex(note, "messages:"); i >= 0 {
		b.Source = note[i:]
	}
	b.Status = "pending"
	switch {
	case mark == 'x' || mark == 'X':
		b.Status = "completed"
	case strings.HasPrefix(note, "in progress, "):
		b.Status = "in_progress"
	case strings.HasPrefix(note, "cancelled, "):
		b.Status = "cancelled"
	}
	return b, true
}

// cutNote splits a text at the brackets that end it, if they name a record.
func cutNote(text string) (before, note string) {
	i := strings.LastIndex(text, " (")
	if i < 0 || !strings.HasSuffix(text, ")") || !strings.Contains(text[i:], "messages:") {
		return text, ""
	}
	return text[:i], text[i+2 : len(text)-1]
}
