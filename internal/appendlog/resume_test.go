package appendlog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// noted is the journal of a process that is killed.
type noted struct{ at []int64 }

func (n *noted) Begin(size int64) { n.at = append(n.at, size) }

// A write that a kill cut anywhere, made again by the next process, is in the log once; what another writer added is, too.
func TestResume(t *testing.T) {
	const before, half = "{\"a\":1}\n", `{"half":`
	write := `"line"}` + "\n{\"b\":2}\n{\"c\":3}\n{\"rest\""
	lines := half + `"line"}` + "\n{\"b\":2}\n{\"c\":3}\n"
	for cut := range len(lines) + 1 {
		stood := lines[:cut]
		if i := strings.LastIndexByte(stood, '\n'); i+1 < len(stood) {
			stood = stood[:i+1] // a torn end is cut off when the log is opened
		}
		l, k := newLog(t, before+stood)
		w, j := l.NewWriter(), &noted{}
		w.SetJournal(j)
		w.Restore(Rest{Partial: []byte(half)})
		w.Resume(int64(len(before)), l.Size())
		must(t, w.Write([]byte(write)))
		if got := content(t, l); got != before+lines {
			t.Errorf("cut at %d: %q", cut, got)
		}
		if r := w.Rest(); string(r.Partial) != `{"rest"` || r.Ended || r.Over {
			t.Errorf("cut at %d: %q is left", cut, r.Partial)
		}
		if want := "[8]"; stood == "" && fmt.Sprint(j.at) != want {
			t.Errorf("cut at %d: it began at %v, not %v", cut, j.at, want)
		} else if stood != "" && len(j.at) > 0 {
			t.Errorf("cut at %d: what was begun before begins at %v", cut, j.at)
		}
		must(t, w.Write([]byte(":1}\n"))) // and what comes then is written
		if got := content(t, l); got != before+lines+"{\"rest\":1}\n" || len(k.all()) > 0 {
			t.Errorf("cut at %d: %q, %q set aside", cut, got, k.all())
		}
	}
}

// Who began another write is gone: what stands there is another's, or is not taken for this one's.
func TestResumeOfAnother(t *testing.T) {
	for _, c := range []struct{ stood, line string }{{"{\"x\":1}\n", "{\"y\":1}\n"}, {"{\"x\":1}\n{\"z\":1}\n", "{\"z\":1}\n"}} {
		l, _ := newLog(t, c.stood)
		w := l.NewWriter()
		w.Resume(0, l.Size())
		must(t, w.Write([]byte(c.line)))
		if got := content(t, l); got != c.stood+c.line {
			t.Errorf("%q", got)
		}
	}
	l, _ := newLog(t, "{\"x\":1}\n")
	w := l.NewWriter()
	w.Resume(0, l.Size())
	w.Resume(0, 0)
	must(t, w.Write([]byte("{\"x\":1}\n")))
	if got := content(t, l); got != "{\"x\":1}\n{\"x\":1}\n" {
		t.Errorf("taken back: %q", got)
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
