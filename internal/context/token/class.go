package token

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// classText holds the runs of characters of one class: the first code point in hexadecimal and the class. It was
// asked of the regular-expression engine of the reference (npm tiktoken 1.0.22), character by character, because
// that engine knows letters that Go's Unicode tables do not yet.
//
//go:embed data/classes.txt
var classText string

// class says what the patterns of the encodings tell apart, one bit for each, so that a set is tested at once.
type class uint8

const (
	upper    class = 1 << iota // \p{Lu} \p{Lt}
	lower                      // \p{Ll}
	caseless                   // \p{Lm} \p{Lo}
	mark                       // \p{M}
	number                     // \p{N}
	space                      // \s without carriage return and line feed
	newline                    // carriage return and line feed
	other                      // the rest
)

const (
	letter = upper | lower | caseless
	blank  = space | newline
	symbol = other | mark // [^\s\p{L}\p{N}]
)

const (
	pageBits = 7
	pageSize = 1 << pageBits
)

// classes is a two-stage table: code point to class.
type classes struct {
	ascii [256]class // by byte; no class for a byte of a longer character
	index [(utf8.MaxRune + 1) / pageSize]uint16
	pages [][pageSize]class
}

func newClasses(text string) (*classes, error) {
	flat := make([]class, utf8.MaxRune+1)
	start, current := 0, other
	for line := range strings.Lines(text) {
		at, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		next, err := strconv.ParseUint(at, 16, 32)
		if err != nil || int(next) < start || next > utf8.MaxRune {
			return nil, fmt.Errorf("character classes: bad line %q", line)
		}
		fill(flat[start:next], current)
		start, current = int(next), classOf(name)
	}
	fill(flat[start:], current)
	return pack(flat), nil
}

func fill(flat []class, c class) {
	for i := range flat {
		flat[i] = c
	}
}

func classOf(name string) class {
	switch name {
	case "U":
		return upper
	case "l":
		return lower
	case "O":
		return caseless
	case "M":
		return mark
	case "N":
		return number
	case "s":
		return space
	case "n":
		return newline
	}
	return other
}

func pack(flat []class) *classes {
	c := new(classes)
	seen := make(map[[pageSize]class]uint16)
	for i := range c.index {
		page := [pageSize]class(flat[i*pageSize:])
		at, ok := seen[page]
		if !ok {
			at = uint16(len(c.pages))
			seen[page] = at
			c.pages = append(c.pages, page)
		}
		c.index[i] = at
	}
	copy(c.ascii[:utf8.RuneSelf], flat)
	return c
}

// at gives the class and the length in bytes of the character at b[i]; past the end, no class at all.
func (c *classes) at(b []byte, i int) (class, int) {
	if i >= len(b) {
		return 0, 0
	}
	if k := c.ascii[b[i]]; k != 0 {
		return k, 1
	}
	return c.wide(b, i)
}

// wide decodes a character of two to four bytes, which must be valid: utf8.DecodeRune checks again, and is slower.
func (c *classes) wide(b []byte, i int) (class, int) {
	r, n := uint32(b[i]), 2
	switch {
	case r < 0xE0:
		r = r&0x1F<<6 | uint32(b[i+1]&0x3F)
	case r < 0xF0:
		r = r&0x0F<<12 | uint32(b[i+1]&0x3F)<<6 | uint32(b[i+2]&0x3F)
		n = 3
	default:
		r = r&0x07<<18 | uint32(b[i+1]&0x3F)<<12 | uint32(b[i+2]&0x3F)<<6 | uint32(b[i+3]&0x3F)
		n = 4
	}
	return c.pages[c.index[r>>pageBits]][r%pageSize], n
}

// run gives the end of the longest run of characters of set that starts at b[i].
func (c *classes) run(b []byte, i int, set class) int {
	for i < len(b) {
		k, n := c.ascii[b[i]], 1
		if k == 0 {
			k, n = c.wide(b, i)
		}
		if k&set == 0 {
			break
		}
		i += n
	}
	return i
}
