package tests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/tests/testhost"
)

// The memory that one user's input makes the daemon take for a while (docs/security.md): memoryBase, and memoryTimes its length.
const (
	memoryBase  = 256 << 20
	memoryTimes = 10
)

// bulk is an input of any size: head, unit over and over, tail. In unit, %x is a number that is another each time.
type bulk struct {
	file, name       string
	head, unit, tail string
	refused          bool // it is, at the size that is tried
	slow             bool // for the long run
}

func (b bulk) of(size int) string {
	var s strings.Builder
	s.WriteString(b.head)
	for i := 0; s.Len() < size-len(b.tail)-len(b.unit)-8; i++ {
		if strings.Contains(b.unit, "%x") {
			fmt.Fprintf(&s, b.unit, i)
		} else {
			s.WriteString(b.unit)
		}
	}
	s.WriteString(b.tail)
	return s.String()
}

// deepList is an element of a list, of 4,000 lists in each other.
func deepList() string { return strings.Repeat("[", 4000) + strings.Repeat("]", 4000) + "," }

// bulkLines are records.
func bulkLines() (all []bulk) {
	say := `{"role":"user","content":`
	for _, b := range []bulk{
		{name: "words", head: say + `"`, unit: "lorem ipsum ", tail: `"}`},
		{name: "one letter", head: say + `"`, unit: "x", tail: `"}`, slow: true},
		{name: "escapes", head: say + `"`, unit: `\u00e4`, tail: `"}`, slow: true},
		{name: "newlines", head: say + `"`, unit: `\n`, tail: `"}`, slow: true},
		{name: "numbers", head: say + "[", unit: "1,", tail: "1]}"},
		{name: "lists", head: say + "[", unit: "[],", tail: "[]]}", slow: true},
		{name: "deep lists", head: say + "[", unit: deepList(), tail: "[]]}"},
		{name: "keys", head: say + `"x",`, unit: `"%x":1,`, tail: `"a":1}`},
		{name: "one key", head: say + `"x",`, unit: `"k":1,`, tail: `"a":1}`},
		{name: "ids", head: say + `"x",`, unit: `"uuid":"x",`, tail: `"a":1}`, slow: true},
		{name: "texts", head: say + "[", unit: `{"type":"text","text":"x"},`, tail: "{}]}"},
		{name: "strings", head: say + "[", unit: `"x",`, tail: `""]}`},
		{name: "calls", head: `{"role":"assistant","content":[`, unit: `{"type":"tool_use","id":"a","name":"n","input":{}},`, tail: "{}]}"},
		{name: "results", head: say + "[", unit: `{"type":"tool_result","tool_use_id":"a","content":"x"},`, tail: "{}]}"},
		{name: "arguments", head: `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Edit","input":{`, unit: `"%x":1,`, tail: `"a":1}}]}`},
		{name: "secrets", head: say + `"`, unit: "AKIAIOSFODNN7EXAMPLE ghp_abcdefghijklmnopqrstuvwxyz0123456789 ", tail: `"}`, slow: true},
	} {
		b.file, b.tail = "messages.jsonl", b.tail+"\n"
		all = append(all, b)
	}
	return append(all, bulk{file: "events.jsonl", name: "an export", head: `{"type":"context.exported","data":[`, unit: "1,", tail: "1]}\n"})
}

// bulkFiles are what agents write beside the log.
func bulkFiles() []bulk {
	row := `{"id":"f%x","text":"a b","path":"p","source":"messages:1"}` + "\n"
	return []bulk{
		{file: "context/facts.jsonl", name: "empty objects", unit: "{}\n"},
		{file: "context/facts.jsonl", name: "rows", unit: row},
		{file: "context/facts.jsonl", name: "deep lists", head: `{"text":"a","a":[`, unit: deepList(), tail: "[]]}\n", slow: true},
		{file: "context/decisions.jsonl", name: "numbers", head: `{"text":"a","a":[`, unit: "1,", tail: "1]}\n"},
		{file: "context/refs.jsonl", name: "keys", head: "{", unit: `"%x":1,`, tail: `"a":1}` + "\n"},
		{file: "context/summary.md", name: "newlines", unit: "\n", slow: true},
		{file: "context/summary.md", name: "one letter", unit: "x", slow: true},
		{file: "context/todo.md", name: "boxes", unit: "- [ ] a\n"},
		{file: "meta.json", name: "keys", head: "{", unit: `"%x":1,`, tail: `"a":1}` + "\n", refused: true},
		{file: "meta.json", name: "deep lists", head: `{"a":[`, unit: deepList(), tail: "[]]}\n", refused: true},
		{file: "context/budget", name: "lines", head: "8000\n", unit: "reserve=5\n"},
		{file: "context/gc.policy", name: "newlines", unit: "\n"},
		{file: "context/redact", name: "rules", unit: "a literal:abcdef\n", refused: true},
		{file: "context/redact", name: "newlines", unit: "\n", slow: true},
		{file: "context/missing.jsonl", name: "questions", unit: `{"question":"q%x"}` + "\n", slow: true, refused: true},
		{file: "context/injections.jsonl", name: "declared", unit: "{}\n", refused: true},
		{file: "context/injections.jsonl", name: "keys", head: `{"metadata":{`, unit: `"%x":1,`, tail: `"a":1}}` + "\n", refused: true},
		{file: "context/imported.json", name: "keys", head: "{", unit: `"%x":"",`, tail: `"a":""}` + "\n", refused: true},
		{file: "context/policy.json", name: "keys", head: "{", unit: `"%x":1,`, tail: `"a":1}` + "\n", refused: true},
		{file: "context/plan.jsonl", name: "rows", unit: row, refused: true},
		{file: "context/pinned/x.md", name: "words", unit: "lorem ipsum\n"},
		{file: "context/pinned/x.ref", name: "records", unit: "messages:1-2\n"},
		{file: "context/pinned/x.ref", name: "copies of records", unit: "swap:messages:1-2\n"},
		{file: "context/pinned/x.ref", name: "what is not there", unit: "x\n"},
		{file: "context/child/c/result.md", name: "words", unit: "lorem ipsum\n"},
	}
}

// TestMemoryBound writes each, and reads all that is made of it: the worker's memory stays below what is stated. With
// CTXFS_TEST_MEMORY=1 lines and files are the longest that there may be.
func TestMemoryBound(t *testing.T) {
	testhost.Rare(t)
	if testhost.Race {
		t.Skip("SKIP: the race detector takes memory of its own")
	}
	line, file, long := 8<<20, 3<<20, os.Getenv("CTXFS_TEST_MEMORY") == "1"
	if long {
		line, file = 64<<20-1, 16<<20-1
	}
	m := newMount(t, "--budget", "20000")
	m.crashes = true
	worst := 0.0
	for i, b := range append(bulkLines(), bulkFiles()...) {
		if b.slow && !long {
			continue
		}
		size := file
		if strings.HasSuffix(b.file, "s.jsonl") && !strings.Contains(b.file, "/") {
			size = line
		}
		t.Run(b.file+", "+b.name, func(t *testing.T) {
			m.fresh()
			dir := m.session(fmt.Sprintf("bulk%d", i))
			add(t, dir+"/messages.jsonl", message("user", strings.Repeat("hello world ", 20_000))+message("assistant", "hi"))
			peak, err := m.take(filepath.Join(dir, b.file), b.of(size), dir)
			if (err != nil) != b.refused || err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.EFBIG) {
				t.Errorf("written: %v", err)
			}
			if most := int64(memoryBase + memoryTimes*size); peak > most {
				t.Errorf("%d MB for %d MB, may be %d", peak>>20, size>>20, most>>20)
			}
			worst = max(worst, float64(peak-memoryBase)/float64(size))
			t.Logf("%d MB for %d MB", peak>>20, size>>20)
			must(t, os.RemoveAll(m.store+strings.TrimPrefix(dir, m.point)))
		})
	}
	t.Logf("at most %.1f times the input and %d MB", worst, memoryBase>>20)
}

// TestMemoryOfMany: files that take no disk are as many and as long as one likes. A pack of them is refused.
func TestMemoryOfMany(t *testing.T) {
	m := newMount(t)
	m.crashes = true
	dir := m.session("many")
	add(t, dir+"/messages.jsonl", message("user", "hello"))
	for i := range 300 {
		name := fmt.Sprintf("%s/context/pinned/%d.md", dir, i)
		must(t, os.WriteFile(name, nil, 0o600))
		must(t, os.Truncate(name, 15<<20))
	}
	m.fresh()
	peak := m.peak(func() {
		_, err := os.ReadFile(dir + "/context/pack.md")
		wants(t, "a pack of 4.5 GB", err, syscall.EFBIG)
	})
	if peak > memoryBase+memoryTimes*64<<20 {
		t.Errorf("%d MB", peak>>20)
	}
}

// take writes text to a file of a session, reads it and all that is made of it, and gives the worker's greatest memory.
func (m *mount) take(file, text, dir string) (peak int64, err error) {
	m.t.Helper()
	return m.peak(func() {
		must(m.t, os.MkdirAll(filepath.Dir(file), 0o755))
		flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		if strings.HasSuffix(file, "s.jsonl") && filepath.Dir(file) == dir || strings.Contains(file, "missing") || strings.Contains(file, "injections") {
			flags = os.O_WRONLY | os.O_APPEND
		}
		f, oerr := os.OpenFile(file, flags, 0o600)
		must(m.t, oerr)
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
		for _, made := range []string{"", "context", "context/trace", "context/bundle", "context/channels", "context/imported"} {
			list, lerr := os.ReadDir(filepath.Join(dir, made))
			must(m.t, lerr)
			for _, e := range list {
				if e.Type().IsRegular() {
					_, _ = os.ReadFile(filepath.Join(dir, made, e.Name())) // whether there is one is not the question
				}
			}
		}
		_, rerr := os.ReadFile(dir + "/context/recall/hello lorem")
		must(m.t, rerr)
	}), err
}

// peak gives the most memory that the worker had while do ran, in bytes.
func (m *mount) peak(do func()) (bytes int64) {
	m.t.Helper()
	pid := m.worker()
	must(m.t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0))
	do()
	if now := m.worker(); now != pid {
		m.t.Fatalf("the worker died: %s", m.log)
	}
	_, rest, _ := strings.Cut(read(m.t, fmt.Sprintf("/proc/%d/status", pid)), "\nVmHWM:")
	_, err := fmt.Sscan(rest, &bytes)
	must(m.t, err)
	return bytes << 10
}

// fresh has another worker serve the mount: one that has not taken memory yet.
func (m *mount) fresh() {
	m.t.Helper()
	old := m.worker()
	must(m.t, syscall.Kill(old, syscall.SIGKILL))
	for range 1000 {
		if m.worker() != old {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	m.t.Fatal("no other worker")
}
