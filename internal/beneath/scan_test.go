package beneath

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestScan lists names of every kind, as often as it takes, and nothing beside them.
func TestScan(t *testing.T) {
	p := plant(t)
	got := map[string]uint8{}
	must(t, p.d.Scan(".", func(f Found) {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(p.in, f.Name), &st); err != nil || st.Ino != f.Ino {
			t.Errorf("%s: inode %d, want %d, %v", f.Name, f.Ino, st.Ino, err)
		}
		got[f.Name] = f.Type
	}))
	entries, err := p.d.ReadDir(".")
	must(t, err)
	if len(got) != len(entries) || got["a"] != unix.DT_DIR || got["up"] != unix.DT_LNK {
		t.Errorf("got %v", got)
	}
	many := filepath.Join(p.in, "many")
	must(t, os.Mkdir(many, 0o755))
	var want, names []string
	for i := range 3000 { // more than one getdents(2) gives
		name := strings.Repeat("n", 1+i%50) + "." + string(rune('a'+i%26)) + strings.Repeat("0", i/50)
		want = append(want, name)
		must(t, os.WriteFile(filepath.Join(many, name), nil, 0o600))
	}
	must(t, p.d.Scan("many", func(f Found) { names = append(names, f.Name) }))
	slices.Sort(want)
	slices.Sort(names)
	if want = slices.Compact(want); !slices.Equal(names, want) {
		t.Errorf("%d names, want %d", len(names), len(want))
	}
	for rel, want := range map[string]error{"none": unix.ENOENT, "a/f": unix.ENOTDIR, "in-dir": unix.ELOOP, "..": unix.EXDEV} {
		if err := p.d.Scan(rel, func(Found) {}); !errors.Is(err, want) {
			t.Errorf("Scan(%q): %v, want %v", rel, err, want)
		}
	}
}

// TestLook: who looks at a folder follows no link, opens nothing that is no file, and asks the guard.
func TestLook(t *testing.T) {
	p := plant(t)
	must(t, unix.Mkfifo(filepath.Join(p.in, "a/pipe"), 0o600))
	must(t, p.d.Look("a", func(f Folder) error {
		if st, err := f.Stat(); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			t.Errorf("Stat: %o, %v", st.Mode, err)
		}
		if st, err := f.StatAt("deep"); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
			t.Errorf("StatAt of a link: %o, %v", st.Mode, err)
		}
		if data, err := f.ReadAll("f", make([]byte, 100)); err != nil || !bytes.Equal(data, []byte("inside")) {
			t.Errorf("ReadAll: %q, %v", data, err)
		}
		for name, want := range map[string]error{"none": unix.ENOENT, "deep": unix.ELOOP, "b": unix.EINVAL, "pipe": unix.EINVAL, "../a/f": unix.EXDEV} {
			if _, err := f.ReadAll(name, make([]byte, 100)); !errors.Is(err, want) {
				t.Errorf("ReadAll(%q): %v, want %v", name, err, want)
			}
		}
		if _, err := f.ReadAll("f", make([]byte, 3)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("ReadAll of more than fits: %v", err)
		}
		return nil
	}))
	if _, err := p.d.StatAt("a/f"); !errors.Is(err, unix.EINVAL) {
		t.Errorf("StatAt of a path: %v", err)
	}
	for rel, want := range map[string]error{"none": unix.ENOENT, "a/f": unix.ENOTDIR, "in-dir": unix.ENOTDIR, "up": unix.ENOTDIR, "up/in": unix.ELOOP, "..": unix.EXDEV} {
		if err := p.d.Look(rel, func(Folder) error { t.Errorf("Look(%q) was let in", rel); return nil }); !errors.Is(err, want) {
			t.Errorf("Look(%q): %v, want %v", rel, err, want)
		}
	}
	var asked []string
	p.d.SetGuard(func(rel string, _ *unix.Stat_t) error {
		asked = append(asked, rel)
		if rel == "a/f" {
			return unix.EPERM
		}
		return nil
	})
	must(t, p.d.Look("a", func(f Folder) error {
		if _, err := f.ReadAll("f", make([]byte, 100)); !errors.Is(err, unix.EPERM) {
			t.Errorf("the guard refuses, and: %v", err)
		}
		return nil
	}))
	if !slices.Equal(asked, []string{"a", "a/f"}) {
		t.Errorf("the guard was asked about %q", asked)
	}
}
