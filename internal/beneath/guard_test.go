package beneath

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGuard refuses what is there and does not suit, by every way to open it, and leaves it as it is.
func TestGuard(t *testing.T) {
	p := plant(t)
	must(t, os.WriteFile(filepath.Join(p.in, "a", "theirs"), []byte("theirs"), 0o600))
	asked := map[string]bool{}
	p.d.SetGuard(func(rel string, st *unix.Stat_t) error {
		asked[rel] = true
		if filepath.Base(rel) == "theirs" {
			return unix.EACCES
		}
		return nil
	})
	sub, err := p.d.Sub("a")
	must(t, err)
	defer sub.Close()
	times := [2]unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	before, err := os.Stat(filepath.Join(p.in, "a", "theirs"))
	must(t, err)
	for what, err := range map[string]error{
		"read":   second(p.d.ReadFile("a/theirs", 100)),
		"open":   second(sub.OpenFile("theirs", unix.O_RDWR, 0)),
		"trunc":  second(p.d.OpenFile("a/theirs", unix.O_WRONLY|unix.O_TRUNC, 0)),
		"create": second(p.d.OpenFile("a/theirs", unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, 0o600)),
		"chmod":  p.d.Chmod("a/theirs", 0o777),
		"chown":  p.d.Chown("a/theirs", os.Getuid(), os.Getgid()),
		"utimes": p.d.Utimes("a/theirs", times),
	} {
		if !errors.Is(err, unix.EACCES) {
			t.Errorf("%s: %v", what, err)
		}
	}
	after, err := os.Stat(filepath.Join(p.in, "a", "theirs"))
	must(t, err)
	if after.Size() != 6 || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) || !asked["a/theirs"] {
		t.Errorf("it was touched: %v, %v", after, asked)
	}
	f, err := p.d.OpenFile("a/new", unix.O_RDWR|unix.O_CREAT, 0o600)
	must(t, err)
	must(t, f.Close())
	f, err = p.d.OpenFile("a/f", unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC, 0o600) // what is there and suits
	must(t, err)
	if st, err := f.Stat(); err != nil || st.Size() != 0 {
		t.Errorf("%v %v", st, err)
	}
	must(t, f.Close())
}

// TestGive gives away folders and links that this process made, and nothing else that stands in their place.
func TestGive(t *testing.T) {
	p := plant(t)
	must(t, p.d.Mkdir("made", 0o700))
	must(t, p.d.Give("made", os.Getuid(), os.Getgid()))
	must(t, p.d.Give("abs-file", os.Getuid(), os.Getgid()))
	if err := p.d.Give("a/f", os.Getuid(), os.Getgid()); !errors.Is(err, unix.EACCES) {
		t.Errorf("a file: %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	must(t, os.Chown(filepath.Join(p.in, "made"), 1000, 1000))
	if err := p.d.Give("made", 2000, 2000); !errors.Is(err, unix.EACCES) {
		t.Errorf("another's folder: %v", err)
	}
}

// TestNewFile makes a file, and leaves one that is there.
func TestNewFile(t *testing.T) {
	p := plant(t)
	must(t, p.d.NewFile("a/n", 0o640, Owner{}))
	if st, err := p.d.Stat("a/n"); err != nil || st.Mode != unix.S_IFREG|0o640 || st.Size != 0 {
		t.Errorf("%o %v", st.Mode, err)
	}
	must(t, p.d.NewFile("a/f", 0o600, Owner{}))
	must(t, p.d.NewFile("abs-file", 0o600, Owner{}))
	if data, err := p.d.ReadFile("a/f", 100); err != nil || string(data) != "inside" {
		t.Errorf("%q %v", data, err)
	}
	if left, _ := filepath.Glob(filepath.Join(p.in, "a", TempPrefix+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
