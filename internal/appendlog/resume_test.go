package appendlog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// noted is a journal that lists what it is told.
type noted struct{ list []string }

func (n *noted) Begin(at int64, bytes int) {
	n.list = append(n.list, fmt.Sprint("begin ", at, "+", bytes))
}
func (n *noted) End(written bool) { n.list = append(n.list, fmt.Sprint("end ", written)) }

// A write that a kill cut anywhere, made again by the next process, is in the log once, also when another writer has
// appended the same line in between.
func TestResume(t *testing.T) {
	const before, half, other = "{\"a\":1}\n", `{"half":`, "{\"b\":2}\n"
	write := `"line"}` + "\n{\"b\":2}\n{\"c\":3}\n{\"rest\""
	lines := half + `"line"}` + "\n{\"b\":2}\n{\"c\":3}\n"
	for cut := range len(lines) + 1 {
		stood := lines[:cut]
		if i := strings.LastIndexByte(stood, '\n'); i+1 < len(stood) {
			stood = stood[:i+1] // a torn end is cut off when the log is opened
		}
		l, k := newLog(t, before+stood)
		must(t, l.Commit([]byte(other)))
		w, j := l.NewWriter(), &noted{}
		w.SetJournal(j)
		w.Restore(Rest{Partial: []byte(half)})
		w.Resume(int64(len(stood)))
		must(t, w.Write([]byte(write)))
		want := before + stood + other + lines[len(stood):]
		if got := content(t, l); got != want {
			t.Errorf("cut at %d: %q", cut, got)
		}
		if r := w.Rest(); string(r.Partial) != `{"rest"` || r.Ended || r.Over || r.Line != 1 {
			t.Errorf("cut at %d: left is %+v", cut, r)
		}
		noted := fmt.Sprint([]string{fmt.Sprint("begin ", len(before+stood+other), "+", len(lines)-len(stood)), "end true"})
		if stood == lines {
			noted = "[]"
		}
		if fmt.Sprint(j.list) != noted {
			t.Errorf("cut at %d: the journal has %v, not %v", cut, j.list, noted)
		}
		must(t, w.Write([]byte(":1}\n"))) // and what comes then is written
		if got := content(t, l); got != want+"{\"rest\":1}\n" || len(k.all()) > 0 {
			t.Errorf("cut at %d: %q, %q set aside", cut, got, k.all())
		}
	}
}

// The journal hears that a commit failed.
func TestJournalOfAFailure(t *testing.T) {
	l, _ := newLog(t, "")
	w, j := l.NewWriter(), &noted{}
	w.SetJournal(j)
	must(t, l.f.Close())
	if err := w.Write([]byte("{}\n")); err == nil || fmt.Sprint(j.list) != "[begin 0+3 end false]" {
		t.Errorf("%v, %v", err, j.list)
	}
}

// A process that dies in the middle of a line that is too long: what still comes of it is refused by the next one for the same reason.
func TestResumeOfTooLong(t *testing.T) {
	l, k := newLog(t, "")
	w := l.NewWriter()
	for _, want := range []error{nil, ErrTooLong, ErrTooLong} {
		if err := w.Write(bytes.Repeat([]byte("x"), MaxLine/2+1)); !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
	}
	r := w.Rest()
	w = l.NewWriter()
	w.Restore(r)
	if err := w.Write([]byte(`x"`)); !errors.Is(err, ErrTooLong) {
		t.Errorf("the next piece: %v", err)
	}
	if err := w.Write([]byte("}\n")); !errors.Is(err, ErrTooLong) {
		t.Errorf("its end: %v", err)
	}
	must(t, w.Write([]byte("{\"a\":1}\n")))
	if got := content(t, l); got != "{\"a\":1}\n" {
		t.Errorf("the log is %.100q", got)
	}
	for _, why := range k.why {
		if !errors.Is(why, ErrTooLong) {
			t.Errorf("set aside: %v", why)
		}
	}
}
