package main

import (
	"strings"
	"testing"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain ✓ 日本\n\ttab": "plain ✓ 日本\n\ttab",
		"\x1b]0;title\x07":  `\x1b]0;title\a`,
		"a\rb":              `a\rb`,
		"\u009b2J":          `\u009b2J`,
		"bad \xff byte":     "bad \ufffd byte",
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestShowHistory(t *testing.T) {
	log := `{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGVsbG8="}}]}
not a record
{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a dot"}]}
{"note":"no message at all"}
{"role":"user","content":"torn`
	for _, c := range []struct {
		name   string
		last   int
		asJSON bool
		want   string
	}{
		{"all", 0, false, "── 1  user\nlook\n[image/png, 5 bytes]\n── 2  unreadable: messages:2: not a JSON object\n── 3  assistant\n(thinking) hm\na dot\n" +
			"── 4  record\n{\"note\":\"no message at all\"}\n"},
		{"the last two", 2, false, "── 3  assistant\n(thinking) hm\na dot\n── 4  record\n{\"note\":\"no message at all\"}\n"},
		{"more than there are, as they are", 9, true, log[:strings.LastIndex(log, "\n")+1]},
	} {
		var out strings.Builder
		if err := (&history{w: &out, last: c.last, asJSON: c.asJSON}).show(strings.NewReader(log)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if out.String() != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, out.String(), c.want)
		}
	}
}
