package tests

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// kills is how often a test kills workers: CTXFS_TEST_KILLS, else 50, or 8 in short runs.
func kills(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("CTXFS_TEST_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if testing.Short() {
		return 8
	}
	return 50
}

// killWorker kills the process that serves the mount, and waits until another one does.
func (m *mount) killWorker() {
	m.t.Helper()
	m.crashes = true
	old := m.worker()
	if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
		m.t.Fatal(err)
	}
	for range 1000 {
		if m.worker() != old {
			return
		}
		time.Sleep(time.Millisecond)
	}
	m.t.Fatal("no other worker came")
}

// crowd is what goes on while workers are killed. Each of its parts runs again and again until it is stopped, and any error of
// it fails the test.
type crowd struct {
	t    *testing.T
	wg   sync.WaitGroup
	stop atomic.Bool
	done []func() // what is checked at the end
}

// run repeats part; what it does last is checked by after.
func (c *crowd) run(name string, part func(i int) error, after func(n int)) {
	n := 0
	c.wg.Go(func() {
		for ; !c.stop.Load(); n++ {
			if err := part(n); err != nil {
				c.t.Errorf("%s, round %d: %v", name, n, err)
				return
			}
		}
	})
	if after != nil {
		c.done = append(c.done, func() { after(n) })
	}
}

func (c *crowd) end() {
	c.stop.Store(true)
	c.wg.Wait()
	for _, f := range c.done {
		f()
	}
}

// numbered checks that a log holds the messages with contents prefix0 to prefix(n-1) once each and in order, among others.
func numbered(t *testing.T, log, prefix string, n int) {
	t.Helper()
	next := 0
	for line := range strings.Lines(read(t, log)) {
		if !strings.Contains(line, `"`+prefix) {
			continue
		}
		if line != message("user", prefix+fmt.Sprint(next)) {
			t.Fatalf("%s: record %d is %.80q", prefix, next, line)
		}
		next++
	}
	if next != n {
		t.Errorf("%s: %d records, %d were acknowledged", prefix, next, n)
	}
}

// A worker that is killed is not missed: no error, nothing lost, nothing twice, and what was open stays open.
func TestWorkerKilled(t *testing.T) {
	m := newMount(t)
	dir := m.session("busy")
	log := dir + "/messages.jsonl"
	c := &crowd{t: t}
	f := openLog(t, log)
	var stalls []time.Duration
	var worst atomic.Int64
	c.run("append", func(i int) error {
		start := time.Now()
		_, err := f.WriteString(message("user", "a"+fmt.Sprint(i)))
		worst.Store(max(worst.Load(), int64(time.Since(start))))
		return err
	}, func(n int) { numbered(t, log, "a", n) })
	half := openLog(t, log)
	c.run("half lines", func(i int) error {
		line := message("user", "h"+fmt.Sprint(i))
		for _, part := range []string{line[:9], line[9:20], line[20:]} {
			if _, err := half.WriteString(part); err != nil {
				return err
			}
		}
		return nil
	}, func(n int) { numbered(t, log, "h", n) })
	c.run("open, append, close", func(i int) error { return tryAdd(log, message("user", "o"+fmt.Sprint(i))) }, func(n int) { numbered(t, log, "o", n) })
	c.run("read", tail(t, log), nil)
	c.run("large", func(i int) error {
		time.Sleep(100 * time.Millisecond) // else what is verified at the end is gigabytes
		return tryAdd(log, strings.Repeat(message("user", "large"+strings.Repeat("x", 60000)), 16))
	}, func(n int) {
		if got := strings.Count(read(t, log), `"largex`); got != 16*n {
			t.Errorf("large: %d records, %d were acknowledged", got, 16*n)
		}
	})
	c.run("names", names3(dir+"/context/pinned"), nil)
	c.run("control", control(dir), nil)
	c.run("missing", func(i int) error {
		return tryAdd(dir+"/context/missing.jsonl", fmt.Sprintf("{\"question\":\"q%d?\",\"severity\":\"high\"}\n", i))
	}, func(n int) {
		if got := strings.Count(read(t, dir+"/context/missing.jsonl"), "\n"); got != n {
			t.Errorf("missing.jsonl: %d lines, %d were acknowledged", got, n)
		}
	})
	open := m.openAll(dir)
	open.add(t, m.point+"/bin/ctxfs", read(t, program)) // what was read of it the kernel would keep
	for range kills(t) {
		worst.Store(0)
		m.killWorker()
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
		stalls = append(stalls, time.Duration(worst.Load()))
		open.check(t)
	}
	c.end()
	f.Close()
	half.Close()
	open.close()
	tell(t, stalls)
	if q, _ := filepath.Glob(m.store + "/home/*/.ctxfs/quarantine/*"); len(q) > 0 {
		t.Errorf("in quarantine: %v", q)
	}
}

// A session that is renamed while workers die keeps its open logs, and files keep their bytes under whatever name they have.
func TestWorkerKilledRenaming(t *testing.T) {
	m := newMount(t)
	dir := m.session("one")
	c := &crowd{t: t}
	f := openLog(t, dir+"/messages.jsonl")
	c.run("append", func(i int) error { _, err := f.WriteString(message("user", "a"+fmt.Sprint(i))); return err }, nil)
	names := []string{dir, dir + "-two"}
	c.run("rename the session", func(i int) error { return os.Rename(names[i%2], names[1-i%2]) }, func(n int) { dir = names[n%2] })
	root := m.agent + "/root/"
	must(t, os.MkdirAll(root+"d", 0o700))
	c.run("rename files", func(i int) error {
		text, other := fmt.Sprint("this is ", i), fmt.Sprint("another ", i)
		if err := errors.Join(os.WriteFile(root+"new", []byte(text), 0o600), os.Rename(root+"new", root+"d/old"), os.WriteFile(root+"new", []byte(other), 0o600)); err != nil {
			return err
		}
		for name, want := range map[string]string{"d/old": text, "new": other} {
			if got, err := os.ReadFile(root + name); err != nil || string(got) != want {
				return fmt.Errorf("%s: %q instead of %q, %v", name, got, want, err)
			}
		}
		return os.Remove(root + "new")
	}, nil)
	c.run("remove what is open", func(i int) error {
		file, err := os.Create(root + "gone")
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = file.WriteString("the first")
		if err = errors.Join(err, os.Remove(root+"gone"), os.WriteFile(root+"gone", []byte("2nd"), 0o600)); err != nil {
			return err
		}
		got := make([]byte, 20)
		n, err := file.ReadAt(got, 0)
		if !errors.Is(err, io.EOF) || string(got[:n]) != "the first" {
			return fmt.Errorf("what was removed reads %q, %v", got[:n], err)
		}
		return os.Remove(root + "gone")
	}, nil)
	for range kills(t) {
		m.killWorker()
		time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
	}
	c.end()
	n := strings.Count(read(t, dir+"/messages.jsonl"), "\n")
	numbered(t, dir+"/messages.jsonl", "a", n)
	must(t, f.Close())
}

// A worker that dies in the middle of a line that is too long: the rest is of that line, and not a line of its own.
func TestWorkerKilledInALineTooLong(t *testing.T) {
	m := newMount(t)
	log := m.session("long") + "/messages.jsonl"
	fd, err := syscall.Open(log, syscall.O_WRONLY|syscall.O_APPEND, 0)
	must(t, err)
	defer syscall.Close(fd)
	piece := []byte(strings.Repeat("x", 1<<20))
	for range 64 {
		if _, err = syscall.Write(fd, piece); err != nil {
			break
		}
	}
	wants(t, "a line of 64 MB", err, syscall.EFBIG)
	m.killWorker()
	_, err = syscall.Write(fd, []byte("the rest\n"))
	wants(t, "the rest", err, syscall.EFBIG)
	_, err = syscall.Write(fd, []byte(message("user", "next")))
	must(t, err)
	if got := read(t, log); got != message("user", "next") {
		t.Errorf("the log is %.100q", got)
	}
}

// How long one writer that never rests waits for an append when the worker dies.
func TestWorkerKilledPause(t *testing.T) {
	m := newMount(t)
	log := m.session("busy") + "/messages.jsonl"
	c := &crowd{t: t}
	f := openLog(t, log)
	var worst atomic.Int64
	c.run("append", func(i int) error {
		if i%10 == 0 {
			time.Sleep(time.Millisecond) // or the log takes longer to check than the kills
		}
		start := time.Now()
		_, err := f.WriteString(message("user", "a"+fmt.Sprint(i)))
		worst.Store(max(worst.Load(), int64(time.Since(start))))
		return err
	}, func(n int) { numbered(t, log, "a", n) })
	var stalls []time.Duration
	for range kills(t) {
		time.Sleep(time.Duration(20+rand.IntN(60)) * time.Millisecond)
		worst.Store(0)
		m.killWorker()
		time.Sleep(5 * time.Millisecond) // the append that waited has returned
		stalls = append(stalls, time.Duration(worst.Load()))
	}
	c.end()
	f.Close()
	tell(t, stalls)
}

func openLog(t *testing.T, log string) *os.File {
	t.Helper()
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// tell shows how long the longest append around each kill took.
func tell(t *testing.T, d []time.Duration) {
	t.Helper()
	slices.Sort(d)
	at := func(p float64) time.Duration { return d[int(p*float64(len(d)-1))].Round(100 * time.Microsecond) }
	t.Logf("longest append around each of %d kills: p50 %v, p90 %v, p99 %v, max %v", len(d), at(0.5), at(0.9), at(0.99), at(1))
}

// tail reads a log through one open file, from where it ended before.
func tail(t *testing.T, log string) func(int) error {
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	at := int64(0)
	buf := make([]byte, 64<<10)
	return func(int) error {
		n, err := f.ReadAt(buf, at)
		if at += int64(n); errors.Is(err, io.EOF) {
			if err = nil; n > 0 && buf[n-1] != '\n' {
				return fmt.Errorf("half a line, up to byte %d: ends with %.40q", at, buf[max(0, n-40):n])
			}
			time.Sleep(time.Millisecond)
		}
		return err
	}
}

// Whoever reads a log while it is written reads whole lines, however long they are.
func TestWholeLines(t *testing.T) {
	m := newMount(t)
	for _, size := range []int{3000, 9000, 60000, 900000} {
		log := m.session(fmt.Sprint("lines-", size)) + "/messages.jsonl"
		c := &crowd{t: t}
		f := openLog(t, log)
		line := message("user", strings.Repeat("x", size))
		c.run("write", func(int) error { _, err := f.WriteString(line); return err }, nil)
		read := tail(t, log)
		var reads atomic.Int64
		c.run("read", func(i int) error { reads.Store(int64(i)); return read(i) }, nil)
		until(t, "it was read often", func() bool { return reads.Load() > 300 })
		c.end()
		must(t, f.Close())
	}
}

// names3 makes, renames and removes files and a folder.
func names3(dir string) func(int) error {
	return func(i int) error {
		a, b, d := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "d")
		f, err := os.OpenFile(a, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, werr := fmt.Fprint(f, i)
		if err := errors.Join(werr, f.Close(), os.Rename(a, b), os.Mkdir(d, 0o700), os.Remove(d)); err != nil {
			return err
		}
		if data, err := os.ReadFile(b); err != nil || string(data) != fmt.Sprint(i) {
			return fmt.Errorf("%q, %v", data, err)
		}
		return os.Remove(b)
	}
}

// control writes control files and reads them again.
func control(dir string) func(int) error {
	return func(i int) error {
		for file, text := range map[string]string{"/context/budget": fmt.Sprintf("%d\n", 1000+i), "/context/summary.md": strings.Repeat(fmt.Sprint(i, " "), 2000), "/state": []string{"idle\n", "active\n"}[i%2]} {
			if err := write(dir+file, text); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if got, err := os.ReadFile(dir + file); err != nil || string(got) != text {
				return fmt.Errorf("%s: %.20q, %w", file, got, err)
			}
		}
		return nil
	}
}

// opened are files that stay open.
type opened struct {
	files []*os.File
	want  []string // what each shows; "": not looked at
}

func (m *mount) openAll(dir string) *opened {
	m.t.Helper()
	o := &opened{}
	for _, name := range []string{"context/pack.md", "context/pack.json", "context/pack@900.md", "created_at", "meta.json", "context/trace/selection.json", "latest.md"} {
		f, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			m.t.Fatal(err)
		}
		data, err := io.ReadAll(f)
		if err != nil {
			m.t.Fatal(err)
		}
		o.files, o.want = append(o.files, f), append(o.want, string(data))
	}
	for _, gone := range []func(name string) error{os.Remove, func(name string) error { return os.Rename(name, filepath.Join(dir, "context/todo.md")) },
		func(name string) error { return os.Rename(m.plain(filepath.Join(dir, "context/pinned/other")), name) }} {
		f, err := os.OpenFile(m.plain(filepath.Join(dir, "context/pinned/kept")), os.O_RDWR, 0)
		if err != nil {
			m.t.Fatal(err)
		}
		_ = gone(f.Name()) // the second moves it only where the rules allow that
		o.files, o.want = append(o.files, f), append(o.want, "plain")
	}
	for _, name := range []string{"messages.jsonl", "events.jsonl"} {
		o.add(m.t, filepath.Join(dir, name), "")
	}
	return o
}

// add opens one more, and does not read it yet.
func (o *opened) add(t *testing.T, name, want string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	o.files, o.want = append(o.files, f), append(o.want, want)
}

// plain makes a plain file.
func (m *mount) plain(name string) string {
	m.t.Helper()
	if err := os.WriteFile(name, []byte("plain"), 0o600); err != nil {
		m.t.Fatal(err)
	}
	return name
}

func (o *opened) check(t *testing.T) {
	t.Helper()
	for i, f := range o.files {
		buf := make([]byte, len(o.want[i])+1)
		n, err := f.ReadAt(buf, 0)
		if o.want[i] == "" && err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) || string(buf[:n]) != o.want[i] {
			t.Errorf("%s: %d bytes, %v; it showed %d when it was opened", f.Name(), n, err, len(o.want[i]))
		}
	}
}

func (o *opened) close() {
	for _, f := range o.files {
		f.Close()
	}
}

// TestOrphanTold: systemd sends SIGTERM to what a supervisor that was killed has left, before it starts another one. The worker does
// not take the mount away then: the next supervisor goes on with it.
func TestOrphanTold(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1") // so that it depends on the order in which it hears of both
	m := newMount(t)
	m.session("orphan")
	for range 20 {
		worker := m.worker()
		pause(t, worker) // it hears of both at once
		must(t, m.cmd.Process.Kill())
		until(t, "the supervisor's files are closed", func() bool { // which comes before the end of its last thread
			status := read(t, fmt.Sprintf("/proc/%d/status", m.cmd.Process.Pid))
			return strings.Contains(status, "\nState:\tZ") && strings.Contains(status, "\nThreads:\t1\n")
		})
		must(t, syscall.Kill(worker, syscall.SIGTERM))
		must(t, syscall.Kill(worker, syscall.SIGCONT))
		_ = m.cmd.Wait() // until both are gone
		if list := read(t, "/proc/self/mounts"); !strings.Contains(list, " "+m.point+" fuse.ctxfs ") {
			t.Fatal("the mount was taken away")
		}
		m.start() // which takes the stale mountpoint away
	}
}
