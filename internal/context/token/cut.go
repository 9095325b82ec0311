package token

import (
	"unicode/utf8"
	"unsafe"
)

// maxTry is the length in bytes of a piece in which each place is tried as a cut. No token is longer. In a longer
// piece, such as a line of dashes, only the ends of its tokens are, so a cut may leave a few bytes that would fit.
const maxTry = 128

// view gives the bytes of text, which are only to be read, without a copy.
func view(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// Prefix gives the length in bytes of the longest prefix of text, cut between characters, that counts at most max
// tokens, and its exact count. Beside a check of the UTF-8, it reads hardly more of text than the prefix.
func (e *Encoding) Prefix(text string, max int) (n, tokens int) {
	b, c := view(text), e.enter()
	defer c.leave()
	if !utf8.ValidString(text) {
		n, tokens = c.prefix(repair(b), max)
		return unrepaired(b, n), tokens
	}
	return c.prefix(b, max)
}

// Suffix gives the length in bytes of the longest suffix of text, cut between characters, that counts at most max
// tokens, and its exact count. Beside a check of the UTF-8, it reads a few times the suffix.
func (e *Encoding) Suffix(text string, max int) (n, tokens int) {
	b, c := view(text), e.enter()
	defer c.leave()
	if !utf8.ValidString(text) {
		fixed := repair(b)
		from, tokens := c.suffix(fixed, max)
		return len(b) - unrepaired(b, from), tokens
	}
	from, tokens := c.suffix(b, max)
	return len(b) - from, tokens
}

// unrepaired gives the place in b that is n in repair(b).
func unrepaired(b []byte, n int) (at int) {
	for n > 0 {
		r, size := utf8.DecodeRune(b[at:])
		at += size
		n -= utf8.RuneLen(r)
	}
	return at
}

// place is the start of a piece and the number of tokens before it.
type place struct{ at, tokens int }

// step goes to the next piece.
func (c call) step(b []byte, p place) place {
	end := c.next(c.classes, b, p.at)
	return place{end, p.tokens + c.piece(b, p.at, end)}
}

// back gives the start of the character before b[i].
func back(b []byte, i int) int {
	for i--; i > 0 && !utf8.RuneStart(b[i]); i-- {
	}
	return i
}

// forth gives the end of the character at b[i].
func forth(b []byte, i int) int {
	for i++; i < len(b) && !utf8.RuneStart(b[i]); i++ {
	}
	return i
}

// blankAt tells whether the character at b[i] is one of \s.
func (e *Encoding) blankAt(b []byte, i int) bool {
	k, _ := e.classes.at(b, i)
	return k&blank != 0
}
