package recall

// The steps of Porter2, in its own numbering.

func (s *stemmer) step1a() {
	n := len(s.b)
	switch {
	case s.has("sses"):
		s.cut(2, "")
	case s.has("ied"), s.has("ies"):
		if n > 4 {
			s.cut(2, "")
		} else {
			s.cut(1, "")
		}
	case s.has("us"), s.has("ss"):
	case s.has("s") && s.vowelIn(n-2):
		s.cut(1, "")
	}
}

func (s *stemmer) step1b() {
	suf := ""
	switch {
	case s.has("eedly"), s.has("eed"):
		n := 3
		if s.b[len(s.b)-1] == 'y' {
			n = 5
		}
		if s.in(s.r1, n) {
			s.cut(n, "ee")
		}
		return
	case s.has("ingly"):
		suf = "ingly"
	case s.has("edly"):
		suf = "edly"
	case s.has("ing"):
		suf = "ing"
	case s.has("ed"):
		suf = "ed"
	default:
		return
	}
	if s.vowelIn(len(s.b) - len(suf)) {
		s.cut(len(suf), "")
		s.mend()
	}
}

// mend puts back what step 1b's deletion left incomplete.
func (s *stemmer) mend() {
	n := len(s.b)
	switch {
	case s.has("at"), s.has("bl"), s.has("iz"):
		s.cut(0, "e")
	case n >= 2 && s.b[n-1] == s.b[n-2] && doubles(s.b[n-1]):
		s.cut(1, "")
	case s.r1 >= n && s.shortEnd(n):
		s.cut(0, "e")
	}
}

func doubles(c byte) bool {
	switch c {
	case 'b', 'd', 'f', 'g', 'm', 'n', 'p', 'r', 't':
		return true
	}
	return false
}

func (s *stemmer) step1c() {
	n := len(s.b)
	if n > 2 && (s.b[n-1] == 'y' || s.b[n-1] == 'Y') && !vowel(s.b[n-2]) {
		s.b[n-1] = 'i'
	}
}

// rule is a suffix and what takes its place. In each table a suffix stands before those that it ends in.
type rule struct{ from, to string }

// longest applies the first rule whose suffix the word has, when that suffix lies in the region from r.
func (s *stemmer) longest(r int, rules []rule) {
	for _, x := range rules {
		if s.has(x.from) {
			if s.in(r, len(x.from)) && s.allowed(x) {
				s.cut(len(x.from), x.to)
			}
			return
		}
	}
}

// allowed checks the rules that look at the letter before the suffix.
func (s *stemmer) allowed(x rule) bool {
	n := len(s.b) - len(x.from)
	if n == 0 {
		return false
	}
	before := s.b[n-1]
	switch x.from {
	case "ogi":
		return before == 'l'
	case "li":
		switch before {
		case 'c', 'd', 'e', 'g', 'h', 'k', 'm', 'n', 'r', 't':
			return true
		}
		return false
	case "ion":
		return before == 's' || before == 't'
	case "ative":
		return s.in(s.r2, len(x.from))
	}
	return true
}

// Steps 2, 3 and 4 look at the last two letters first: most words end in none of their suffixes.

func (s *stemmer) step2() {
	switch s.end() {
	case pair('o', 'n'), pair('a', 'l'), pair('s', 's'), pair('t', 'i'), pair('l', 'i'), pair('c', 'i'), pair('s', 'm'), pair('e', 'r'),
		pair('o', 'r'), pair('g', 'i'):
		s.longest(s.r1, s.two)
	}
}

func (s *stemmer) step3() {
	switch s.end() {
	case pair('a', 'l'), pair('z', 'e'), pair('t', 'e'), pair('t', 'i'), pair('v', 'e'), pair('s', 's'), pair('u', 'l'):
		s.longest(s.r1, s.three)
	}
}

func (s *stemmer) step4() {
	switch s.end() {
	case pair('n', 't'), pair('c', 'e'), pair('l', 'e'), pair('s', 'm'), pair('t', 'e'), pair('t', 'i'), pair('u', 's'), pair('v', 'e'),
		pair('z', 'e'), pair('o', 'n'), pair('a', 'l'), pair('e', 'r'), pair('i', 'c'):
		s.longest(s.r2, s.four)
	}
}

func rules2() []rule {
	return []rule{{"ization", "ize"}, {"ational", "ate"}, {"fulness", "ful"}, {"ousness", "ous"}, {"iveness", "ive"},
		{"tional", "tion"}, {"biliti", "ble"}, {"lessli", "less"}, {"entli", "ent"}, {"ation", "ate"}, {"alism", "al"},
		{"aliti", "al"}, {"ousli", "ous"}, {"iviti", "ive"}, {"fulli", "ful"}, {"enci", "ence"}, {"anci", "ance"},
		{"abli", "able"}, {"izer", "ize"}, {"ator", "ate"}, {"alli", "al"}, {"bli", "ble"}, {"ogi", "og"}, {"li", ""}}
}

func rules3() []rule {
	return []rule{{"ational", "ate"}, {"tional", "tion"}, {"alize", "al"}, {"icate", "ic"}, {"iciti", "ic"},
		{"ative", ""}, {"ical", "ic"}, {"ness", ""}, {"ful", ""}}
}

func rules4() []rule {
	return []rule{{"ement", ""}, {"ance", ""}, {"ence", ""}, {"able", ""}, {"ible", ""}, {"ment", ""}, {"ant", ""},
		{"ent", ""}, {"ism", ""}, {"ate", ""}, {"iti", ""}, {"ous", ""}, {"ive", ""}, {"ize", ""}, {"ion", ""}, {"al", ""},
		{"er", ""}, {"ic", ""}}
}

func (s *stemmer) step5() {
	n := len(s.b)
	switch {
	case s.has("e") && (s.in(s.r2, 1) || s.in(s.r1, 1) && !s.shortEnd(n-1)):
		s.cut(1, "")
	case s.has("l") && s.in(s.r2, 1) && n > 1 && s.b[n-2] == 'l':
		s.cut(1, "")
	}
}
