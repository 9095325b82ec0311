package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal gives a terminal's file, and what was written to it once it is closed.
func terminal(t *testing.T) (tty *os.File, said func() string) {
	t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&out, screen) // EIO when the other end is closed
	}()
	return tty, func() string {
		_ = tty.Close()
		<-done
		_ = screen.Close()
		return out.String()
	}
}

// Work that lasts shows how far it is, and nothing is left of it; what is named in it says nothing to the terminal.
func TestProgress(t *testing.T) {
	t.Setenv("TERM", "xterm")
	tty, said := terminal(t)
	p := newProgress(tty, "evil\x1b]0;gotcha\x07\n.jsonl", 10, false)
	p.set(5)
	time.Sleep(patience + 3*redraw)
	p.steps(15, 20)
	time.Sleep(3 * redraw)
	p.end()
	p.end()
	text := said()
	for _, want := range []string{`evil\x1b]0;gotcha\a\n.jsonl`, "50%", "5/10", "75%", "15/20"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	if regexp.MustCompile(`\x1b[^[]|\x07|\n`).MatchString(text) {
		t.Errorf("more than a line that is drawn again: %q", text)
	}
	if last := text[strings.LastIndexByte(strings.TrimRight(text, "\r"), '\r')+1:]; strings.Trim(strings.TrimPrefix(last, "\x1b[2K"), " \r") != "" {
		t.Errorf("left on the line: %q", last)
	}
}

// Nothing is shown of work that is quick, to a terminal that cannot, and to what is none.
func TestNoProgress(t *testing.T) {
	for _, c := range []struct {
		name, term string
		lasts      time.Duration
	}{
		{"quick", "xterm", patience / 5},
		{"dumb", "dumb", patience + 2*redraw},
	} {
		t.Setenv("TERM", c.term)
		tty, said := terminal(t)
		p := newProgress(tty, "work", 10, false)
		p.stepped()
		time.Sleep(c.lasts)
		p.end()
		if text := said(); text != "" {
			t.Errorf("%s: %q", c.name, text)
		}
	}
	var out bytes.Buffer
	p := newProgress(&out, "work", 10, true)
	data, err := io.ReadAll(p.follow(strings.NewReader("abc")))
	time.Sleep(patience + 2*redraw)
	p.end()
	if out.Len() > 0 || string(data) != "abc" || err != nil || p.done.Load() != 3 {
		t.Errorf("%q, %q, %v, %d", out.String(), data, err, p.done.Load())
	}
}
