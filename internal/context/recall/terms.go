package recall

import (
	"unicode"
	"unicode/utf8"
)

// maxTerm is the longest word, in bytes, that is indexed: longer ones are data, not words.
const maxTerm = 40

// eachTerm calls yield with the terms of text, in order. A word is a run of letters, digits and '_'. An identifier
// gives its parts, cut at case changes, digits and '_', and itself when it has more than one; parts are stemmed;
// function words give nothing. Scripts without spaces (Han, kana, Thai) give overlapping pairs of characters.
func eachTerm(text string, yield func(string)) {
	s := scanner{yield: yield}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if !asciiWord(c) {
				i++
				continue
			}
		} else if r, n := utf8.DecodeRuneInString(text[i:]); !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			i += n
			continue
		} else if unspaced(r) {
			i += s.pairs(text[i:])
			continue
		}
		n := wordLen(text[i:])
		s.word(text[i : i+n])
		i += n
	}
}

func asciiWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// wordLen is the length of the word that text starts with.
func wordLen(text string) int {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if !asciiWord(c) {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) || unspaced(r) {
			return i
		}
		i += n
	}
	return len(text)
}

type scanner struct {
	yield func(string)
	buf   []byte
}

// pairs yields the two-character terms of a run in an unspaced script and gives the run's length.
func (s *scanner) pairs(text string) int {
	prev, at := -1, 0
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if !unspaced(r) {
			break
		}
		if prev >= 0 {
			s.yield(text[prev : at+n])
		} else if next, _ := utf8.DecodeRuneInString(text[at+n:]); !unspaced(next) {
			s.yield(text[at : at+n])
		}
		prev = at
		at += n
	}
	return at
}

// word yields the terms of one word.
func (s *scanner) word(w string) {
	if len(w) > maxTerm {
		return
	}
	parts := 0
	for i := 0; i < len(w); {
		n := partLen(w[i:])
		if w[i] != '_' {
			parts++
			if n < len(w) {
				s.part(w[i : i+n])
			}
		}
		i += n
	}
	if parts == 1 && partLen(w) == len(w) {
		s.part(w)
	} else if parts > 1 {
		s.yield(string(s.lower(w)))
	}
}

// part yields one part of a word, lower-case and stemmed.
func (s *scanner) part(p string) {
	b := s.lower(p)
	if len(b) < 2 && b[0] < '0' || len(b) == 1 && b[0] > '9' || stopword(b) {
		return
	}
	if b[0] >= 'a' && b[0] <= 'z' {
		s.yield(stem(string(b)))
		return
	}
	s.yield(string(b))
}

// lower gives p in lower case, in a buffer that the next call overwrites.
func (s *scanner) lower(p string) []byte {
	s.buf = s.buf[:0]
	for i := 0; i < len(p); i++ {
		if p[i] >= utf8.RuneSelf {
			return s.lowerWide(p)
		}
		c := p[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		s.buf = append(s.buf, c)
	}
	return s.buf
}

func (s *scanner) lowerWide(p string) []byte {
	s.buf = s.buf[:0]
	for _, r := range p {
		s.buf = utf8.AppendRune(s.buf, unicode.ToLower(r))
	}
	return s.buf
}

// class sorts the bytes of a word: parts end where the class changes, but for Upper then lower ("Word").
func class(c byte) int {
	switch {
	case c == '_':
		return 0
	case c >= '0' && c <= '9':
		return 1
	case c >= 'A' && c <= 'Z':
		return 2
	}
	return 3 // lower case, and all that is not ASCII
}

// partLen is the length of the part that w starts with: "HTTP" of "HTTPServer", "Server", "v", "2", "_".
func partLen(w string) int {
	k := class(w[0])
	i := 1
	for i < len(w) && class(w[i]) == k {
		i++
	}
	if k != 2 || i == len(w) || class(w[i]) != 3 {
		return i
	}
	if i > 1 {
		return i - 1 // the last capital starts the next part
	}
	for i < len(w) && class(w[i]) == 3 {
		i++
	}
	return i
}
