package fsnode

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestQuotas(t *testing.T) {
	q := newQuotas()
	q.maxOpen = 3
	for i, c := range []struct {
		uid   uint32
		bytes int64
		want  error
	}{{7, maxHeld + 1, nil}, {7, 1, unix.ENOBUFS}, {7, 0, unix.ENOBUFS}, {8, 5, nil}, {8, 5, nil}, {8, 5, nil}, {8, 0, unix.EMFILE}, {0, maxHeld, nil}, {0, maxHeld, nil}, {0, 0, nil}, {0, 0, nil}} {
		if err := q.open(c.uid, c.bytes); !errors.Is(err, c.want) {
			t.Errorf("%d: %v, want %v", i, err, c.want)
		}
	}
	if err := q.grow(8, maxHeld); !errors.Is(err, unix.ENOBUFS) {
		t.Errorf("grow: %v", err)
	}
	if err := q.grow(7, -1000); err != nil {
		t.Errorf("shrink: %v", err)
	}
	q.close(7, maxHeld+1-1000)
	for range 3 {
		q.close(8, 5)
	}
	if len(q.held) != 1 {
		t.Errorf("%d users are kept", len(q.held))
	}
}

// A user's builds wait for each other, and for nobody else's.
func TestQuotaBuilds(t *testing.T) {
	q := newQuotas()
	var done []func()
	for range cap(q.of(7).builds) {
		done = append(done, q.build(7))
	}
	waits := make(chan bool)
	go func() { q.build(7)(); close(waits) }()
	q.build(8)()
	select {
	case <-waits:
		t.Error("one more did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	for _, d := range done {
		d()
	}
	<-waits
	if len(q.held) != 0 {
		t.Errorf("%d users are kept", len(q.held))
	}
}

// What users make and remove leaves the table, in memory and on disk.
func TestTableForgets(t *testing.T) {
	f, err := os.OpenFile(t.TempDir()+"/nodes", os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	table, err := newTable(journalOf(t, f))
	if err != nil {
		t.Fatal(err)
	}
	keep := table.id(kPlain, 99, "keep")
	for i := range maxRows {
		name := fmt.Sprint("f", i%10)
		id := table.id(kPlain, 99, name)
		table.looked(id >> 8)
		table.remove(99, name)
		table.forget(id>>8, 1)
	}
	if st, err := os.Stat(f.Name()); err != nil || len(table.byID) != 1 || st.Size() > 4<<20 {
		t.Errorf("%d entries, %v, %v", len(table.byID), st, err)
	}
	if table.id(kPlain, 99, "keep") != keep {
		t.Error("what is there has another number")
	}
	// A plain file that the kernel forgot, and that is there, keeps its number.
	table.looked(keep >> 8)
	table.forget(keep>>8, 1)
	if table.get(keep>>8) == nil {
		t.Error("what is there was forgotten")
	}
}

// The kernel is asked to let go of names that are too many.
func TestTableCrowd(t *testing.T) {
	table, err := newTable(nil)
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 2*maxNamed)
	table.evict = func(_ uint64, name string) { told <- name }
	for i := range maxNamed + 1 {
		table.looked(table.id(kNamed, 5, fmt.Sprint(i)) >> 8)
	}
	for i := range maxNamed / 2 {
		if name := <-told; name != fmt.Sprint(i) {
			t.Fatalf("%s at %d", name, i)
		}
	}
}
