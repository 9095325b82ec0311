package recall

import (
	"unicode"
	"unicode/utf8"
)

// maxTerm is the longest word, in bytes, that is indexed: longer ones are data, not words.
const maxTerm = 40

// scan calls yield with the hashes of the terms of text, in order. A word is a run of letters, digits and '_'. An identifier
// gives its parts, cut at case changes, digits and '_', and itself when it has more than one; parts are stemmed;
// function words give nothing. Scripts without spaces (Han, kana, Thai) give overlapping pairs of characters.
func (s *scanner) scan(text string) {
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

// scanner takes texts apart. It remembers the stems of words that it met, since most words come again.
type scanner struct {
	yield func(h uint64)
	buf   []byte
	known [knownStems]struct{ word, stem uint64 }
}

// knownStems is how many stems are remembered: 32 KiB for each index.
const knownStems = 2048

// pairs yields the two-character terms of a run in an unspaced script and gives the run's length.
func (s *scanner) pairs(text string) int {
	prev, at := -1, 0
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if !unspaced(r) {
			break
		}
		if prev >= 0 {
			s.yield(hash(text[prev : at+n]))
		} else if next, _ := utf8.DecodeRuneInString(text[at+n:]); !unspaced(next) {
			s.yield(hash(text[at : at+n]))
		}
		prev = at
		at += n
	}
	return at
}

// maxParts is how many parts an identifier may have: what changes class more often is a hash or a key, one term.
const maxParts = 6

// word yields the terms of one word.
func (s *scanner) word(w string) {
	if len(w) > maxTerm {
		return
	}
	parts := 0
	for i := 0; i < len(w); i += partLen(w[i:]) {
		if w[i] != '_' {
			parts++
		}
	}
	for i, n := 0, 0; i < len(w) && parts <= maxParts; i += n {
		if n = partLen(w[i:]); w[i] != '_' {
			s.part(w[i : i+n])
		}
	}
	if parts > 1 {
		s.yield(hash(s.lower(w)))
	}
}

// part yields one part of a word, lower-case and stemmed.
func (s *scanner) part(p string) {
	b := s.lower(p)
	if len(b) == 1 && (b[0] < '0' || b[0] > '9') {
		return
	}
	h := hash(b)
	k := &s.known[h%knownStems]
	if k.word != h {
		k.word, k.stem = h, stemHash(b, h)
	}
	if k.stem != 0 {
		s.yield(k.stem)
	}
}

// stemHash gives the hash of the stem of b, whose own hash is h; 0 for a function word.
func stemHash(b []byte, h uint64) uint64 {
	switch {
	case stopword(b):
		return 0
	case b[0] >= 'a' && b[0] <= 'z':
		return hash(stem(string(b)))
	}
	return h
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
