package recall

// stemmer gives Porter2 stems of lower-case English words (snowballstem.org, "English (Porter2)"). Words of other
// languages come out a little shorter or as they are, the same for text and query, which is all that matching needs.
type stemmer struct {
	b      []byte // the word on its way
	r1, r2 int    // where regions R1 and R2 start
	room   [2 * maxTerm]byte
	// The rules of three steps.
	two, three, four []rule
}

func newStemmer() *stemmer { return &stemmer{two: rules2(), three: rules3(), four: rules4()} }

// lower gives w, ASCII letters in lower case, in a buffer that the next call overwrites.
func (s *stemmer) lower(w string) []byte {
	b := append(s.room[:0], w...)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}

// stem gives the stem of w, which it overwrites.
func (s *stemmer) stem(w []byte) []byte {
	if len(w) <= 2 {
		return w
	}
	if s, ok := irregular(w); ok {
		return s
	}
	s.b = w
	hasY := markY(w)
	s.regions()
	s.step1a()
	if !settled(s.b) {
		s.step1b()
		s.step1c()
		s.step2()
		s.step3()
		s.step4()
		s.step5()
	}
	if hasY {
		unmarkY(s.b)
	}
	return s.b
}

func irregular(w []byte) ([]byte, bool) {
	switch string(w) {
	case "skis":
		return w[:3], true
	case "skies":
		return append(w[:2], 'y'), true
	case "dying", "lying", "tying":
		return append(w[:1], "ie"...), true
	case "idly", "gently", "singly":
		return w[:len(w)-1], true
	case "ugly", "early", "only":
		return append(w[:len(w)-1], 'i'), true
	case "sky", "news", "howe", "atlas", "cosmos", "bias", "andes":
		return w, true
	}
	return nil, false
}

// settled lists the words that are done after step 1a.
func settled(w []byte) bool {
	switch string(w) {
	case "inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed":
		return true
	}
	return false
}

// markY writes a y that is a consonant as Y, and tells whether there was one.
func markY(b []byte) (marked bool) {
	for i := range b {
		if b[i] == 'y' && (i == 0 || vowel(b[i-1])) {
			b[i] = 'Y'
			marked = true
		}
	}
	return marked
}

func unmarkY(b []byte) {
	for i := range b {
		if b[i] == 'Y' {
			b[i] = 'y'
		}
	}
}

func vowel(c byte) bool {
	const vowels = 1<<('a'&31) | 1<<('e'&31) | 1<<('i'&31) | 1<<('o'&31) | 1<<('u'&31) | 1<<('y'&31)
	return c >= 'a' && c <= 'z' && vowels>>(c&31)&1 != 0
}

func (s *stemmer) regions() {
	s.r1 = -1
	for _, p := range [...]string{"gener", "commun", "arsen"} {
		if len(s.b) >= len(p) && string(s.b[:len(p)]) == p {
			s.r1 = len(p)
		}
	}
	if s.r1 < 0 {
		s.r1 = s.after(0)
	}
	s.r2 = s.after(s.r1)
}

// after gives the place behind the first consonant that follows a vowel, from i on.
func (s *stemmer) after(i int) int {
	for i++; i < len(s.b); i++ {
		if !vowel(s.b[i]) && vowel(s.b[i-1]) {
			return i + 1
		}
	}
	return len(s.b)
}

func (s *stemmer) has(suffix string) bool {
	n := len(s.b) - len(suffix)
	return n >= 0 && string(s.b[n:]) == suffix
}

// end gives the last two letters as a number, 0 for a shorter word.
func (s *stemmer) end() uint16 {
	if n := len(s.b); n >= 2 {
		return pair(s.b[n-2], s.b[n-1])
	}
	return 0
}

func pair(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

// cut replaces the last n bytes by to.
func (s *stemmer) cut(n int, to string) { s.b = append(s.b[:len(s.b)-n], to...) }

// in tells whether a suffix of n bytes lies in the region that starts at r.
func (s *stemmer) in(r, n int) bool { return len(s.b)-n >= r }

// vowelIn tells whether the first n bytes hold a vowel.
func (s *stemmer) vowelIn(n int) bool {
	for i := 0; i < n; i++ {
		if vowel(s.b[i]) {
			return true
		}
	}
	return false
}

// shortEnd tells whether the first n bytes end in a short syllable.
func (s *stemmer) shortEnd(n int) bool {
	if n == 2 {
		return vowel(s.b[0]) && !vowel(s.b[1])
	}
	if n < 3 {
		return false
	}
	a, v, z := s.b[n-3], s.b[n-2], s.b[n-1]
	return !vowel(a) && vowel(v) && !vowel(z) && z != 'w' && z != 'x' && z != 'Y'
}
