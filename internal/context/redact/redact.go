// Package redact finds secrets in text and masks them: by the rules of gitleaks (MIT, data/LICENSE.gitleaks), by a few
// more for what agents' logs hold, and by a session's own rules (the file context/redact). It is pure: the same text
// and rules give the same bytes.
//
// Semantics are those of gitleaks' package detect for a text without a path, but: a comment gitleaks:allow allows
// nothing, for it would let a secret through; a keyword is found by ASCII letters; the line that an allowlist looks at
// is the line of the match, also in the last one; of a rule without a longest match at most 64 KiB are looked at; and a
// token that looks like nothing else may end in more ways. JSON is looked at twice, the second time without its escapes.
package redact

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
)

// rulesFile is made by the program in gen.
//
//go:embed data/gitleaks.json
var rulesFile []byte

// Finding is one secret.
type Finding struct {
	Rule       string // the rule's name
	Start, End int    // bytes of the text, End exclusive

	quote bool // stands in JSON without quotes: a number
}

// Rules finds secrets. It is safe for use by several goroutines. A rule's regexps are compiled when its keyword is first
// seen.
type Rules struct {
	keywords *words
	byWord   [][]*rule // by keyword
	rules    []*rule
	own      []*rule // of a session: each is tried on the whole text
	allow    []*allowlist
	names    map[string]bool
}

// file is the embedded file.
type file struct {
	Allow []*allowlist
	Rules []*rule
}

// Default is the rules that every session has. It takes some milliseconds: keep what it gives. An error means that the
// embedded file is not what the program in gen writes.
func Default() (*Rules, error) {
	r, err := library()
	if err != nil {
		return nil, err
	}
	loosen(r.rules)
	r.rules = append(r.rules, more()...)
	return r, r.index()
}

// library is the rules of gitleaks alone.
func library() (*Rules, error) {
	var f file
	if err := json.Unmarshal(rulesFile, &f); err != nil {
		return nil, fmt.Errorf("redact: rules: %w", err)
	}
	r := &Rules{rules: f.Rules, allow: f.Allow}
	return r, r.index()
}

// index makes what is looked up by keyword and by name.
func (r *Rules) index() error {
	r.names = map[string]bool{}
	var list []string
	number := map[string]int{}
	r.byWord = nil
	for i, rule := range r.rules {
		if rule.ID == "" || rule.Regex == "" || r.names[rule.ID] {
			return fmt.Errorf("redact: rule %d %q: incomplete, or there already", i, rule.ID)
		}
		rule.number = i
		r.names[rule.ID] = true
		for _, k := range rule.Keywords {
			n, ok := number[k]
			if !ok {
				n = len(list)
				number[k] = n
				list = append(list, k)
				r.byWord = append(r.byWord, nil)
			}
			r.byWord[n] = append(r.byWord[n], rule)
		}
	}
	r.keywords = newWords(list)
	return nil
}

// With is these rules and a session's own ones; r itself stays as it is.
func (r *Rules) With(own []Own) *Rules {
	out := *r
	out.names = make(map[string]bool, len(r.names)+len(own))
	for name := range r.names {
		out.names[name] = true
	}
	out.own = slices.Clone(r.own)
	for _, o := range own {
		out.names[o.Name] = true
		out.own = append(out.own, &rule{ID: o.Name, Regex: o.Regexp, literals: o.forms(), number: len(r.rules) + len(out.own)})
	}
	return &out
}

// Find gives the secrets of a text in their order, not overlapping. Where several rules found the same bytes, they are
// one finding, by the name of the rule that says most. What Mask has put in is no secret.
func (r *Rules) Find(text string) []Finding {
	return r.find(text, secretOnly)
}
