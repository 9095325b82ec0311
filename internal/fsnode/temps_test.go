package fsnode

import (
	"os"
	"path/filepath"
	"testing"
)

// newTestTable is a table with an agent, whose number is the first, and the file that it writes.
func newTestTable(t *testing.T) (tab *table, agent uint64, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "nodes")
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if tab, err = newTable(journalOf(t, f)); err != nil {
		t.Fatal(err)
	}
	return tab, tab.id(kContainer, uint64(kHome), "coder"), file
}

// size counts all that a table knows.
func (t *table) size() int {
	n := len(t.byID) + len(t.ids)
	for _, parts := range t.temps {
		n += 1 + len(parts)
	}
	return n
}

// Temporary sessions and what is in them have numbers while they live, or while the kernel knows them; in no file.
func TestTemporaryNumbers(t *testing.T) {
	tab, agent, file := newTestTable(t)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	empty := tab.size()
	temps := agent&^0xff | uint64(kTemps)
	sess := tab.id(kSession, temps, "s")
	pinned := sess&^0xff | uint64(kPinned)
	a, b := tab.id(kPlain, pinned, "a"), tab.id(kPlain, pinned, "b")
	named := tab.id(kNamed, sess&^0xff|uint64(kRecall), "what")
	other := tab.id(kSession, temps, "other")
	for _, id := range []uint64{sess, a, b, named, other} {
		if !inMemory(id) {
			t.Errorf("%x is not in memory", id)
		}
		tab.looked(id >> 8)
	}
	if durable := tab.id(kSession, agent&^0xff|uint64(kSessions), "s"); inMemory(durable) || durable == sess {
		t.Errorf("a session of the store: %x", durable)
	}
	empty += 2

	tab.forget(sess>>8, 1) // the kernel's cache is small: a living session keeps its number
	if tab.id(kSession, temps, "s") != sess {
		t.Error("it has another number now")
	}
	tab.looked(sess >> 8)
	tab.move(pinned, "a", pinned, "b") // over b, which the kernel still knows
	if id, ok := tab.known(pinned, "b"); !ok || id != a || tab.get(b>>8) == nil {
		t.Errorf("after a rename: %x", id)
	}
	tab.remove(pinned, "b")
	tab.forget(named>>8, 1)
	tab.end(sess >> 8)
	if _, ok := tab.known(temps, "s"); ok || tab.get(sess>>8) == nil {
		t.Error("it has its name, or is forgotten while the kernel knows it")
	}
	if again := tab.id(kSession, temps, "s"); again == sess {
		t.Error("a number is given twice")
	} else {
		tab.end(again >> 8)
	}
	late := tab.id(kPlain, pinned, "late") // by who was on the way when it ended
	tab.looked(late >> 8)
	for _, id := range []uint64{sess, a, b, late} {
		tab.forget(id>>8, 1)
	}
	tab.end(other >> 8)
	tab.forget(other>>8, 1)
	if got := tab.size(); got != empty {
		t.Errorf("%d things are known, %d before: %v", got, empty, tab.temps)
	}
	after, err := os.ReadFile(file)
	if err != nil || len(after) <= len(before) {
		t.Errorf("%v: the durable session is not in the file", err)
	}
	again, err := newTable(journalOf(t, mustOpen(t, file)))
	if err != nil || len(again.byID) != 2 || again.next >= firstTemp {
		t.Errorf("read again: %d numbers, the next is %d, %v", len(again.byID), again.next, err)
	}
}

func mustOpen(t *testing.T, file string) *os.File {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
