package bundle

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a bundle: where, what, and what to do about it.
type Problem struct {
	File  string `json:"file"`
	Line  int    `json:"line,omitempty"`  // from 1; 0 where Entry or the file alone says where
	Entry string `json:"entry,omitempty"` // the id, or entries[N] when it has none
	Text  string `json:"problem"`
	Next  string `json:"next"` // the next step
}

// String is the problem on one line.
func (p Problem) String() string {
	where := p.File
	if p.Line > 0 {
		where += fmt.Sprintf(", line %d", p.Line)
	}
	if p.Entry != "" {
		where += fmt.Sprintf(", entry %q", p.Entry)
	}
	return where + ": " + p.Text + "; " + p.Next
}

// Problems are all that was found in a bundle, as an error.
type Problems []Problem

// Error lists the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

// finder collects problems, a bounded number of them.
type finder struct {
	found Problems
	full  bool
	rows  []int // the line of the file that each line of the log stands in
}

// tell notes a problem at a place; text is what is wrong, next the way out.
func (f *finder) tell(at Problem, text, next string) {
	switch {
	case len(f.found) < maxFound:
		at.Text, at.Next = text, next
		f.found = append(f.found, at)
	case !f.full:
		f.full = true
		f.found = append(f.found, Problem{File: at.File, Text: "there are more problems", Next: "mend those above and validate again"})
	}
}

// short quotes a value for a message.
func short(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
