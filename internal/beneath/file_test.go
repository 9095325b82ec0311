package beneath

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSwapRace opens paths while their folder becomes a link to the outside and back: no open may land outside.
func TestSwapRace(t *testing.T) {
	p := plant(t)
	must(t, os.Mkdir(filepath.Join(p.in, "s"), 0o755))
	must(t, os.WriteFile(filepath.Join(p.in, "s", "secret"), []byte("inside"), 0o644))
	must(t, os.Symlink(p.out, filepath.Join(p.in, "evil")))
	var stop atomic.Bool
	var swaps sync.WaitGroup
	swaps.Go(func() {
		for !stop.Load() {
			if err := p.d.Rename("s", "evil", unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	})
	var in, refused int
	for i, end := 0, time.Now().Add(10*time.Second); (in < 500 || refused < 500) && time.Now().Before(end); i++ {
		data, err := p.d.ReadFile("s/secret", 100)
		switch {
		case err == nil && string(data) == "inside":
			in++
		case errors.Is(err, unix.ELOOP):
			refused++
		default:
			t.Fatalf("read %q, %v", data, err)
		}
		if i%100 != 0 {
			continue // a write waits for the disk
		}
		if err := p.d.WriteFile("s/new", []byte("x"), 0o644, Owner{}); err != nil && !errors.Is(err, unix.ELOOP) && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	stop.Store(true)
	swaps.Wait()
	if !t.Failed() && (in == 0 || refused == 0) {
		t.Errorf("%d reads inside, %d refused: the race was not run", in, refused)
	}
	if got := names(t, p.out); !slices.Equal(got, []string{"secret"}) {
		t.Errorf("outside is now %v", got)
	}
}

// TestWriteFileAtomic reads while a file is replaced: a reader meets one whole content or the other.
func TestWriteFileAtomic(t *testing.T) {
	d := open(t, t.TempDir())
	contents := [][]byte{bytes.Repeat([]byte("a"), 100_000), bytes.Repeat([]byte("b"), 70_001), {}}
	must(t, d.WriteFile("f", contents[0], 0o644, Owner{}))
	var stop atomic.Bool
	var reads atomic.Int64
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for !stop.Load() {
				data, err := d.ReadFile("f", 1<<20)
				if err != nil || !slices.ContainsFunc(contents, func(c []byte) bool { return bytes.Equal(c, data) }) {
					t.Errorf("a reader met %d bytes, %v", len(data), err)
					return
				}
				reads.Add(1)
			}
		})
	}
	for i := 0; i < 50 || reads.Load() < 200; i++ {
		must(t, d.WriteFile("f", contents[i%len(contents)], 0o644, Owner{}))
		if t.Failed() {
			break
		}
	}
	stop.Store(true)
	readers.Wait()
	if got, err := d.ReadDir("."); err != nil || len(got) != 1 {
		t.Errorf("left behind: %v, %v", got, err)
	}
}

// TestWriteFileFails leaves the old content and no temporary file.
func TestWriteFileFails(t *testing.T) {
	d := open(t, t.TempDir())
	must(t, d.Mkdir("dir", 0o755, Owner{}))
	must(t, d.Mkdir("dir/full", 0o755, Owner{}))
	if err := d.WriteFile("dir", []byte("x"), 0o644, Owner{}); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if err := d.WriteFile("none/f", []byte("x"), 0o644, Owner{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into a folder that is not there: %v", err)
	}
	if got, err := d.ReadDir("."); err != nil || len(got) != 1 {
		t.Errorf("left behind: %v, %v", got, err)
	}
}

// TestModes asks for modes that a umask would narrow.
func TestModes(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	d := open(t, t.TempDir())
	for _, mode := range []uint32{0o400, 0o600, 0o644, 0o660, 0o666, 0o777} {
		name := fmt.Sprintf("f%o", mode)
		must(t, d.WriteFile(name, []byte("x"), mode, Owner{}))
		if st, err := d.Stat(name); err != nil || st.Mode&0o7777 != mode {
			t.Errorf("WriteFile %o: mode %o, %v", mode, st.Mode&0o7777, err)
		}
	}
	must(t, d.Chmod("f400", 0o755))
	if st, err := d.Stat("f400"); err != nil || st.Mode&0o7777 != 0o755 {
		t.Errorf("Chmod: %o, %v", st.Mode&0o7777, err)
	}
	must(t, d.Mkdir("dir", 0o777, Owner{})) // mkdir(2) and open(2) heed the umask
	if st, err := d.Stat("dir"); err != nil || st.Mode&0o7777 != 0o700 {
		t.Errorf("Mkdir: %o, %v", st.Mode&0o7777, err)
	}
}

func TestReadFile(t *testing.T) {
	d := open(t, t.TempDir())
	must(t, d.WriteFile("f", []byte("12345"), 0o600, Owner{}))
	for limit, want := range map[int64]error{4: ErrTooLarge, 5: nil, 6: nil, 0: ErrTooLarge} {
		data, err := d.ReadFile("f", limit)
		if !errors.Is(err, want) || (err == nil) != (string(data) == "12345") {
			t.Errorf("limit %d: %q, %v", limit, data, err)
		}
	}
	if _, err := d.ReadFile("none", 5); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	must(t, d.Mkdir("dir", 0o755, Owner{}))
	if _, err := d.ReadFile("dir", 5); !errors.Is(err, unix.EISDIR) {
		t.Errorf("a folder: %v", err)
	}
}

// TestReadFileFIFO plants a pipe with a writer that says nothing: a read must not wait for it.
func TestReadFileFIFO(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	must(t, unix.Mkfifo(filepath.Join(dir, "p"), 0o600))
	w, err := os.OpenFile(filepath.Join(dir, "p"), os.O_RDWR, 0)
	must(t, err)
	defer w.Close()
	done := make(chan error, 1)
	go func() { _, err := d.ReadFile("p", 5); done <- err }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a pipe was read as a file")
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the read waits")
	}
}

func TestMkdirAll(t *testing.T) {
	d := open(t, t.TempDir())
	var made []string
	note := func(rel string) error { made = append(made, rel); return nil }
	must(t, d.MkdirAll("a/b/c", 0o755, Owner{}, note))
	if want := []string{"a", "a/b", "a/b/c"}; !slices.Equal(made, want) {
		t.Errorf("made %v, want %v", made, want)
	}
	made = nil
	must(t, d.MkdirAll("a/b/c", 0o755, Owner{}, note))
	must(t, d.MkdirAll("a/d", 0o755, Owner{}, note))
	must(t, d.MkdirAll(".", 0o755, Owner{}, note))
	must(t, d.MkdirAll("a/e/f", 0o755, Owner{}, nil))
	if want := []string{"a/d"}; !slices.Equal(made, want) {
		t.Errorf("made %v, want %v", made, want)
	}
	stop := errors.New("stop")
	if err := d.MkdirAll("x/y", 0o755, Owner{}, func(string) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the callback's error: %v", err)
	}
	if _, err := d.Stat("x/y"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it went on after the callback's error: %v", err)
	}
	must(t, d.WriteFile("file", nil, 0o600, Owner{}))
	must(t, d.Symlink("a", "link", Owner{}))
	for _, rel := range []string{"file", "link", "file/x"} {
		if err := d.MkdirAll(rel, 0o755, Owner{}, nil); err == nil {
			t.Errorf("MkdirAll(%q) takes it for a folder", rel)
		}
	}
}

// TestMkdirAllTogether makes one path from several goroutines: each folder is told of once.
func TestMkdirAllTogether(t *testing.T) {
	d := open(t, t.TempDir())
	var made atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := d.MkdirAll("a/b/c/d", 0o755, Owner{}, func(string) error { made.Add(1); return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 4 {
		t.Errorf("%d folders were told of, want 4", made.Load())
	}
}

// TestRemoveAll removes a folder with links that lead out: the links go, what they name stays.
func TestRemoveAll(t *testing.T) {
	p := plant(t)
	must(t, p.d.MkdirAll("t/a/b", 0o755, Owner{}, nil))
	must(t, p.d.WriteFile("t/a/f", []byte("x"), 0o400, Owner{}))
	must(t, p.d.Symlink(p.out, "t/a/link", Owner{}))
	must(t, p.d.Symlink("..", "t/up", Owner{}))
	for _, rel := range []string{"t", "abs-dir", "a/f", "none", "none/x"} {
		must(t, p.d.RemoveAll(rel))
		if _, err := p.d.Stat(rel); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", rel, err)
		}
	}
	for _, rel := range []string{"../out", "rel-dir/secret", "..", "."} {
		if err := p.d.RemoveAll(rel); err == nil {
			t.Errorf("RemoveAll(%q)", rel)
		}
	}
	if got := names(t, p.out); !slices.Equal(got, []string{"secret"}) {
		t.Errorf("outside is now %v", got)
	}
	if _, err := p.d.Stat("a/b"); err != nil {
		t.Errorf("a neighbour: %v", err)
	}
}

func TestChown(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIP: only root can give files away")
	}
	p := plant(t)
	must(t, p.d.WriteFile("f", []byte("x"), 0o640, Owner{UID: 4321, GID: 1234, Chown: true}))
	must(t, p.d.Chown("a/f", 77, 88))
	must(t, p.d.Chown("abs-file", 55, 66)) // the link, not what it names
	for rel, want := range map[string][2]uint32{"f": {4321, 1234}, "a/f": {77, 88}, "abs-file": {55, 66}} {
		if st, err := p.d.Stat(rel); err != nil || [2]uint32{st.Uid, st.Gid} != want {
			t.Errorf("%s belongs to %d:%d, want %v, %v", rel, st.Uid, st.Gid, want, err)
		}
	}
	var st unix.Stat_t
	must(t, unix.Stat(p.file, &st))
	if st.Uid != 0 {
		t.Errorf("the file outside belongs to %d", st.Uid)
	}
}

func TestUtimes(t *testing.T) {
	d := open(t, t.TempDir())
	must(t, d.WriteFile("f", nil, 0o600, Owner{}))
	must(t, d.Utimes("f", [2]unix.Timespec{{Sec: 10, Nsec: 5}, {Sec: 20, Nsec: 7}}))
	must(t, d.Utimes("f", [2]unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: 30, Nsec: 9}}))
	st, err := d.Stat("f")
	if err != nil || st.Atim.Sec != 10 || st.Atim.Nsec != 5 || st.Mtim.Sec != 30 || st.Mtim.Nsec != 9 {
		t.Errorf("times: %v %v, %v", st.Atim, st.Mtim, err)
	}
}

// TestIsDirInRoot takes a folder for the root of all paths.
func TestIsDirInRoot(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	must(t, d.MkdirAll("work/src", 0o755, Owner{}, nil))
	must(t, d.MkdirAll("etc", 0o755, Owner{}, nil))
	must(t, d.WriteFile("work/file", nil, 0o600, Owner{}))
	for name, target := range map[string]string{"abs": "/work/src", "up": "../../../../work", "out": "/usr", "self": "self", "work/rel": "src", "magic": "/proc/self/root"} {
		must(t, os.Symlink(target, filepath.Join(root, name)))
	}
	for p, want := range map[string]error{
		"/": nil, "/work": nil, "/work/src": nil, "/work/../etc": nil, "/../../work": nil,
		"/abs": nil, "/up": nil, "/work/rel": nil, "/up/src": nil,
		"/none": unix.ENOENT, "/work/none/x": unix.ENOENT, "/out": unix.ENOENT, "/usr": unix.ENOENT, "/magic": unix.ENOENT,
		"/work/file": unix.ENOTDIR, "/work/file/x": unix.ENOTDIR, "/self": unix.ELOOP, "/" + strings.Repeat("n", 300): unix.ENAMETOOLONG,
	} {
		if err := d.IsDirInRoot(p); !errors.Is(err, want) {
			t.Errorf("IsDirInRoot(%.30q): %v, want %v", p, err, want)
		}
	}
}
