package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ctxfs/tests/testhost"

	"golang.org/x/sys/unix"
)

func TestBytesComeBackExactly(t *testing.T) {
	m := newMount(t)
	log := m.session("exact") + "/messages.jsonl"
	line := "{\"role\":\"user\",  \"content\":\"sp\\u00e4ce ✓\",\"n\":1.50}\n"
	add(t, log, line)
	if got := read(t, log); got != line {
		t.Errorf("got %q, want %q", got, line)
	}
	if st, err := os.Stat(log); err != nil || st.Size() != int64(len(line)) {
		t.Errorf("size %v, %v; want %d", st.Size(), err, len(line))
	}
}

// A log is append-only as under chattr +a (ioctl_iflags(2)), whoever asks.
func TestLogIsAppendOnly(t *testing.T) {
	m := newMount(t)
	dir := m.session("fixed")
	for _, name := range []string{"messages.jsonl", "events.jsonl"} {
		log := dir + "/" + name
		add(t, log, message("user", "one"))
		open := func(flags int) error {
			fd, err := unix.Open(log, flags, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}
		fd, err := unix.Open(log, unix.O_WRONLY|unix.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"open to write":          open(unix.O_WRONLY),
			"open to read and write": open(unix.O_RDWR),
			"open to truncate":       open(unix.O_WRONLY | unix.O_TRUNC),
			"append and truncate":    open(unix.O_WRONLY | unix.O_APPEND | unix.O_TRUNC),
			"truncate":               unix.Truncate(log, 0),
			"truncate up":            unix.Truncate(log, 1<<20),
			"ftruncate":              unix.Ftruncate(fd, 0),
			"unlink":                 unix.Unlink(log),
			"rename":                 unix.Rename(log, log+".old"),
			"link":                   unix.Link(log, dir+"/context/pinned/l"),
			"chmod":                  unix.Chmod(log, 0o644),
			"set a time":             unix.Utimes(log, []unix.Timeval{{Sec: 1}, {Sec: 1}}),
			"fallocate":              unix.Fallocate(fd, 0, 0, 1<<20),
		} {
			wants(t, name+": "+what, err, syscall.EPERM)
		}
		unix.Close(fd)
		if got := read(t, log); got != message("user", "one") {
			t.Errorf("%s changed: %q", name, got)
		}
	}
}

// fcntl(2) can take O_APPEND off a descriptor: a write without it is refused. A writable mapping never reaches the log.
func TestNoWayAroundAppending(t *testing.T) {
	m := newMount(t)
	log := m.session("around") + "/messages.jsonl"
	add(t, log, message("user", strings.Repeat("x", 9000)))
	before := read(t, log)
	fd, err := unix.Open(log, unix.O_WRONLY|unix.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, 0); err != nil {
		t.Fatal(err)
	}
	_, err = unix.Pwrite(fd, []byte("{}\n"), 0)
	wants(t, "pwrite without O_APPEND", err, syscall.EPERM)
	unix.Close(fd)

	fd, err = unix.Open(log, unix.O_RDWR|unix.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if mem, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		copy(mem, "YYYYYYYY")
		_ = unix.Msync(mem, unix.MS_SYNC) // may say EIO: the write was refused
		_ = unix.Munmap(mem)
	}
	unix.Close(fd)
	if got := read(t, log); got != before {
		t.Errorf("a mapping changed the log: %q...", got[:40])
	}
}

// O_RDWR with O_APPEND is allowed, as under chattr +a; it reads back what it wrote.
func TestAppendAndReadOneDescriptor(t *testing.T) {
	m := newMount(t)
	log := m.session("both") + "/messages.jsonl"
	f, err := os.OpenFile(log, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(message("user", "one")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, _ := f.ReadAt(buf, 0)
	if string(buf[:n]) != message("user", "one") {
		t.Errorf("read back %q", buf[:n])
	}
	if got := read(t, log); got != message("user", "one") { // a second reader beside it
		t.Errorf("second reader: %q", got)
	}
	f.Close()
	if got := read(t, log); got != message("user", "one") {
		t.Errorf("after close: %q", got)
	}
}

func TestNotARecordIsRefused(t *testing.T) {
	m := newMount(t)
	dir := m.session("junk")
	log := dir + "/messages.jsonl"
	add(t, log, message("user", "before"))
	junk := []string{"not json\n", "[1,2]\n", "\"string\"\n", "{\"a\":\n", "{\"a\":1}{\"b\":2}\n", "{\"a\":\"\xff\xfe\"}\n", "\x00\x00\x00\n", "\n", "null\n"}
	for _, j := range junk {
		wants(t, fmt.Sprintf("%q", j), tryAdd(log, j), syscall.EINVAL)
	}
	add(t, log, message("user", "after"))
	if want := message("user", "before") + message("user", "after"); read(t, log) != want {
		t.Errorf("log: %q", read(t, log))
	}
	checkQuarantine(t, m, dir, junk)
}

// What is refused at events.jsonl is told in events.jsonl.
func TestBadEvent(t *testing.T) {
	m := newMount(t)
	dir := m.session("events")
	add(t, dir+"/events.jsonl", "{\"type\":\"tool\"}\n")
	wants(t, "a bad event", tryAdd(dir+"/events.jsonl", "bad\n"), syscall.EINVAL)
	checkQuarantine(t, m, dir, []string{"bad\n"})
	if got := read(t, dir+"/events.jsonl"); !strings.HasPrefix(got, "{\"type\":\"tool\"}\n{") {
		t.Errorf("events: %s", got)
	}
}

// checkQuarantine holds the events to what they say: each names a file that has the refused bytes.
func checkQuarantine(t *testing.T, m *mount, dir string, want []string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(read(t, dir+"/events.jsonl")) {
		var e struct {
			Type string
			Data struct{ Path, Log string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != "ctxfs.line.quarantined" {
			continue
		}
		data, err := os.ReadFile(m.store + "/" + e.Data.Path)
		if err != nil {
			t.Error(err)
		}
		got = append(got, string(data))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("quarantined %q, want %q", got, want)
	}
}

// Lines before a bad one in the same write(2) stay; the bad one and what follows it are kept aside.
func TestGoodLinesBeforeABadOneStay(t *testing.T) {
	m := newMount(t)
	dir := m.session("mixed")
	log := dir + "/messages.jsonl"
	good, bad, after := message("user", "good"), "bad\n", message("user", "after")
	wants(t, "mixed write", tryAdd(log, good+bad+after), syscall.EINVAL)
	if got := read(t, log); got != good {
		t.Errorf("log: %q", got)
	}
	checkQuarantine(t, m, dir, []string{bad + after})
}

func TestByteAtATime(t *testing.T) {
	m := newMount(t)
	log := m.session("slow") + "/messages.jsonl"
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	line := message("user", strings.Repeat("drip ", 40))
	for i := range len(line) {
		if _, err := f.WriteString(line[i : i+1]); err != nil {
			t.Fatal(err)
		}
		if i == len(line)/2 {
			if got := read(t, log); got != "" {
				t.Errorf("a reader saw half a line: %q", got)
			}
			if st, err := os.Stat(log); err != nil || st.Size() != 0 {
				t.Errorf("stat shows half a line: %d", st.Size())
			}
			add(t, log, message("user", "other"))
		}
	}
	f.Close()
	if want := message("user", "other") + line; read(t, log) != want {
		t.Errorf("log: %q", read(t, log))
	}
}

// What a shell does: several commands share one open file, and each closes a duplicate of its descriptor.
func TestShellDescriptors(t *testing.T) {
	m := newMount(t)
	log := m.session("shell") + "/messages.jsonl"
	script := `set -e; exec 3>>"$1"
printf '{"role":"user",' >&3; printf '"content":"in two parts"}\n' >&3
printf '{"role":"user","content":"newline later"}' >&3; printf '\n' >&3
echo '{"role":"user","content":"whole"}' >&3; exec 3>&-
(echo '{"role":"user","content":"child 1"}' & echo '{"role":"user","content":"child 2"}'; wait) >> "$1"
awk 'BEGIN { for (i = 0; i < 300; i++) print "{\"role\":\"user\",\"content\":\"awk " i "\"}" }' >> "$1"`
	out, err := exec.Command("bash", "-c", script, "bash", log).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(read(t, log)), "\n")
	if len(lines) != 305 {
		t.Fatalf("%d lines, want 305", len(lines))
	}
	for i, want := range []string{"in two parts", "newline later", "whole"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d: %s", i, lines[i])
		}
	}
}

func TestUnfinishedLastLine(t *testing.T) {
	m := newMount(t)
	dir := m.session("last")
	log := dir + "/messages.jsonl"
	whole := strings.TrimSuffix(message("user", "whole"), "\n")
	add(t, log, whole)
	if got := read(t, log); got != whole+"\n" {
		t.Errorf("log: %q", got)
	}
	wants(t, "half a line at close", tryAdd(log, `{"role":"user","content":"ha`), syscall.EINVAL)
	add(t, log, message("user", "next"))
	if want := whole + "\n" + message("user", "next"); read(t, log) != want {
		t.Errorf("log: %q", read(t, log))
	}
	checkQuarantine(t, m, dir, []string{`{"role":"user","content":"ha`})
}

// Eight writers with lines of all sizes, up to more than one request: whole, in order, none lost.
func TestWritersNeverInterleave(t *testing.T) {
	m := newMount(t)
	log := m.session("writers") + "/messages.jsonl"
	sizes := []int{10, 400, 9000, 300_000, 5 << 20}
	if testhost.Race {
		sizes[4] = 1<<20 + 1<<19 // still in several requests
	}
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for i := range each {
				text := fmt.Sprintf("%d %d %s", w, i, strings.Repeat(string(rune('a'+w)), sizes[(w+i)%len(sizes)]))
				if _, err := f.WriteString(message("user", text)); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	next := make([]int, writers)
	for _, line := range bytes.Split(bytes.TrimSpace([]byte(read(t, log))), []byte{'\n'}) {
		var r struct{ Content string }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("a torn line: %v", err)
		}
		var w, i int
		var rest string
		if n, _ := fmt.Sscan(r.Content, &w, &i, &rest); n != 3 || i != next[w] || strings.Trim(rest, string(rune('a'+w))) != "" {
			t.Fatalf("writer %d: record %d, want %d", w, i, next[w])
		}
		next[w]++
	}
	for w, n := range next {
		if n != each {
			t.Errorf("writer %d: %d records, want %d", w, n, each)
		}
	}
}

// A daemon that is killed loses no line whose write(2) returned, and the store opens again.
func TestKilledDaemonLosesNothing(t *testing.T) {
	m := newMount(t)
	log := m.session("killed") + "/messages.jsonl"
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	acked := make(chan int)
	go func() {
		n := 0
		for ; ; n++ {
			if _, err := f.WriteString(message("user", fmt.Sprint(n))); err != nil {
				break
			}
			if n == 200 {
				_ = m.cmd.Process.Kill()
			}
		}
		acked <- n
	}()
	n := <-acked
	_ = m.cmd.Wait()
	f.Close()
	_, err = os.ReadDir(m.point)
	wants(t, "ls of a stale mountpoint", err, syscall.ENOTCONN)
	m.start() // which takes the stale mountpoint away
	got := strings.Count(read(t, log), "\n")
	if got != n && got != n+1 { // the one in flight may have made it
		t.Errorf("%d records, %d were acknowledged", got, n)
	}
	add(t, log, message("user", "goes on"))
}

// TestFsyncFolders: every folder takes fsync(2), which programs do after a rename; made ones have nothing to bring to the disk.
func TestFsyncFolders(t *testing.T) {
	m := newMount(t)
	dir := m.session("s")
	if err := os.MkdirAll(dir+"/context/child/rev-1", 0o700); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := filepath.WalkDir(m.point, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		d, err := os.Open(p)
		if err != nil {
			return err
		}
		defer d.Close()
		n++
		return d.Sync()
	})
	if err != nil || n < 15 {
		t.Errorf("%d folders: %v", n, err)
	}
}
