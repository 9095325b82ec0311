package appendlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTornTail cuts a small log at each byte: whole lines stay, what is behind them is completed or set aside.
func TestTornTail(t *testing.T) {
	const lines = "{\"a\":1}\n{\"b\":\"é\"}\r\n {\"c\":{}} \n"
	ends := map[int]bool{0: true}
	for i := range lines {
		ends[i+1] = ends[i+1] || lines[i] == '\n'
	}
	for cut := range len(lines) + 1 {
		torn := lines[:cut]
		whole := torn[:strings.LastIndexByte(torn, '\n')+1]
		tail := torn[len(whole):]
		l, k := newLog(t, torn)
		want, set := whole, tail
		switch tail {
		case `{"a":1}`, `{"b":"é"}`, "{\"b\":\"é\"}\r", ` {"c":{}}`, ` {"c":{}} `:
			want, set = torn+"\n", ""
		}
		if got := content(t, l); got != want || string(k.all()) != set {
			t.Errorf("cut at %d: the log is %q, want %q; set aside %q, want %q", cut, got, want, k.all(), set)
		}
		must(t, l.NewWriter().Write([]byte("{\"new\":1}\n")))
		if got := content(t, l); got != want+"{\"new\":1}\n" {
			t.Errorf("cut at %d: after an append the log is %q", cut, got)
		}
		again(t, l)
	}
}

// again opens a recovered log once more: there is nothing left to recover.
func again(t *testing.T, l *Log) {
	t.Helper()
	before := content(t, l)
	f, err := os.OpenFile(l.File().Name(), os.O_RDWR|os.O_APPEND, 0)
	must(t, err)
	defer f.Close()
	l2, err := New(f, func(data []byte, why error) error { t.Errorf("set aside again: %q, %v", data, why); return nil })
	must(t, err)
	if got := content(t, l2); got != before {
		t.Errorf("opened again, the log is %q, was %q", got, before)
	}
}

// TestBadTails opens logs as crashes and power losses leave them.
func TestBadTails(t *testing.T) {
	nul := strings.Repeat("\x00", 8192)
	big := `{"a":"` + strings.Repeat("x", 5<<20)
	for _, c := range []struct{ name, file, log, kept string }{
		{"NULs after a line", "{}\n" + nul, "{}\n", nul},
		{"NULs after a torn line", "{}\n{\"a\":" + nul, "{}\n", "{\"a\":" + nul},
		{"NULs after a whole record", "{}\n{\"a\":1}" + nul, "{}\n", "{\"a\":1}" + nul},
		{"nothing but NULs", nul, "", nul},
		{"no object", "{}\n12", "{}\n", "12"},
		{"not UTF-8", "{}\n{\"a\":\"\xff\"}", "{}\n", "{\"a\":\"\xff\"}"},
		{"a long torn line", "{}\n" + big, "{}\n", big},
		{"one long torn line", big, "", big},
		{"a long whole record", "{}\n" + big + `"}`, "{}\n" + big + "\"}\n", ""},
		{"bad lines before the end stay", "x\n\n{}\n\x01\n{}\n", "x\n\n{}\n\x01\n{}\n", ""},
		{"tail of one step", strings.Repeat("x", 64<<10), "", strings.Repeat("x", 64<<10)},
		{"newline at a step's edge", "\n" + strings.Repeat("x", 64<<10), "\n", strings.Repeat("x", 64<<10)},
		{"newline before a step's edge", "{}\n" + strings.Repeat("x", 64<<10-1), "{}\n", strings.Repeat("x", 64<<10-1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, k := newLog(t, c.file)
			if got := content(t, l); got != c.log || string(k.all()) != c.kept {
				t.Errorf("the log has %d bytes, want %d; set aside %d, want %d", len(got), len(c.log), len(k.all()), len(c.kept))
			}
			if len(k.why) > 0 && k.why[0] == nil {
				t.Error("no reason is given")
			}
			again(t, l)
		})
	}
}

// TestTailStays: a torn line that nobody can keep stays where it is. Its log is read, and takes no line until it is
// opened anew.
func TestTailStays(t *testing.T) {
	f, full := openFile(t, "{}\n{\"torn"), errors.New("full")
	l, err := New(f, func([]byte, error) error { return full })
	must(t, err)
	got, err := io.ReadAll(io.NewSectionReader(l, 0, l.Size()))
	if err != nil || string(got) != "{}\n" || l.File() != nil {
		t.Errorf("the log shows %q, %v, and its file is %v", got, err, l.File())
	}
	if err := l.Commit([]byte("{}\n")); !errors.Is(err, full) || !errors.Is(l.Torn(), full) {
		t.Errorf("Commit: %v, Torn: %v", err, l.Torn())
	}
	if data, err := os.ReadFile(f.Name()); err != nil || string(data) != "{}\n{\"torn" {
		t.Errorf("the log is now %q, %v", data, err)
	}
}

// TestReader sees whole lines only, and changes nothing.
func TestReader(t *testing.T) {
	for file, want := range map[string]int64{"": 0, "{}\n": 3, "{}\n{\"a\"": 3, "{}\n{}": 3, "{": 0, "{}\n\x00": 3} {
		f := openFile(t, file)
		ro, err := os.Open(f.Name())
		must(t, err)
		defer ro.Close()
		l, err := NewReader(nil, ro)
		must(t, err)
		after, err := os.ReadFile(f.Name())
		if l.Size() != want || string(after) != file || err != nil {
			t.Errorf("%q: size %d, want %d; the file is now %q, %v", file, l.Size(), want, after, err)
		}
		if err := l.Commit([]byte("{}\n")); err == nil {
			t.Error("a reader's log takes lines")
		}
		if l.Size() != want {
			t.Errorf("after a failed commit the size is %d", l.Size())
		}
		must(t, l.Close())
	}
}

// TestOddFiles: only a regular file is a log.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	f, err := os.OpenFile(filepath.Join(dir, "pipe"), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	if _, err := New(f, nil); !errors.Is(err, unix.EINVAL) {
		t.Errorf("New on a pipe: %v", err)
	}
	if _, err := NewReader(nil, f); !errors.Is(err, unix.EINVAL) {
		t.Errorf("NewReader on a pipe: %v", err)
	}
}

// limitFiles lets no file of this process grow past n bytes until the test ends: a full disk in small. The kernel
// writes what still fits, then gives EFBIG.
func limitFiles(t *testing.T, n int64) {
	t.Helper()
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	signal.Ignore(syscall.SIGXFSZ)
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(n), Max: old.Max}))
	t.Cleanup(func() {
		must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
		signal.Reset(syscall.SIGXFSZ)
	})
}

// TestCommitFails: what a full disk cut off is taken back; the writer keeps its line and may try again.
func TestCommitFails(t *testing.T) {
	l, k := newLog(t, "{\"old\":1}\n")
	w := l.NewWriter()
	must(t, w.Write([]byte(`{"a":"`)))
	t.Run("full", func(t *testing.T) {
		limitFiles(t, 20)
		for range 3 {
			if err := w.Write([]byte("xxxxxxxxxxxx\"}\n{}\n")); !errors.Is(err, unix.EFBIG) {
				t.Errorf("Write to a full disk: %v", err)
			}
			if got := content(t, l); got != "{\"old\":1}\n" {
				t.Errorf("the log is %q", got)
			}
		}
		if w.Pending() != len(`{"a":"`) || len(k.data) != 0 {
			t.Errorf("%d bytes pending, kept %q", w.Pending(), k.all())
		}
	})
	must(t, w.Write([]byte("xxxxxxxxxxxx\"}\n{}\n")))
	if got, want := content(t, l), "{\"old\":1}\n{\"a\":\"xxxxxxxxxxxx\"}\n{}\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
}

// TestFlushFails: a full disk at close(2) loses nothing: the line goes to quarantine at Close, or in at a later try.
func TestFlushFails(t *testing.T) {
	l, k := newLog(t, "{\"old\":1}\n")
	w, lost := l.NewWriter(), l.NewWriter()
	must(t, w.Write([]byte(`{"abcdefghijkl":1}`)))
	must(t, lost.Write([]byte(`{"lost":"xxxxxxxxx"}`)))
	t.Run("full", func(t *testing.T) {
		limitFiles(t, 20)
		if err := w.Flush(); !errors.Is(err, unix.EFBIG) {
			t.Errorf("Flush: %v", err)
		}
		lost.Close()
	})
	if string(k.all()) != `{"lost":"xxxxxxxxx"}` {
		t.Errorf("kept %q", k.all())
	}
	must(t, w.Flush())
	t.Run("full again", func(t *testing.T) {
		limitFiles(t, 32)
		if err := w.Write([]byte("\n{\"b\":2}\n")); !errors.Is(err, unix.EFBIG) {
			t.Errorf("Write: %v", err)
		}
	})
	if err := w.Write([]byte("\n{\"b\":2}\n")); err != nil {
		t.Errorf("the same bytes again, once there is room: %v", err)
	}
	if got, want := content(t, l), "{\"old\":1}\n{\"abcdefghijkl\":1}\n{\"b\":2}\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
}

func TestSync(t *testing.T) {
	l, _ := newLog(t, "")
	must(t, l.Commit([]byte("{}\n")))
	must(t, l.Sync())
	must(t, l.Close())
	if err := l.Sync(); err == nil {
		t.Error("Sync of a closed log says that all is on disk")
	}
}

func BenchmarkWrite(b *testing.B) {
	l, _ := newLog(b, "")
	w := l.NewWriter()
	line := []byte(lineOf(1, 1, strings.Repeat("x", 400)))
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		must(b, w.Write(line))
	}
}

func BenchmarkTornTail(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20, 32 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			f := openFile(b, "{}\n"+string(bytes.Repeat([]byte("x"), size)))
			for b.Loop() {
				tail, err := tornTail(f, int64(size)+3)
				if err != nil || len(tail) != size {
					b.Fatal(len(tail), err)
				}
			}
		})
	}
}
