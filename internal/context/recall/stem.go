package recall

import "strings"

// stem gives the Porter2 stem of a lower-case English word (snowballstem.org, "English (Porter2)"). Words of other
// languages come out a little shorter or as they are, the same for text and query, which is all that matching needs.
func stem(w string) string {
	if len(w) <= 2 {
		return w
	}
	if s, ok := irregular(w); ok {
		return s
	}
	s := stemmer{b: markY([]byte(w))}
	s.regions()
	s.step1a()
	if settled(string(s.b)) {
		return string(s.b)
	}
	s.step1b()
	s.step1c()
	s.step2()
	s.step3()
	s.step4()
	s.step5()
	return strings.ReplaceAll(string(s.b), "Y", "y")
}

// stemmer is a word on its way: its bytes, and where regions R1 and R2 start.
type stemmer struct {
	b      []byte
	r1, r2 int
}

func irregular(w string) (string, bool) {
	switch w {
	case "skis":
		return "ski", true
	case "skies":
		return "sky", true
	case "dying", "lying", "tying":
		return w[:1] + "ie", true
	case "idly", "gently", "singly":
		return w[:len(w)-1], true
	case "ugly", "early", "only":
		return w[:len(w)-1] + "i", true
	case "sky", "news", "howe", "atlas", "cosmos", "bias", "andes":
		return w, true
	}
	return "", false
}

// settled lists the words that are done after step 1a.
func settled(w string) bool {
	switch w {
	case "inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed":
		return true
	}
	return false
}

// markY writes a y that is a consonant as Y.
func markY(b []byte) []byte {
	for i := range b {
		if b[i] == 'y' && (i == 0 || vowel(b[i-1])) {
			b[i] = 'Y'
		}
	}
	return b
}

func vowel(c byte) bool {
	switch c {
	case 'a', 'e', 'i', 'o', 'u', 'y':
		return true
	}
	return false
}

func (s *stemmer) regions() {
	s.r1 = -1
	for _, p := range []string{"gener", "commun", "arsen"} {
		if strings.HasPrefix(string(s.b), p) {
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
