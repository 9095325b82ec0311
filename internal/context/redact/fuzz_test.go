package redact

import (
	"strings"
	"testing"
)

func FuzzMask(f *testing.F) {
	f.Add("", "a key = b", false)
	f.Add("x a.b\ny literal:q\"", `{"a": "axb q\" 12", "b": [1234, null]}`, true)
	f.Add(`n \d+`, "[1, 2.5e7, \"[redacted:n]\"]\n{}", false)
	f.Add(`n [\s\S]{3}`, `"[redacted:n]ab"`, true)
	f.Add(`n \W+`, "[redacted:stripe-access-token] curl -u a:bcd123 -u [redacted:n]", true)
	base, err := Default()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, own, text string, wide bool) {
		list, err := ParseOwn([]byte(own))
		if err != nil || len(text) > 1<<12 {
			return
		}
		if wide {
			text = text + strings.Repeat(" key ", 20) + text
		}
		r := base.With(list)
		got, found := r.Mask(text)
		if err := check(r, text, got, found); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func FuzzParseOwn(f *testing.F) {
	f.Add("# c\na b\nc literal:d\n")
	f.Add("a (x|y)+\nb (?i)[^a-z]{3,}$")
	f.Fuzz(func(t *testing.T, text string) {
		own, err := ParseOwn([]byte(text))
		if err != nil {
			return
		}
		var again strings.Builder
		for _, o := range own {
			r := rule{ID: o.Name, Regex: o.Regexp}
			if o.Literal == "" && (!r.ready() || r.re.MatchString("")) {
				t.Errorf("%q: a rule that does not compile, or matches nothing", text)
			}
			again.WriteString(o.Name + " " + o.Regexp)
			if o.Literal != "" {
				again.WriteString(literalMark + o.Literal)
			}
			again.WriteString("\n")
		}
		if twice, err := ParseOwn([]byte(again.String())); err != nil || len(twice) != len(own) {
			t.Errorf("%q: written out it is %q: %v", text, again.String(), err)
		}
	})
}
