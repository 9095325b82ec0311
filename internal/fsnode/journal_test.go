package fsnode

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// journalOf is a journal in a file that has a name.
func journalOf(t *testing.T, f *os.File) *journal {
	next := f.Name() + ".new"
	return &journal{f: f,
		create: func() (*os.File, error) {
			return os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
		},
		place: func(*os.File) error { return os.Rename(next, f.Name()) },
	}
}

// A process that is killed at any step of replacing the journal leaves all numbers to the next one.
func TestJournalIsReplacedInOneStep(t *testing.T) {
	tab, agent, file := newTestTable(t)
	sessions := agent&^0xff | uint64(kSessions)
	ids := map[string]uint64{}
	for i := range 300 {
		name := fmt.Sprint("s", i)
		ids[name] = tab.id(kSession, sessions, name)
	}
	check := func(when string) {
		t.Helper()
		again := tableAt(t, file)
		for name, id := range ids {
			if got, ok := again.known(sessions, name); !ok || got != id {
				t.Fatalf("%s: %s has %x, not %x", when, name, got, id)
			}
		}
	}
	killed := errors.New("killed")
	place := tab.file.place
	tab.file.place = func(next *os.File) error {
		check("before the rename")
		if err := next.Truncate(10); err != nil { // killed in the middle of a write
			t.Fatal(err)
		}
		check("in the middle of a write")
		return killed
	}
	if err := tab.compact(); !errors.Is(err, killed) {
		t.Fatal(err)
	}
	check("after the kill")
	ids["later"] = tab.id(kSession, sessions, "later") // a place that fails leaves the old journal
	check("after a failure")
	tab.file.place = func(next *os.File) error {
		defer check("after the rename")
		return place(next)
	}
	if err := tab.compact(); err != nil {
		t.Fatal(err)
	}
	ids["last"] = tab.id(kSession, sessions, "last")
	check("at the end")
}

// Numbers that only the kernel knows are kept by the next process, whether or not the journal was replaced before the kill.
func TestKeptJournalIsReplacedInOneStep(t *testing.T) {
	w := newWorld(t)
	name := w.a.table.id(kNamed, 5, "asked")
	for _, killed := range []bool{true, false} {
		var held *os.File
		w.a.table.mem.place = func(next *os.File) error {
			if killed {
				return errors.New("killed")
			}
			held = next
			return nil
		}
		if err := w.a.table.rewrite(); (err != nil) != killed {
			t.Fatal(err)
		}
		w.kill(nil)
		if held != nil {
			w.nodes = held
		}
		w.start()
		if got := w.a.table.id(kNamed, 5, "asked"); got != name {
			t.Errorf("killed %v: it has %x, not %x", killed, got, name)
		}
	}
}
