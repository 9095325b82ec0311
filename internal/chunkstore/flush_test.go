package chunkstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// failing has the flushes of files of that prefix fail until the function that it gives is called.
func failing(s *Store, prefix string) (end func()) {
	s.flush = func(f *os.File) error {
		if strings.HasPrefix(filepath.Base(f.Name()), prefix) {
			return unix.EIO
		}
		return fdatasync(f)
	}
	return func() { s.flush = fdatasync }
}

// TestJournalFlushFails: what a failed flush may have left in memory only is written to a new file, or taken back. The flush
// after it, which has nothing left to write, is no proof.
func TestJournalFlushFails(t *testing.T) {
	s, top := newStore(t)
	a, b, c := noise(1, 9000), noise(2, 9000), noise(3, 9000)
	ida := put(t, s, a)
	end := failing(s, tailPrefix)
	idb := put(t, s, b) // in a part file
	if names, _ := filepath.Glob(top + "/" + tailPrefix + "*"); len(names) != 0 {
		t.Errorf("the journal is still there: %v", names)
	}
	end()
	idc := put(t, s, c)
	before := size(t, top)

	part := filepath.Join(top, partPrefix+hex16(0))
	s.flush = func(*os.File) error {
		must(t, os.Rename(part, part+"x"))
		must(t, os.Mkdir(part, 0o700)) // no new part can be put in place
		return unix.EIO
	}
	d := noise(4, 9000)
	if _, err := s.Put(d); !errors.Is(err, unix.EIO) {
		t.Errorf("neither the journal nor a new file is on disk, and Put says %v", err)
	}
	must(t, os.Remove(part))
	must(t, os.Rename(part+"x", part))
	if after := size(t, top); after != before {
		t.Errorf("the store has %d bytes, %d before the Put that failed", after, before)
	}
	s.flush = fdatasync
	idd := put(t, s, d)
	for _, r := range []*Store{s, at(t, filepath.Dir(top), Options{ReadOnly: true})} {
		want(t, r, ida, a)
		want(t, r, idb, b)
		want(t, r, idc, c)
		want(t, r, idd, d)
	}
}

// TestPackFlushFails: the journal goes only when the pack is on disk, and a frame that may not be is no reason to think so.
func TestPackFlushFails(t *testing.T) {
	top := t.TempDir()
	s := at(t, top, Options{Tuning: Tuning{Frame: 32 << 10}})
	a := noise(1, 40<<10)
	ida := put(t, s, a)
	end := failing(s, packPrefix)
	for range 2 {
		if err := s.Update(func(tx *Tx) error { return tx.Seal() }); !errors.Is(err, unix.EIO) {
			t.Errorf("the pack is not on disk, and Seal says %v", err)
		}
		if names, _ := filepath.Glob(top + "/chunk/" + tailPrefix + "*"); len(names) == 0 {
			t.Error("the journal is gone")
		}
		if st, err := os.Stat(filepath.Join(top, "chunk", packPrefix+hex16(0))); err != nil || st.Size() != packHead {
			t.Errorf("the frame stands in the pack: %v, %v", st, err)
		}
	}
	end()
	want(t, s, ida, a)
	seal(t, s)
	want(t, s, ida, a)
	want(t, at(t, top, Options{ReadOnly: true}), ida, a)
}
