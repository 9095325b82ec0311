package memdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctxfs/internal/beneath"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fill(d *beneath.Dir, name string, n int) error {
	return d.WriteFile(name, make([]byte, n), 0o600, beneath.Owner{})
}

// A detached directory works as any other, no path leads there, and the kernel keeps to its limits.
func TestDetached(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIP: only root can make a file system")
	}
	d, err := Detached(Limits{Bytes: 1 << 20, Inodes: 10})
	must(t, err)
	must(t, d.MkdirAll("a/b", 0o700, beneath.Owner{}, nil))
	must(t, fill(d.Dir, "a/b/f", 1000))
	if err := fill(d.Dir, "a/big", 1<<20+1); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("more bytes than there may be: %v", err)
	}
	for i := 0; err == nil && i < 11; i++ {
		err = d.Mkdir("m"+string(rune('a'+i)), 0o700, beneath.Owner{})
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("more files than there may be: %v", err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), "tmpfs ctxfs ") {
		t.Errorf("it is mounted somewhere, or: %v", err)
	}
	if _, err := d.Stat("../etc"); !errors.Is(err, unix.EXDEV) {
		t.Errorf("a path leads out: %v", err)
	}
	must(t, d.Close())
}

// shm is a place in memory for folders, or the test is skipped.
func shm(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "memdir-test-")
	if err != nil {
		t.Skipf("SKIP: no /dev/shm here: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A folder is this user's alone, is gone when it is closed, and is swept only when nobody has it.
func TestFolder(t *testing.T) {
	place := shm(t)
	d, err := Folder([]string{"/none", place})
	must(t, err)
	must(t, d.MkdirAll("a/b", 0o700, beneath.Owner{}, nil))
	must(t, fill(d.Dir, "a/b/f", 1000))
	name := filepath.Join(place, list(t, place)[0])
	if st, err := os.Stat(name); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	must(t, os.Mkdir(filepath.Join(place, "ctxfs-temp-other"), 0o700))
	must(t, Sweep([]string{"/none", place}))
	if _, err := d.Stat("a/b/f"); err != nil || len(list(t, place)) != 2 {
		t.Errorf("it was swept while in use: %v, %v", err, list(t, place))
	}
	must(t, d.Close())
	if got := list(t, place); len(got) != 1 {
		t.Errorf("after Close: %v", got)
	}

	d, err = Folder([]string{place})
	must(t, err)
	must(t, fill(d.Dir, "f", 1000))
	must(t, d.Dir.Close()) // as a kill leaves it
	must(t, Sweep([]string{place}))
	if got := list(t, place); len(got) != 1 {
		t.Errorf("what a kill left: %v", got)
	}
}

// What is on a disk is no place.
func TestFolderOnDisk(t *testing.T) {
	dir := t.TempDir()
	var st unix.Statfs_t
	must(t, unix.Statfs(dir, &st))
	if st.Type == unix.TMPFS_MAGIC {
		t.Skip("SKIP: temporary folders are in memory here")
	}
	if _, err := Folder([]string{dir}); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}
