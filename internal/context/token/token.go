// Package token counts the tokens of a text exactly as the byte-pair encodings o200k_base, cl100k_base,
// p50k_base and r50k_base do (github.com/openai/tiktoken, encode_ordinary). The vocabularies are inside the
// binary. Counts are not additive: two texts joined can count less or more than their sum.
package token

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:generate go run ./gen

// Default is the encoding that a mount uses when none is named.
const Default = "o200k_base"

// Counter counts tokens. It is pure and safe for concurrent use.
type Counter interface {
	Name() string
	Count(text string) int
}

// Encoding is a Counter for one byte-pair encoding. The text of a special token, as "<|endoftext|>", counts as
// plain text, and each byte that is not part of valid UTF-8 counts as U+FFFD, as in a Go conversion to []rune.
// Time is n log n at worst, and a text may have no single run (of letters, of blanks, ...) of 2 GiB.
type Encoding struct {
	name    string
	next    splitter
	classes *classes
	ranks   *ranks
	rooms   sync.Pool // of *room
}

// Names lists what New knows, the default first.
func Names() []string {
	return []string{"o200k_base", "cl100k_base", "p50k_base", "r50k_base"}
}

// New unpacks the named vocabulary, which takes tens of milliseconds; keep the Encoding. An unknown name is an
// error that lists Names.
func New(name string) (*Encoding, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("unknown encoding %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	ranks, err := unpack(name)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", name, err)
	}
	classes, err := newClasses(classText)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", name, err)
	}
	return &Encoding{name: name, next: splitterOf(name), classes: classes, ranks: ranks}, nil
}

// Name gives the name that New was given.
func (e *Encoding) Name() string { return e.name }

// Count gives the number of tokens of text.
func (e *Encoding) Count(text string) int {
	return e.CountBytes(view(text))
}

// CountBytes gives the number of tokens of b, as Count does of string(b).
func (e *Encoding) CountBytes(b []byte) int {
	if !utf8.Valid(b) {
		b = repair(b)
	}
	c := e.enter()
	defer c.leave()
	return c.count(b)
}

// repair replaces each byte that is not part of valid UTF-8 by U+FFFD.
func repair(b []byte) []byte {
	fixed := make([]byte, 0, len(b)+len(b)/2)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		fixed = utf8.AppendRune(fixed, r)
		b = b[n:]
	}
	return fixed
}
