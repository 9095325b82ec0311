package watch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOnceTells has Once tell of what cannot be read, and that there is nothing where something must be.
func TestOnceTells(t *testing.T) {
	w := newWorld(t)
	w.write("other.jsonl", `{"tea":"green"}`+"\n")
	if err := w.watcher().Once(); err != nil {
		t.Errorf("a folder that may be empty: %v", err)
	}
	x := w.watcher()
	x.cfg.Sources[0].Must = true
	if err := x.Once(); !errors.Is(err, ErrNoLog) {
		t.Errorf("a folder of nothing: %v", err)
	}
	w.write("p/s.jsonl", said("a", "one"))
	if err := x.Once(); err != nil {
		t.Error(err)
	}
	x.cfg.Sources[0].Root = filepath.Join(w.dir, "logs/p/s.jsonl/x")
	if err := x.Once(); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a folder that is none: %v", err)
	}
	if os.Getuid() == 0 {
		return // who may read everything
	}
	for _, path := range []string{"p/s.jsonl", "p"} {
		path = filepath.Join(w.dir, "logs", path)
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		if err := w.watcher().Once(); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s cannot be read: %v", path, err)
		}
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHeads reads the head of a log that is told by content again when it changed, and only then.
func TestHeads(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(w.dir, "logs", "s.jsonl")
	w.write("s.jsonl", said("a", "one"))
	x := w.watcher()
	at := func(want string) {
		t.Helper()
		if list := logsIn(x); len(list) != 1 || string(list[0].format) != want {
			t.Fatalf("%v, want %s", list, want)
		}
	}
	at("claude-code")
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	w.write("s.jsonl", string(make([]byte, st.Size()))) // as large, and as old: nobody looks
	if err := os.Chtimes(path, st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
	at("claude-code")
	w.write("s.jsonl", childCalls())
	at("copilot-cli")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if list := logsIn(x); len(list) != 0 || len(x.heads) != 0 {
		t.Errorf("%v, %v", list, x.heads)
	}
}
