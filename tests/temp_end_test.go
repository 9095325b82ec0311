package tests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// It ends with the connection that made it, and with no other.
func TestTempOfTwoConnections(t *testing.T) {
	m := newCoder(t)
	a, b := m.client(), m.client()
	dir := a.temp(m, "t", "one")
	b.ask("op", "send", "id", "m2", "scope", "temp", "session", "t", "input", "two")
	b.done()
	b.conn.Close()
	time.Sleep(50 * time.Millisecond)
	if log := read(t, dir+"/messages.jsonl"); strings.Count(log, "\n") != 2 {
		t.Errorf("got %s", log)
	}
	a.conn.Close()
	gone(t, dir)
}

// Files that are open when it ends give what they have, and take nothing more.
func TestTempOpenFiles(t *testing.T) {
	m := newCoder(t)
	c := m.client()
	dir := c.temp(m, "t", "hello")
	if err := os.WriteFile(dir+"/context/pinned/p", []byte("pinned"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(name string, flags int) *os.File {
		f, err := os.OpenFile(filepath.Join(dir, name), flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	log, pack, pin := open("messages.jsonl", os.O_RDONLY), open("context/pack.md", os.O_RDONLY), open("context/pinned/p", os.O_RDWR)
	writer, state, folder := open("events.jsonl", os.O_WRONLY|os.O_APPEND), open("state", os.O_WRONLY), open(".", os.O_RDONLY)
	whole := read(t, dir+"/messages.jsonl")
	sleeper := exec.Command("sleep", "60")
	sleeper.Dir = dir
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()

	c.conn.Close()
	gone(t, dir)
	buf := make([]byte, len(whole))
	if _, err := log.ReadAt(buf, 0); err != nil || string(buf) != whole {
		t.Errorf("the log: %q, %v", buf, err)
	}
	if n, err := pack.ReadAt(buf, 0); n == 0 || err != nil && err != io.EOF {
		t.Errorf("the pack: %d, %v", n, err)
	}
	if n, err := pin.ReadAt(buf[:6], 0); n != 6 || string(buf[:6]) != "pinned" {
		t.Errorf("a plain file: %q, %v", buf[:6], err)
	}
	_, err := writer.WriteString("{}\n")
	wants(t, "append", err, syscall.ESTALE)
	_, err = state.WriteString("done\n")
	wants(t, "a control file", err, syscall.ENOENT)
	_, err = unix.Openat(int(folder.Fd()), "messages.jsonl", unix.O_RDONLY, 0)
	wants(t, "open from inside", err, syscall.ENOENT, syscall.ESTALE)
	_, err = unix.Openat(int(folder.Fd()), "context/pinned/new", unix.O_RDWR|unix.O_CREAT, 0o600)
	wants(t, "create from inside", err, syscall.ENOENT, syscall.ESTALE)
	_, err = os.Stat(fmt.Sprintf("/proc/%d/cwd/messages.jsonl", sleeper.Process.Pid))
	wants(t, "stat from a process inside", err, syscall.ENOENT, syscall.ESTALE)
	again := m.client()
	again.temp(m, "t", "another")
	_, err = unix.Openat(int(folder.Fd()), "messages.jsonl", unix.O_RDONLY, 0)
	wants(t, "open from inside the old one", err, syscall.ENOENT, syscall.ESTALE)
}

// storm works in temporary sessions, while others make and end them, until stop is called.
func (m *mount) storm() (stop func()) {
	end := make(chan bool)
	var wg sync.WaitGroup
	for i := range 4 {
		dir := fmt.Sprintf("%s/temp/s%d", m.agent, i%2)
		wg.Go(func() {
			for k := 0; ; k++ {
				select {
				case <-end:
					return
				default:
				}
				// Each can find that the session has ended.
				_ = tryAdd(dir+"/messages.jsonl", message("user", "by a file"))
				_, _ = os.ReadFile(dir + "/context/pack.md")
				_ = os.WriteFile(fmt.Sprintf("%s/context/pinned/p%d", dir, k%50), []byte("x"), 0o600)
				_ = os.Rename(fmt.Sprintf("%s/context/pinned/p%d", dir, k%50), dir+"/context/pinned/q")
				_ = os.MkdirAll(dir+"/context/child/c", 0o700)
				_, _ = os.ReadDir(dir + "/context/pinned")
				_, _ = os.ReadFile(dir + "/context/recall/file")
				_ = write(dir+"/context/budget", "900\n")
				_, _ = os.ReadDir(m.agent)
			}
		})
	}
	return func() { close(end); wg.Wait() }
}

// Sessions come and end while programs work in them: no request waits for ever, and nothing is left.
func TestTempStorm(t *testing.T) {
	m := newCoder(t)
	first := m.client()
	used, files := inUse(t, first.temp(m, "alone", "x"))
	first.conn.Close()
	stop := m.storm()
	for round := range 60 {
		c := m.client()
		c.temp(m, fmt.Sprint("s", round%2), "x")
		if round%4 == 0 {
			time.Sleep(20 * time.Millisecond)
		}
		c.conn.Close()
	}
	stop()
	gone(t, m.agent+"/temp")
	c := m.client()
	defer c.conn.Close()
	dir := c.temp(m, "alone", "x")
	for range 200 {
		if now, n := inUse(t, dir); now <= used && n <= files {
			return
		}
		time.Sleep(10 * time.Millisecond) // what was open is closed by now
	}
	now, n := inUse(t, dir)
	t.Errorf("with one session there were %d bytes in %d files, and now %d in %d", used, files, now, n)
}

// inUse tells how much of the memory for temporary sessions is used, in bytes and files, where it is theirs alone.
func inUse(t *testing.T, dir string) (bytes, files uint64) {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		return 0, 0
	}
	return (st.Blocks - st.Bfree) * uint64(st.Bsize), st.Files - st.Ffree
}

// The daemon can be killed at any time in that, and nothing is left.
func TestTempKilledInAStorm(t *testing.T) {
	m := newCoder(t)
	for round := range 5 {
		stop := m.storm()
		ended := make(chan bool)
		go func() {
			defer close(ended)
			for k := 0; ; k++ {
				conn, err := dial(m.point+"/agent", "coder")
				if err != nil {
					return
				}
				fmt.Fprintf(conn, `{"op":"send","id":"m","scope":"temp","session":"s%d","input":"x"}`+"\n", k%2)
				_, err = bufio.NewReader(conn).ReadBytes('\n')
				conn.Close()
				if err != nil {
					return
				}
			}
		}()
		time.Sleep(time.Duration(100+53*round) * time.Millisecond)
		if err := m.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = m.cmd.Wait()
		<-ended
		stop()
		m.free()
		m.start()
		if got := names(t, m.agent); slices.Contains(got, "temp") {
			t.Errorf("round %d: %v", round, got)
		}
	}
}

// free takes a mountpoint back whose daemon was killed.
func (m *mount) free() {
	m.t.Helper()
	if os.Getuid() == 0 {
		_ = syscall.Unmount(m.point, syscall.MNT_DETACH)
		return
	}
	if out, err := exec.Command("fusermount3", "-u", "-z", m.point).CombinedOutput(); err != nil {
		m.t.Errorf("%v: %s", err, out)
	}
}

// After a SIGKILL nothing is left, in memory or on disk, also while somebody has a file open.
func TestTempKilled(t *testing.T) {
	m := newCoder(t)
	c := m.client()
	dir := c.temp(m, "t", "secret")
	add(t, dir+"/messages.jsonl", strings.Repeat(message("user", strings.Repeat("x", 1<<20)), 64))
	used := shmem(t)
	f, err := os.Open(dir + "/messages.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = m.cmd.Wait()
	f.Close()
	m.free()
	m.start()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	m.hidden(t, "secret")
	for range 1000 { // other programs of the host use some too
		if shmem(t) < used-40<<10 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("file systems have %d KiB of memory, and %d before the daemon was killed", shmem(t), used)
}

// shmem is how much of the host's memory file systems have, in KiB.
func shmem(t *testing.T) (n int) {
	t.Helper()
	for line := range strings.Lines(read(t, "/proc/meminfo")) {
		if _, err := fmt.Sscanf(line, "Shmem: %d kB", &n); err == nil {
			return n
		}
	}
	t.Fatal("no Shmem in /proc/meminfo")
	return 0
}
