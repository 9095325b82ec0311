package watch

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// again has a watcher try all logs now, whatever it waits for.
func (w *world) again(x *Watcher) {
	w.t.Helper()
	for _, f := range x.logs {
		f.retry = time.Time{}
	}
	for _, log := range logsIn(x) {
		x.tell(log.path, x.step(log))
		if f := x.logs[log.path]; f != nil {
			f.grew = time.Time{} // long ago
		}
		x.tell(log.path, x.care(log.path))
	}
}

// TestRefused lets a log rest of which a line is refused, until it changes.
func TestRefused(t *testing.T) {
	for _, err := range []error{syscall.EFBIG, syscall.EINVAL} {
		w := newWorld(t)
		x := w.watcher()
		w.write("s.jsonl", said("a", "one"))
		w.store.fail, w.store.err = 1, err
		for range 5 {
			w.again(x)
		}
		if w.store.appends != 1 || len(w.told) != 1 {
			t.Errorf("%v: %d appends, told %q", err, w.store.appends, w.told)
		}
		w.write("s.jsonl", said("a", "one")+said("bb", "two"))
		if w.again(x); words(t, w.log("claude-code/s", Messages)) != "one two" {
			t.Errorf("%v: it does not go on; told %q", err, w.told)
		}
	}
}

// TestToldAgain tells of each outage of a log once, whatever other logs do.
func TestToldAgain(t *testing.T) {
	w := newWorld(t)
	x := w.watcher()
	log := ""
	for i := range 3 {
		log += said(strings.Repeat("x", i+1), "words")
		w.write("p/a.jsonl", log)
		w.write("p/b.jsonl", log)
		w.store.err = errors.New("the disk is full")
		for range 3 {
			w.store.fail = 1 // of a
			for _, found := range logsIn(x) {
				if f := x.logs[found.path]; f != nil {
					f.retry = time.Time{}
				}
				x.tell(found.path, x.step(found))
				w.store.fail = 1 // of b
			}
		}
		w.store.fail = 0
		w.again(x)
		if len(w.told) != 2*(i+1) {
			t.Fatalf("outage %d: told %s", i+1, fmt.Sprint(w.told))
		}
	}
}
