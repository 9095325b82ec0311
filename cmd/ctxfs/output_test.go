package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
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

// On a terminal JSON has nothing that a terminal obeys, and says the same.
func TestPrintableJSON(t *testing.T) {
	const text = "plain ✓ 日本 \x1b]0;x\a \u009b2J \x7f \u202e \u2066 \u061c <&>\n\ttab \\u009b"
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	defer tty.Close()
	for _, indent := range []string{"", "  "} {
		done := make(chan error, 1)
		go func() { done <- encodeJSON(tty, map[string]string{text: text}, indent) }()
		var got map[string]string
		var seen strings.Builder
		if err := json.NewDecoder(io.TeeReader(keys, &seen)).Decode(&got); err != nil || len(got) != 1 || got[text] != text {
			t.Errorf("%v: %q", err, got)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if strings.ContainsFunc(strings.ReplaceAll(seen.String(), "\r\n", "\n"), unsafeRune) || !strings.Contains(seen.String(), `\u009b2J \u007f \u202e \u2066 \u061c <&>`) {
			t.Errorf("%q", seen.String())
		}
		var plain strings.Builder
		if err := encodeJSON(&plain, text, indent); err != nil || !strings.Contains(plain.String(), "\u009b2J \x7f \u202e") {
			t.Errorf("to a file: %q, %v", plain.String(), err)
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
