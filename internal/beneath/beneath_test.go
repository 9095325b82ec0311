package beneath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// planted is a folder to work beneath, with a neighbour outside that nothing may reach.
type planted struct {
	d             *Dir
	in, out, file string // host paths: the folder, the neighbour, and a file in the neighbour
}

func plant(t *testing.T) planted {
	t.Helper()
	top := t.TempDir()
	p := planted{in: filepath.Join(top, "in"), out: filepath.Join(top, "out")}
	p.file = filepath.Join(p.out, "secret")
	must(t, os.MkdirAll(filepath.Join(p.in, "a", "b"), 0o755))
	must(t, os.MkdirAll(p.out, 0o755))
	must(t, os.WriteFile(p.file, []byte("outside"), 0o644))
	must(t, os.WriteFile(filepath.Join(p.in, "a", "f"), []byte("inside"), 0o644))
	for name, target := range map[string]string{
		"abs-dir": p.out, "abs-file": p.file, "rel-dir": "../out", "rel-file": "../out/secret", "in-dir": "a", "in-file": "a/f",
		"root": "/", "magic": "/proc/self/cwd", "up": "..", "a/deep": "../../out",
	} {
		must(t, os.Symlink(target, filepath.Join(p.in, name)))
	}
	p.d = open(t, p.in)
	return p
}

func open(t *testing.T, dir string) *Dir {
	t.Helper()
	d, err := Open(dir)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestEscapes tries every way out with every method that resolves a path.
func TestEscapes(t *testing.T) {
	p := plant(t)
	for _, c := range []struct {
		rel  string
		want error
	}{
		{"../out/secret", unix.EXDEV},
		{"a/../../out/secret", unix.EXDEV},
		{"..", unix.EXDEV},
		{"a/b/../../..", unix.EXDEV},
		{p.file, unix.EXDEV},
		{"/", unix.EXDEV},
		{"abs-file", unix.ELOOP},
		{"rel-file", unix.ELOOP},
		{"abs-dir/secret", unix.ELOOP},
		{"rel-dir/secret", unix.ELOOP},
		{"root/etc/passwd", unix.ELOOP},
		{"magic/secret", unix.ELOOP},
		{"up/out/secret", unix.ELOOP},
		{"a/deep/secret", unix.ELOOP},
		{"in-file", unix.ELOOP}, // links are not followed even where they stay inside
		{"in-dir/f", unix.ELOOP},
	} {
		if _, err := p.d.OpenFile(c.rel, unix.O_RDONLY, 0); !errors.Is(err, c.want) {
			t.Errorf("OpenFile(%q): %v, want %v", c.rel, err, c.want)
		}
		if data, err := p.d.ReadFile(c.rel, 100); err == nil || data != nil {
			t.Errorf("ReadFile(%q) gave %q", c.rel, data)
		}
		if _, err := p.d.OpenFile(c.rel, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, 0o600); err == nil {
			t.Errorf("OpenFile(%q) created a file", c.rel)
		}
	}
	if got, err := os.ReadFile(p.file); err != nil || string(got) != "outside" {
		t.Fatalf("the file outside: %q, %v", got, err)
	}
}

// TestChangesStayInside holds the methods that change names to the folder: a path through a link or above the folder
// changes nothing outside.
func TestChangesStayInside(t *testing.T) {
	p := plant(t)
	before := names(t, p.out)
	for _, dir := range []string{"abs-dir", "rel-dir", "a/deep", "..", "../out", p.out, "root"} {
		to := dir + "/x"
		for op, err := range map[string]error{
			"mkdir":      p.d.Mkdir(to, 0o755, Owner{}),
			"mkdirall":   p.d.MkdirAll(to+"/y", 0o755, Owner{}, nil),
			"write":      p.d.WriteFile(to, []byte("x"), 0o644, Owner{}),
			"rename out": p.d.Rename("a/f", to, 0),
			"rename in":  p.d.Rename(dir+"/secret", "stolen", 0),
			"symlink":    p.d.Symlink("a", to, Owner{}),
			"unlink":     p.d.Unlink(dir + "/secret"),
			"rmdir":      p.d.Rmdir(dir + "/secret"),
			"chmod":      p.d.Chmod(dir+"/secret", 0o777),
			"chown":      p.d.Chown(dir+"/secret", os.Getuid(), os.Getgid()),
			"utimes":     p.d.Utimes(dir+"/secret", [2]unix.Timespec{}),
			"readdir":    second(p.d.ReadDir(dir + "/.")),
			"readlink":   second(p.d.Readlink(dir + "/secret")),
			"sync":       p.d.Sync(dir + "/."),
			"sub":        second(p.d.Sub(dir + "/.")),
			"stat":       second(p.d.Stat(dir + "/secret")),
		} {
			if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.ELOOP) {
				t.Errorf("%s by %s: %v, want EXDEV or ELOOP", op, dir, err)
			}
		}
	}
	if after := names(t, p.out); !slices.Equal(before, after) {
		t.Errorf("outside is now %v", after)
	}
	if st, err := os.Stat(p.file); err != nil || st.Mode().Perm() != 0o644 || st.ModTime().Unix() == 0 {
		t.Errorf("the file outside is now %v, %v", st, err)
	}
}

func second[T any](_ T, err error) error { return err }

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestLinksThemselves works on links as on names: they are seen, renamed and removed, never followed.
func TestLinksThemselves(t *testing.T) {
	p := plant(t)
	st, err := p.d.Stat("abs-file")
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		t.Errorf("Stat of a link: mode %o, %v", st.Mode, err)
	}
	if to, err := p.d.Readlink("rel-dir"); err != nil || to != "../out" {
		t.Errorf("Readlink: %q, %v", to, err)
	}
	if _, err := p.d.Readlink("a/f"); !errors.Is(err, unix.EINVAL) {
		t.Errorf("Readlink of a file: %v", err)
	}
	must(t, p.d.Symlink("/etc/passwd", "a/new", Owner{}))
	if to, err := os.Readlink(filepath.Join(p.in, "a/new")); err != nil || to != "/etc/passwd" {
		t.Errorf("Symlink made %q, %v", to, err)
	}
	must(t, p.d.Rename("abs-file", "moved", 0))
	must(t, p.d.Unlink("moved"))
	if err := p.d.Chmod("rel-file", 0o777); !errors.Is(err, unix.ELOOP) && !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("Chmod of a link: %v", err)
	}
	must(t, p.d.WriteFile("rel-file", []byte("mine"), 0o644, Owner{})) // takes the link's place
	if got, _ := os.ReadFile(p.file); string(got) != "outside" {
		t.Errorf("a link was written through: %q", got)
	}
	if st, err := p.d.Stat("rel-file"); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		t.Errorf("WriteFile left a %o, %v", st.Mode, err)
	}
}

// TestNoNames refuses paths whose last part is no name.
func TestNoNames(t *testing.T) {
	d := open(t, t.TempDir())
	for _, rel := range []string{"", "a/", "/", "..", "a/..", "."} {
		if err := d.Mkdir(rel, 0o755, Owner{}); !errors.Is(err, unix.EINVAL) {
			t.Errorf("Mkdir(%q): %v, want EINVAL", rel, err)
		}
		if err := d.Unlink(rel); !errors.Is(err, unix.EINVAL) {
			t.Errorf("Unlink(%q): %v, want EINVAL", rel, err)
		}
	}
	if st, err := d.Stat("."); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		t.Errorf("Stat(.): %o, %v", st.Mode, err)
	}
}

// TestErrors tells what os.PathError says: errors carry the operation, the path and the errno.
func TestErrors(t *testing.T) {
	p := plant(t)
	var pe *os.PathError
	if _, err := p.d.Stat("a/none"); !errors.As(err, &pe) || pe.Op != "stat" || pe.Path != "a/none" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat: %v", err)
	}
	if err := p.d.Mkdir("a/b", 0o755, Owner{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Mkdir of what is there: %v", err)
	}
	if err := p.d.Rmdir("a"); !errors.Is(err, unix.ENOTEMPTY) {
		t.Errorf("Rmdir of a full folder: %v", err)
	}
	if err := p.d.Unlink("a/b"); !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		t.Errorf("Unlink of a folder: %v", err)
	}
	if err := p.d.Rename("a/f", "a/b", unix.RENAME_NOREPLACE); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Rename onto what is there: %v", err)
	}
	if err := p.d.Rename("a/none", "a/x", 0); !errors.As(err, &pe) || pe.Op != "rename" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Rename of nothing: %v", err)
	}
	if _, err := Open(filepath.Join(p.in, "a/f")); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("Open of a file: %v", err)
	}
	if _, err := p.d.Sub("a/f"); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("Sub of a file: %v", err)
	}
}

// TestSub works beneath a folder of the folder: what is above is out of reach.
func TestSub(t *testing.T) {
	p := plant(t)
	sub, err := p.d.Sub("a")
	must(t, err)
	defer sub.Close()
	if data, err := sub.ReadFile("f", 100); err != nil || string(data) != "inside" {
		t.Errorf("ReadFile: %q, %v", data, err)
	}
	if _, err := sub.Stat("../in-file"); !errors.Is(err, unix.EXDEV) {
		t.Errorf("above a Sub: %v", err)
	}
	if st, err := sub.Statfs(); err != nil || st.Bsize == 0 {
		t.Errorf("Statfs: %+v, %v", st, err)
	}
}

func TestReadDir(t *testing.T) {
	p := plant(t)
	entries, err := p.d.ReadDir(".")
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	want := names(t, p.in)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("ReadDir: %v, want %v", got, want)
	}
	if _, err := p.d.ReadDir("a/f"); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("ReadDir of a file: %v", err)
	}
	if _, err := p.d.ReadDir("abs-dir"); !errors.Is(err, unix.ELOOP) && !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("ReadDir of a link: %v", err)
	}
}
