package tests

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ctxfs/tests/testhost"
)

// installed mounts with a program of its own, that can be replaced.
func installed(t *testing.T) (m *mount, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ctxfs")
	if out, err := exec.Command("cp", program, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	needFUSE(t)
	m = &mount{t: t, point: filepath.Join(t.TempDir(), "ctx"), store: filepath.Join(t.TempDir(), "store"), program: path, crashes: true}
	if err := os.MkdirAll(m.point, 0o755); err != nil {
		t.Fatal(err)
	}
	m.agent = filepath.Join(m.point, "home", fmt.Sprint(os.Getuid()), "agent", "coder")
	m.start()
	t.Cleanup(m.finish)
	return m, path
}

// `ctxfs upgrade` replaces the program under a writer, and everything that is open stays open.
func TestUpgrade(t *testing.T) {
	m, path := installed(t)
	dir := m.session("busy")
	log := dir + "/messages.jsonl"
	c := &crowd{t: t}
	f, half := openLog(t, log), openLog(t, log)
	defer f.Close()
	if _, err := half.WriteString(`{"role":"user",`); err != nil {
		t.Fatal(err)
	}
	c.run("append", func(i int) error {
		time.Sleep(time.Millisecond)
		_, err := f.WriteString(message("user", "a"+fmt.Sprint(i)))
		return err
	}, func(n int) { numbered(t, log, "a", n) })
	open := m.openAll(dir)
	defer open.close()
	next := filepath.Join(t.TempDir(), "ctxfs")
	build := exec.Command("go", "build", "-ldflags", "-X main.version=v9.9.9", "-o", next, "ctxfs/cmd/ctxfs")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
	supervisor := m.status("pid")
	for range 3 { // the second and third are of the same program
		if out := run(t, "upgrade", m.point); !strings.Contains(out, "ctxfs v9.9.9 serves on") {
			t.Errorf("upgrade: %s", out)
		}
		open.check(t)
	}
	if m.status("version") != "v9.9.9" || m.status("pid") != supervisor || m.status("workers") != "4" {
		t.Errorf("%s", read(t, m.point+"/status"))
	}
	if _, err := half.WriteString(`"content":"half"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := half.Close(); err != nil {
		t.Fatal(err)
	}
	c.end()
	if !strings.Contains(read(t, log), `{"role":"user","content":"half"}`+"\n") {
		t.Error("the line that was begun before is not in the log")
	}
}

// A program that cannot go on is refused, and the mount is served as before.
func TestUpgradeRefused(t *testing.T) {
	m, path := installed(t)
	log := m.session("s") + "/messages.jsonl"
	for _, c := range [][2]string{{"broken", "exit 1"}, {"another's", `echo '{"version":"v0"}'`}, {"gone", ""}} {
		name, script := c[0], c[1]
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if script != "" {
			if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.Command(program, "upgrade", m.point).CombinedOutput()
		if err == nil {
			t.Errorf("%s: %s", name, out)
		}
		pid, _ := strconv.Atoi(m.status("pid"))
		if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil { // as `ctxfs upgrade` does, without a look at the program
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		add(t, log, message("user", name))
		if m.status("workers") != "1" {
			t.Errorf("%s: worker %s serves", name, m.status("workers"))
		}
	}
}

// Workers that die while they bind sockets, which they do through their own mount, are replaced.
func TestWorkerKilledBinding(t *testing.T) {
	m := newMount(t)
	const names = 20
	for i := range names {
		if err := os.MkdirAll(fmt.Sprintf("%s/home/%d/agent/a%d/session", m.point, os.Getuid(), i), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for round := range kills(t) / 2 {
		var wg sync.WaitGroup
		for i := range names {
			wg.Go(func() { _, _ = os.Lstat(fmt.Sprintf("%s/agent/a%d.sock", m.point, i)) })
		}
		time.Sleep(time.Duration(round%8) * 500 * time.Microsecond)
		m.killWorker()
		wg.Wait()
		if _, err := os.Lstat(m.point + "/agent/a0.sock"); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
}

// A mount of an ordinary user's, which fusermount3 mounts, is kept alive as root's is, in the background too.
func TestWorkerKilledOfAnOrdinaryUser(t *testing.T) {
	point, store := userMount(t)
	do := func(name string, args ...string) string {
		t.Helper()
		out, err := asNobody(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	do(program, "mount", point, "--store", store, "--background")
	defer func() { do(program, "umount", point) }()
	dir := point + fmt.Sprintf("/home/%d/agent/coder/session/s", nobody)
	do("mkdir", "-p", dir)
	const lines = 300
	w := asNobody("sh", "-c", fmt.Sprintf(`i=0; exec 8<%s/context/pack.md; while [ $i -lt %d ]; do echo "{\"role\":\"user\",\"content\":\"a$i\"}" || exit 1; i=$((i+1)); sleep 0.005; done >> %s/messages.jsonl; cat <&8`, dir, lines, dir))
	out, err := w.StdoutPipe()
	if err == nil {
		err = w.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		time.Sleep(60 * time.Millisecond)
		_, rest, _ := strings.Cut(do("cat", point+"/status"), "\nworker: ")
		line, _, _ := strings.Cut(rest, "\n")
		pid, err := strconv.Atoi(line)
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	pack, err := io.ReadAll(out)
	if werr := w.Wait(); err != nil || werr != nil || !strings.HasPrefix(string(pack), "# Context pack of coder/s\n") {
		t.Errorf("the writer: %v, %v; its pack is %.60q", err, werr, pack)
	}
	log := do("cat", dir+"/messages.jsonl")
	for i, line := range strings.Split(strings.TrimSuffix(log, "\n"), "\n") {
		if line != fmt.Sprintf(`{"role":"user","content":"a%d"}`, i) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
	if n := strings.Count(log, "\n"); n != lines {
		t.Errorf("%d lines, not %d", n, lines)
	}
	if n := strings.Count(read(t, store+"/.ctxfs/daemon.log"), "starting another"); n != 8 {
		t.Errorf("%d workers were replaced:\n%s", n, read(t, store+"/.ctxfs/daemon.log"))
	}
}

// trial is a program that is tried for as long as it is wanted.
type trial struct {
	*mount
	held string // the file while which it gives no answer
	pid  int    // the supervisor
}

// tried has a mount's supervisor try a program, which is the same one.
func tried(t *testing.T) *trial {
	t.Helper()
	m, path := installed(t)
	dir := t.TempDir()
	r := &trial{mount: m, held: dir + "/held"}
	asked := dir + "/asked"
	slow := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = version ]; then touch %s; while [ -e %s ]; do sleep 0.01; done; fi\nexec %s \"$@\"\n", asked, r.held, program)
	must(t, os.WriteFile(path+".new", []byte(slow), 0o755))
	must(t, os.Rename(path+".new", path))
	must(t, os.WriteFile(r.held, nil, 0o600))
	var err error
	r.pid, err = strconv.Atoi(m.status("pid"))
	must(t, err)
	must(t, syscall.Kill(r.pid, syscall.SIGUSR2))
	until(t, "the program is tried", func() bool { _, err := os.Stat(asked); return err == nil })
	return r
}

// end waits until that program serves, by the worker of that number.
func (r *trial) end(worker string) {
	r.t.Helper()
	must(r.t, os.Remove(r.held))
	until(r.t, "the program that was tried serves", func() bool { return r.status("workers") == worker })
	if pid := r.status("pid"); pid != fmt.Sprint(r.pid) {
		r.t.Errorf("the supervisor is process %s now", pid)
	}
}

// removed opens a file and removes it.
func (r *trial) removed(name string) *os.File {
	r.t.Helper()
	f, err := os.OpenFile(r.plain(r.agent+"/session/s/context/pinned/"+name), os.O_RDWR, 0)
	must(r.t, err)
	must(r.t, os.Remove(f.Name()))
	return f
}

// What a worker says while a program is tried is heard: files that are removed are kept for whoever has them open, and let go when
// they are closed.
func TestUpgradeTriedHears(t *testing.T) {
	r := tried(t)
	r.session("s")
	var files []*os.File
	for i := range 3 {
		files = append(files, r.removed(fmt.Sprint(i)))
	}
	r.end("2")
	for _, f := range files {
		buf := make([]byte, 9)
		if n, err := f.ReadAt(buf, 0); err != io.EOF || string(buf[:n]) != "plain" {
			t.Errorf("%s: %q, %v", f.Name(), buf[:n], err)
		}
		must(t, f.Close())
	}
	until(t, "what is closed is let go", func() bool { return deleted(t, r.pid) == 0 })
}

// A worker that dies while a program is tried is replaced, as ever.
func TestUpgradeTriedWorkerKilled(t *testing.T) {
	r := tried(t)
	log := r.session("s") + "/messages.jsonl"
	for i := range 3 {
		r.killWorker()
		add(t, log, message("user", fmt.Sprint("a", i)))
	}
	r.end("5")
	numbered(t, log, "a", 3)
}

// A mount can be ended while a program is tried.
func TestUpgradeTriedEnd(t *testing.T) {
	r := tried(t)
	r.stop()
	must(t, os.Remove(r.held))
	r.start() // for the end of the test
}

// deleted counts the removed files that a process holds.
func deleted(t *testing.T, pid int) (n int) {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	must(t, err)
	for _, e := range list {
		if target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, e.Name())); strings.HasSuffix(target, " (deleted)") && !strings.HasPrefix(target, "/memfd:") {
			n++
		}
	}
	return n
}

// However many files are open that were removed, a program can take the place of another.
func TestUpgradeWithManyRemoved(t *testing.T) {
	notUnderRace(t)
	testhost.Rare(t)
	m, _ := installed(t)
	dir := m.session("s") + "/context/pinned/"
	const many = 8000
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	if limit.Max < 2*many {
		skip(t, "a process may have no more than %d files open", limit.Max)
	}
	var files []*os.File
	for range many {
		f, err := os.OpenFile(dir+"f", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		must(t, err)
		defer f.Close()
		must(t, os.Remove(f.Name()))
		files = append(files, f)
	}
	if _, err := files[many-1].WriteString("last"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		run(t, "upgrade", m.point)
	}
	buf := make([]byte, 9)
	if n, err := files[many-1].ReadAt(buf, 0); err != io.EOF || string(buf[:n]) != "last" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	if m.status("workers") != "3" {
		t.Errorf("%s", read(t, m.point+"/status"))
	}
	for _, f := range files {
		must(t, f.Close())
	}
}
