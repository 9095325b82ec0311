package redact

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// slow finds what scanText finds, without windows and gates: each rule whose keyword occurs runs over the whole text, as
// in gitleaks.
func slow(r *Rules, text string) []hit {
	s := &scan{rules: r, text: text}
	lower := strings.ToLower(text)
	for _, rule := range r.rules {
		if slices.ContainsFunc(rule.Keywords, func(k string) bool { return strings.Contains(lower, k) }) && rule.ready() {
			s.keep(rule, rule.re.FindAllStringIndex(text, -1), 0)
		}
	}
	return s.hits
}

func hitNames(text string, hits []hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, fmt.Sprint(h.rule.ID, " ", h.start, " ", h.end, " ", h.from, " ", h.until))
	}
	slices.Sort(out)
	return out
}

// Windows around keywords find what whole texts do, also in long texts that have everything near everything.
func TestWindowsMissNothing(t *testing.T) {
	r, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	all := readGolden(t)
	rng := rand.New(rand.NewPCG(1, 2))
	rounds := 120
	if testing.Short() {
		rounds = 12
	}
	for range rounds {
		var text strings.Builder
		for range rng.IntN(30) {
			text.WriteString(all[rng.IntN(len(all))].Text)
			text.WriteString([]string{"", " ", "\n", "é", "日本", "key", "\" , \"", strings.Repeat("word ", rng.IntN(200))}[rng.IntN(8)])
		}
		s := text.String()
		if got, want := hitNames(s, r.scanText(s)), hitNames(s, slow(r, s)); !slices.Equal(got, want) {
			t.Errorf("in %q\nfound %q\nwant  %q", s, got, want)
		}
	}
}

// Each rule compiles, and its keyword leads to all of its matches: else windows would be wrong, or nothing be found.
func TestShapes(t *testing.T) {
	r, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	gated, anywhere := 0, []string{}
	for _, rule := range r.rules {
		if !rule.ready() {
			t.Errorf("%s does not compile", rule.ID)
		}
		for _, a := range rule.Allow {
			if a.ready(); len(a.Regexes) > 0 && a.re == nil {
				t.Errorf("%s: its allowlist does not compile", rule.ID)
			}
		}
		switch {
		case rule.tail != nil:
			gated++
		case rule.anywhere:
			anywhere = append(anywhere, rule.ID)
		}
	}
	t.Logf("%d rules, %d begin with their keyword, anywhere in the text: %v", len(r.rules), gated, anywhere)
	if gated < 195 || len(anywhere) > 8 {
		t.Error("windows are seldom used")
	}
}
