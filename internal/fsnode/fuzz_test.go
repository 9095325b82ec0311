package fsnode

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// FuzzTable starts with any file of node numbers: what it says is either taken or passed over, what is numbered gets a number
// of its own, and the next daemon gives the same.
func FuzzTable(f *testing.F) {
	f.Add([]byte("1 1 1 \"home/7\"\n2 2 257 \"a\"\n2 0 0 \"\"\n"), "a", "b")
	f.Add([]byte("5 3 1 \"x\"\n6 3 1 \"x\"\n5 0 0 \"\"\n\x00\x00\x00\n9 3 1 \"to"), "x", "to")
	f.Add(bytes.Repeat([]byte{0}, 70<<10), "x", "\xff\n")
	fd, err := unix.MemfdCreate("nodes", unix.MFD_CLOEXEC) // no disk to wait for
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = unix.Close(fd) })
	name := fmt.Sprintf("/proc/self/fd/%d", fd)
	f.Fuzz(func(t *testing.T, data []byte, a, b string) {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		first := tableAt(t, name)
		given := map[uint64]string{}
		for num, e := range first.byID {
			if id := first.ids[tableKey{e.parent, e.name}]; id == num {
				given[num] = e.name
			}
		}
		idA, idB := first.id(kPlain, 1, a), first.id(kPlain, 1, b)
		if (idA == idB) != (a == b) {
			t.Errorf("%q and %q have %d and %d", a, b, idA, idB)
		}
		for _, id := range []uint64{idA, idB} {
			if was, ok := given[id>>8]; ok && was != a && was != b {
				t.Errorf("%d of %q was that of %q", id>>8, a, was)
			}
		}
		next := tableAt(t, name)
		if got, gotB := next.id(kPlain, 1, a), next.id(kPlain, 1, b); got != idA || gotB != idB {
			t.Errorf("%q and %q have %d and %d, then %d and %d", a, b, idA, idB, got, gotB)
		}
	})
}

func tableAt(t *testing.T, name string) *table {
	t.Helper()
	file, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	tab, err := newTable(journalOf(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return tab
}
