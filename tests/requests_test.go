package tests

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// Requests are what a FUSE file system costs: how many of them each thing takes that agents and readers do all the time, once the
// kernel has seen the names. They are counted as the kernel sent them; RELEASE, which nobody waits for, is left out.
func TestRequests(t *testing.T) {
	if os.Geteuid() != 0 {
		skip(t, "an ordinary user's daemon cannot have the kernel read past it: the numbers are root's")
	}
	runtime.LockOSThread() // a request names the thread that caused it
	defer runtime.UnlockOSThread()
	var m *mount
	var check func()
	t.Cleanup(func() { check() }) // once the daemon has ended
	m = newMount(t, "--debug")
	dir := m.session("count")
	log, pack := dir+"/messages.jsonl", dir+"/context/pack.md"
	add(t, log, conversation(5))
	open := raise(t, log, syscall.O_WRONLY|syscall.O_APPEND)
	line := []byte(message("user", "hello"))
	steps := []struct {
		what, want string
		do         func()
	}{
		{"append to an open log", "WRITE", func() { wrote(t, open, line) }},
		{"append 100,000 bytes at once", "WRITE", func() { wrote(t, open, []byte(message("user", strings.Repeat("x", 100_000)))) }},
		{"open, append, close", "OPEN WRITE FLUSH", func() {
			fd := raise(t, log, syscall.O_WRONLY|syscall.O_APPEND)
			wrote(t, fd, line)
			lower(t, fd)
		}},
		{"first read of a pack after an append", "GETATTR OPEN", func() { slurp(t, pack) }},
		{"read of a pack that is as it was", "OPEN", func() { slurp(t, pack) }},
		{"stat of a pack that is as it was", "", func() { looked(t, pack) }},
		{"stat of a log", "", func() { looked(t, log) }},
		{"read of a log", "OPEN READ READ READ", func() { slurp(t, log) }},
	}
	for i, s := range steps {
		s.do() // the kernel learns the names
		if s.what == "first read of a pack after an append" {
			wrote(t, open, line)
		}
		_, _ = os.Stat(fmt.Sprintf("%s/begin-%d", m.point, i)) // marks the place in what the daemon prints
		s.do()
		_, _ = os.Stat(fmt.Sprintf("%s/end-%d", m.point, i))
	}
	lower(t, open)
	tid := syscall.Gettid()
	check = func() {
		for i, s := range steps {
			if got := requests(t, m.log.String(), i, tid); got != s.want {
				t.Errorf("%s: the kernel asked %q, want %q", s.what, got, s.want)
			}
		}
	}
}

// requests gives the operations that a thread caused between two marks.
func requests(t *testing.T, log string, mark, tid int) string {
	_, log, begun := strings.Cut(log, fmt.Sprintf("%q", fmt.Sprintf("begin-%d", mark)))
	_, log, _ = strings.Cut(log, "\n")
	log, _, ended := strings.Cut(log, fmt.Sprintf("%q", fmt.Sprintf("end-%d", mark)))
	if !begun || !ended {
		t.Fatalf("the daemon did not print mark %d", mark)
	}
	var ops []string
	for _, f := range regexp.MustCompile(`rx \d+: (\w+) .* p(\d+)`).FindAllStringSubmatch(log, -1) {
		if f[2] == fmt.Sprint(tid) {
			ops = append(ops, f[1])
		}
	}
	return strings.Join(ops, " ")
}

func raise(t *testing.T, path string, flags int) int {
	t.Helper()
	fd, err := syscall.Open(path, flags|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

func lower(t *testing.T, fd int) {
	t.Helper()
	if err := syscall.Close(fd); err != nil {
		t.Fatal(err)
	}
}

func wrote(t *testing.T, fd int, data []byte) {
	t.Helper()
	if n, err := syscall.Write(fd, data); err != nil || n != len(data) {
		t.Fatal(n, err)
	}
}

func looked(t *testing.T, path string) {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
}

// slurp reads a file whole.
func slurp(t *testing.T, path string) {
	t.Helper()
	fd := raise(t, path, syscall.O_RDONLY)
	buf := make([]byte, 128<<10)
	for {
		n, err := syscall.Read(fd, buf)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
	}
	lower(t, fd)
}
