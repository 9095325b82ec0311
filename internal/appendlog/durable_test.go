package appendlog

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSyncAfterAFailure: a flush that failed is not made good by one that has nothing left to write.
func TestSyncAfterAFailure(t *testing.T) {
	const old, lines = "{\"n\":0}\n", "{\"n\":1}\n{\"n\":2}\n"
	for name, lost := range map[string]bool{"the lines are in memory": false, "the lines are lost": true} {
		t.Run(name, func(t *testing.T) {
			l, _ := newLog(t, old)
			must(t, l.Sync())
			must(t, l.Commit([]byte(lines)))
			flush := l.disk.flush
			l.disk.flush = func() error { return unix.EIO }
			if err := l.Sync(); !errors.Is(err, unix.EIO) {
				t.Fatalf("a flush failed, and Sync says %v", err)
			}
			l.disk.flush = flush
			w, err := os.OpenFile(l.f.Name(), os.O_WRONLY, 0)
			must(t, err)
			defer w.Close()
			if lost { // the kernel gave up the page, and reads the disk's
				_, err := w.WriteAt(make([]byte, len(lines)), int64(len(old)))
				must(t, err)
			}
			long := time.Unix(1e9, 0)
			must(t, os.Chtimes(l.f.Name(), long, long))
			for range 2 {
				if err := l.Sync(); lost != (err != nil) {
					t.Errorf("Sync: %v", err)
				}
			}
			st, err := l.f.Stat()
			must(t, err)
			if written := !st.ModTime().Equal(long); written == lost {
				t.Errorf("written again: %v", written)
			}
			if got := content(t, l); !lost && got != old+lines {
				t.Errorf("the log is %q", got)
			}
		})
	}
}

// remembers is an Unflushed of one file.
type remembers struct {
	size   int64
	failed bool
}

func (m *remembers) Unflushed(uint64, uint64) (int64, bool) { return m.size, m.failed }
func (m *remembers) SetUnflushed(_, _ uint64, size int64)   { m.size, m.failed = size, true }
func (m *remembers) ClearUnflushed(uint64, uint64)          { m.failed = false }

// A log that is opened again after a flush of it failed, in this process or the next, writes the lines again before it
// says that they are on disk.
func TestSyncAfterAFailureAndAnOpen(t *testing.T) {
	const old, lines = "{\"n\":0}\n", "{\"n\":1}\n{\"n\":2}\n"
	for _, off := range []int64{int64(len(old)), 3, 1000} { // the file may be another one than the offset is of
		l, k := newLog(t, old)
		m := &remembers{}
		must(t, l.SetUnflushed(m))
		must(t, l.Sync())
		must(t, l.Commit([]byte(lines)))
		l.disk.flush = func() error { return unix.EIO }
		if err := l.Sync(); !errors.Is(err, unix.EIO) || !m.failed || m.size != int64(len(old)) {
			t.Fatalf("%v, %+v", err, m)
		}
		m.size = off
		name := l.f.Name()
		must(t, l.Close())
		long := time.Unix(1e9, 0)
		must(t, os.Chtimes(name, long, long))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
		must(t, err)
		l, err = New(f, k.take)
		must(t, err)
		defer l.Close()
		must(t, l.SetUnflushed(m))
		must(t, l.Sync())
		st, err := l.f.Stat()
		must(t, err)
		if m.failed || st.ModTime().Equal(long) || content(t, l) != old+lines {
			t.Errorf("from %d: remembered %v, written at %v, %q", off, m.failed, st.ModTime(), content(t, l))
		}
	}
}

// TestSyncSettles: lines are on disk only when the way to them is; once it is, it stays.
func TestSyncSettles(t *testing.T) {
	l, _ := newLog(t, "")
	calls, fail := 0, true
	l.SetSettle(func() error {
		if calls++; fail {
			return unix.EIO
		}
		return nil
	})
	if err := l.Sync(); !errors.Is(err, unix.EIO) {
		t.Errorf("the way is not durable, and Sync says %v", err)
	}
	fail = false
	must(t, l.Sync())
	must(t, l.Sync())
	if calls != 2 {
		t.Errorf("settled %d times, want 2", calls)
	}
}
