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
