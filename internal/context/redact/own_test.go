package redact

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseOwn(t *testing.T) {
	text := "# names of customers\n\n  acme   literal:Acme & Sons \ncase-no\tCASE-[0-9]+\r\nhash x#y\n"
	got, err := ParseOwn([]byte(text))
	want := []Own{{Name: "acme", Literal: "Acme & Sons"}, {Name: "case-no", Regexp: "CASE-[0-9]+"}, {Name: "hash", Regexp: "x#y"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v %v", got, err)
	}
}

func TestParseOwnRefuses(t *testing.T) {
	many := ""
	for i := range MaxOwn + 1 {
		many += fmt.Sprintf("r%d x\n", i)
	}
	for _, tt := range []struct{ text, err string }{
		{"a", "line 1: not NAME"},
		{"# c\n\nA x", "line 3: bad name"},
		{"-a x", "line 1: bad name"},
		{strings.Repeat("a", MaxOwnName+1) + " x", "line 1: bad name"},
		{"a literal:", "line 1: a: an empty text"},
		{"a x*", "line 1: matches the empty text"},
		{`a \b`, "line 1: matches the empty text"},
		{"a (x|)", "line 1: matches the empty text"},
		{"a (?=x)", "line 1: error parsing regexp"},
		{"a (", "line 1: error parsing regexp"},
		{"a x\nb y\na z", "line 3: the name a stands twice"},
		{"a " + strings.Repeat("x", MaxOwnBytes), "line 1: longer than"},
		{"a x{1000}y{1000}z{1000}x{1000}y{1000}", "line 1: has more than"},
		{"a x{1000}y{1000}\nb x{1000}y{1000}\nc x{1000}", "line 3: the regexps together"},
		{many, "line 101: more than 100 rules"},
		{"a \xff", "not UTF-8"},
	} {
		if own, err := ParseOwn([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%.40q: %v %v, want %s", tt.text, own, err, tt.err)
		}
	}
}

// With leaves the rules that it began with as they are.
func TestWith(t *testing.T) {
	r := rules(t, "")
	with := r.With([]Own{{Name: "x", Literal: "blue"}})
	if len(r.Find("blue")) != 0 || len(with.Find("blue")) != 1 || len(with.With(nil).Find("blue")) != 1 {
		t.Error("With changed what it should not")
	}
}
