package redact

import (
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// rule is one rule, of the embedded file or a session's own.
type rule struct {
	ID       string
	Regex    string
	Entropy  float64 // a secret has more, in bits a character
	Group    int     // the group that is the secret; 0: the first that is not empty
	Keywords []string
	Allow    []*allowlist

	number   int
	literals []string // an own rule without a regexp
	once     sync.Once
	re       *regexp.Regexp
	shape
}

// shape says where a match can be, given where a keyword is. Lengths are in bytes and leave room for the character that
// a condition at an end looks at.
type shape struct {
	before, after int            // what a match can reach from the keyword's begin
	anywhere      bool           // a match need not have the keyword in it
	gate          []set          // what stands from the keyword on; only of a rule whose matches begin with it
	assigns       bool           // after the keyword comes an operator
	tail          *regexp.Regexp // a match from the keyword on
	named         bool           // all before the keyword is anyName
	near          *words         // of another rule: one of these stands in the match
}

const room = utf8.UTFMax

// ready compiles the rule at its first use. A pattern that does not compile finds nothing: tests compile them all.
func (r *rule) ready() bool {
	r.once.Do(func() {
		re, err := regexp.Compile(r.Regex)
		if err != nil {
			return
		}
		tree, err := syntax.Parse(r.Regex, syntax.Perl)
		if err != nil {
			return
		}
		r.shape = r.shapeOf(tree)
		r.re = re
	})
	return r.re != nil
}

func (r *rule) shapeOf(tree *syntax.Regexp) shape {
	tail, head := strip(tree)
	if beginsWith(tail, r.Keywords) {
		s := shape{before: head + room, after: longest(tail) + room, gate: newGate(tail), assigns: assigns(r.Regex)}
		s.named = tree.Op == syntax.OpConcat && strings.HasPrefix(r.Regex, anyName+"(?:") && apart(r.Keywords)
		s.tail, _ = regexp.Compile(`\A(?:` + tail.String() + `)`)
		return s
	}
	s := shape{anywhere: true}
	if n := longest(tree); n < unbounded && contains(tree, r.Keywords) {
		s = shape{before: n + room, after: n + room}
	}
	if list, _ := leads(tail); all(list, func(s string) bool { return len(s) > 2 }) {
		s.near = newWords(list)
	}
	return s
}

// apart tells whether no word has another in it: then they end in the order in which they begin.
func apart(words []string) bool {
	for i, a := range words {
		for j, b := range words {
			if i != j && strings.Contains(a, b) {
				return false
			}
		}
	}
	return true
}

// allowlist says what is no secret although a rule matches.
type allowlist struct {
	Target    string // of Regexes: "match", "line", or "" for the secret
	Regexes   []string
	Stopwords []string

	once sync.Once
	re   *regexp.Regexp
	stop *words
}

func (a *allowlist) ready() {
	a.once.Do(func() {
		if len(a.Regexes) > 0 {
			a.re, _ = regexp.Compile("(?:" + strings.Join(a.Regexes, "|") + ")")
		}
		if len(a.Stopwords) > 0 {
			a.stop = newWords(a.Stopwords)
		}
	})
}

// entropy is Shannon's, in bits a byte, as gitleaks counts it.
func entropy(s string) float64 {
	sorted := []rune(s)
	slices.Sort(sorted) // sums of floats depend on their order
	var bits float64
	for i := 0; i < len(sorted); {
		n := 1
		for i+n < len(sorted) && sorted[i+n] == sorted[i] {
			n++
		}
		freq := float64(n) / float64(len(s))
		bits -= freq * math.Log2(freq)
		i += n
	}
	return bits
}
