package tests

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What the kernel keeps of a generated file is never older than what made it: each file is as large as stat(2) says, and
// says the same however it is read, after each kind of change.
func TestNothingStale(t *testing.T) {
	m := newMount(t)
	dir := m.session("fresh")
	add(t, dir+"/messages.jsonl", conversation(3))
	changes := []struct {
		name   string
		change func(i int)
	}{
		{"an append", func(i int) { add(t, dir+"/messages.jsonl", message("user", strings.Repeat("word ", i))) }},
		{"an event", func(i int) { add(t, dir+"/events.jsonl", fmt.Sprintf("{\"type\":\"x\",\"n\":%d}\n", i)) }},
		{"a pinned file", func(i int) { put(t, dir+"/context/pinned/note.md", strings.Repeat("pinned ", i+1)) }},
		{"a smaller budget", func(i int) { put(t, dir+"/context/budget", fmt.Sprintf("%d\n", 4000-100*i)) }},
		{"facts of one's own", func(i int) {
			put(t, dir+"/context/facts.jsonl", fmt.Sprintf("{\"text\":%q}\n", strings.Repeat("fact ", i+1)))
		}},
		{"no facts of one's own", func(int) {
			if err := os.Remove(dir + "/context/facts.jsonl"); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for i := range 4 {
		for _, c := range changes {
			all := generated(t, dir) // the kernel has their attributes now
			c.change(i)
			for _, f := range all {
				sized(t, c.name, f)
			}
		}
	}
}

// generated gives the generated files of a session after a stat(2) and a read of each.
func generated(t *testing.T, dir string) (all []string) {
	t.Helper()
	for _, pattern := range []string{"latest.md", "updated_at", "context/pack.*", "context/swap/index.jsonl", "context/dedup/index.jsonl", "context/trace/*", "context/channels/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if st, err := os.Stat(f); err != nil || st.IsDir() {
				continue
			}
			sized(t, "nothing", f)
			all = append(all, f)
		}
	}
	if len(all) < 10 {
		t.Fatalf("only %d generated files", len(all))
	}
	return all
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func sized(t *testing.T, after, file string) {
	t.Helper()
	st, err := os.Stat(file)
	if err != nil {
		t.Fatalf("%s after %s: %v", file, after, err)
	}
	text := read(t, file)
	if st.Size() != int64(len(text)) {
		t.Errorf("%s after %s: stat says %d bytes, read gives %d", file, after, st.Size(), len(text))
	}
}

// Generations that are open at the same time stay apart: what was opened goes on to show what it showed, by read(2), pread(2) and
// mmap(2) of the oldest; and once all are closed the newest is read by mmap(2) too.
func TestGenerationsApart(t *testing.T) {
	m := newMount(t)
	dir := m.session("apart")
	pack := dir + "/context/pack.md"
	var open []*os.File
	for i := range 5 {
		add(t, dir+"/messages.jsonl", message("user", fmt.Sprintf("marker-%d %s", i, strings.Repeat("word ", 500*i))))
		f, err := os.Open(pack)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, f)
	}
	for round := range 2 {
		for i, f := range open {
			text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
			if err != nil {
				t.Fatal(err)
			}
			for j := range open {
				if has := bytes.Contains(text, fmt.Appendf(nil, "marker-%d ", j)); has != (j <= i) {
					t.Errorf("round %d: generation %d has marker %d: %v", round, i, j, has)
				}
			}
		}
	}
	if text := mapped(t, open[0]); !strings.Contains(text, "marker-0") || strings.Contains(text, "marker-1") {
		t.Errorf("the oldest, mapped: %.200s", text)
	}
	for _, f := range open {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// close(2) does not wait until the daemon knows of it (RELEASE): an open right after it may still map the oldest.
	var text string
	for range 200 {
		if text = mappedAnew(t, pack); text == read(t, pack) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if text != read(t, pack) || !strings.Contains(text, "marker-4") {
		t.Errorf("the newest, mapped: %.200s", text)
	}
}

func mappedAnew(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return mapped(t, f)
}

// mapped gives what a mapping of the whole file shows, nothing where the mapping ends before the file does (SIGBUS).
func mapped(t *testing.T, f *os.File) (text string) {
	t.Helper()
	size, err := io.Copy(io.Discard, io.NewSectionReader(f, 0, 1<<30)) // stat speaks of the newest
	if err != nil {
		t.Fatal(err)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(data)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			t.Logf("mapped: %v", r)
		}
	}()
	return string(data)
}
