package compile

import (
	"fmt"
	"strings"
)

// Problem is what is wrong with a file that an agent or a person wrote: where, and what to do about it.
type Problem struct {
	File  string // relative to the session
	Line  int    // from 1; 0: the file as a whole
	Field string // "" is the line
	Text  string // what is wrong, and the next step
}

func (p *Problem) Error() string {
	at := p.File
	if p.Line > 0 {
		at += fmt.Sprintf(": line %d", p.Line)
	}
	if p.Field != "" {
		at += ": " + p.Field
	}
	return at + ": " + p.Text
}

// The bounds of the authored files.
const (
	MaxFile  = 1 << 20 // bytes of one file
	MaxLines = 1000    // entries of one file
	MaxText  = 4 << 10 // bytes of a text
	MaxName  = 256     // bytes of an id, a name, a reference
	MaxList  = 256     // elements of a list
)

func oneOf(words []string) string { return "use one of " + strings.Join(words, ", ") }
