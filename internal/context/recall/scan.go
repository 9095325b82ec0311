package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTerm is the longest word, in bytes, that is indexed: longer ones are data, not words.
const maxTerm = 40

// kind sorts bytes. A part of a word ends where the kind changes, but for upper then lower ("Word").
type kind uint8

const (
	lower kind = 1 << iota
	upper
	digit
	underscore
	wide // part of a character that is not ASCII
)

// scanner takes texts apart. It remembers the stems of words that it met, since most words come again.
type scanner struct {
	kinds [256]kind
	known [knownStems]struct{ word, stem uint32 }
	stems *stemmer
	out   []uint32 // the terms of the last text
}

// knownStems is how many stems are remembered: 32 KiB for each index.
const (
	knownStems = 1 << knownBits
	knownBits  = 12
)

func newScanner() *scanner {
	s := &scanner{stems: newStemmer()}
	for c := range s.kinds {
		switch {
		case c >= utf8.RuneSelf:
			s.kinds[c] = wide
		case c >= 'a' && c <= 'z':
			s.kinds[c] = lower
		case c >= 'A' && c <= 'Z':
			s.kinds[c] = upper
		case c >= '0' && c <= '9':
			s.kinds[c] = digit
		case c == '_':
			s.kinds[c] = underscore
		}
	}
	return s
}

// scan gives the terms of text, in order, until the next call. A word is a run of letters, digits and '_'. An
// identifier gives its parts, cut at case changes, digits and '_', and itself when it has more than one; parts are
// stemmed; function words give nothing. Scripts without spaces (Han, kana, Thai) give overlapping pairs of characters.
func (s *scanner) scan(text string) []uint32 {
	s.out = s.out[:0]
	for i := 0; i < len(text); {
		first := s.kinds[text[i]]
		if first == 0 {
			i++
			continue
		}
		start, rest := i, kind(0)
		for i++; i < len(text); i++ {
			k := s.kinds[text[i]]
			if k == 0 {
				break
			}
			rest |= k
		}
		switch {
		case (first|rest)&wide != 0:
			i = start + s.wideRun(text[start:])
		case i-start > maxTerm, first|rest == underscore:
		case rest == first, rest == 0, first == upper && rest == lower:
			s.part(text, start, i)
		default:
			s.word(text[start:i], false)
		}
	}
	return s.out
}

// wideRun scans the word that text starts with, in which characters that are not ASCII may stand, or passes over what
// is no word, and gives its length.
func (s *scanner) wideRun(text string) int {
	r, n := utf8.DecodeRuneInString(text)
	switch {
	case r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r):
		return n
	case unspaced(r):
		return s.pairs(text)
	}
	n = s.wordLen(text)
	s.word(text[:n], true)
	return n
}

func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// wordLen is the length of the word that text starts with.
func (s *scanner) wordLen(text string) int {
	for i := 0; i < len(text); {
		switch s.kinds[text[i]] {
		case 0:
			return i
		case wide:
			r, n := utf8.DecodeRuneInString(text[i:])
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) || unspaced(r) {
				return i
			}
			i += n
		default:
			i++
		}
	}
	return len(text)
}

// pairs takes the two-character terms of a run in an unspaced script and gives the run's length.
func (s *scanner) pairs(text string) int {
	prev, at := -1, 0
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if !unspaced(r) {
			break
		}
		if prev >= 0 {
			s.out = append(s.out, key(hash(text, prev, at+n)))
		} else if next, _ := utf8.DecodeRuneInString(text[at+n:]); !unspaced(next) {
			s.out = append(s.out, key(hash(text, at, at+n)))
		}
		prev = at
		at += n
	}
	return at
}

// maxParts is how many parts an identifier may have: what changes kind more often is a hash or a key, one term.
const maxParts = 6

// word takes the terms of one word of any kinds.
func (s *scanner) word(w string, isWide bool) {
	if len(w) > maxTerm {
		return
	}
	parts := 0
	for i := 0; i < len(w); i += s.partLen(w[i:]) {
		if w[i] != '_' {
			parts++
		}
	}
	for i, n := 0, 0; i < len(w) && parts <= maxParts; i += n {
		if n = s.partLen(w[i:]); w[i] == '_' {
			continue
		}
		if isWide {
			p := lowered(w[i : i+n])
			s.part(p, 0, len(p))
		} else {
			s.part(w, i, i+n)
		}
	}
	if parts > 1 {
		w = lowered(w)
		s.out = append(s.out, key(hash(w, 0, len(w))))
	}
}

// partLen is the length of the part that w starts with: "HTTP" of "HTTPServer", "Server", "v", "2", "_".
func (s *scanner) partLen(w string) int {
	k := s.kindAt(w, 0)
	i := 1
	for i < len(w) && s.kindAt(w, i) == k {
		i++
	}
	if k != upper || i == len(w) || s.kindAt(w, i) != lower {
		return i
	}
	if i > 1 {
		return i - 1 // the last capital starts the next part
	}
	for i < len(w) && s.kindAt(w, i) == lower {
		i++
	}
	return i
}

// kindAt is the kind of w[i], where what is not ASCII goes with lower case.
func (s *scanner) kindAt(w string, i int) kind {
	if k := s.kinds[w[i]]; k != wide {
		return k
	}
	return lower
}

// part takes w[i:end], one part of a word, in lower case and stemmed.
func (s *scanner) part(w string, i, end int) {
	if end-i == 1 && s.kinds[w[i]] != digit {
		return
	}
	h := hash(w, i, end)
	if c := w[i]; c >= '0' && c <= '9' {
		s.out = append(s.out, key(h))
		return
	}
	k := &s.known[h%knownStems]
	if tag := uint32(h>>knownBits) | 1; k.word != tag {
		k.word, k.stem = tag, s.stemmed(w[i:end], h)
	}
	if k.stem != 0 {
		s.out = append(s.out, k.stem)
	}
}

// stemmed gives the key of the stem of w, whose hash is h; 0 for a function word.
func (s *scanner) stemmed(w string, h uint64) uint32 {
	if w[0] >= utf8.RuneSelf {
		return key(h)
	}
	b := s.stems.lower(w)
	if stopword(b) {
		return 0
	}
	b = s.stems.stem(b)
	return key(hash(b, 0, len(b)))
}

// lowered gives w in lower case, character by character.
func lowered(w string) string { return strings.Map(unicode.ToLower, w) }
