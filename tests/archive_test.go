package tests

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// history makes n lines of about 400 bytes, some of them alike.
func history(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for i := range n {
		b.WriteString(message("user", fmt.Sprintf("%d: %x %s", i, r.Uint64(), strings.Repeat("the tests pass again; ", r.IntN(30)))))
	}
	return b.String()
}

// order runs `ctxfs session ORDER DIR` until nobody has the session open any more: RELEASE comes after close(2).
func order(t *testing.T, what, dir string) {
	t.Helper()
	var out []byte
	var err error
	for range 100 {
		if out, err = exec.Command(program, "session", what, dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "is open") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		t.Fatalf("session %s: %v\n%s", what, err, out)
	}
}

// TestArchive: the mount shows the same bytes of an archived session, at any offset and to mmap too, and takes appends.
func TestArchive(t *testing.T) {
	m := newMount(t)
	dir := m.session("old")
	log, want := dir+"/messages.jsonl", history(1, 4000)
	add(t, log, want)
	pack := read(t, dir+"/context/pack.md")
	stat, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	order(t, "archive", dir)
	plain := filepath.Join(m.store, strings.TrimPrefix(log, m.point))
	if _, err := os.Stat(plain); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the plain file is there: %v", err)
	}
	if now, err := os.Stat(log); err != nil || now.Size() != stat.Size() || !now.ModTime().Equal(stat.ModTime()) {
		t.Errorf("ls -l shows another file: %v, %v", now, err)
	}
	if got := read(t, log); got != want {
		t.Fatalf("%d bytes, want %d", len(got), len(want))
	}
	if got := read(t, dir+"/context/pack.md"); got != pack {
		t.Error("the pack is another")
	}
	if list, err := command("ls", "-A", dir); err != nil || strings.Contains(list, ".archive") {
		t.Errorf("what is archived shows in the tree: %s, %v", list, err)
	}
	for what, err := range map[string]error{"mkdir": os.Mkdir(dir+"/.archive", 0o700), "touch": os.WriteFile(dir+"/.archive", nil, 0o600),
		"rename": os.Rename(dir+"/context/budget", dir+"/.archive"), "write": os.WriteFile(dir+"/.archive/messages.jsonl", nil, 0o600), "rm": os.Remove(dir + "/.archive/messages.jsonl")} {
		wants(t, what+" of .archive", err, syscall.EPERM, syscall.ENOENT, syscall.EINVAL)
	}
	readAnywhere(t, log, want)
	for i := range 3 {
		line := message("user", fmt.Sprintf("goes on %d", i))
		add(t, log, line)
		want += line
		if got := read(t, log); got != want {
			t.Fatalf("after an append: %d bytes, want %d", len(got), len(want))
		}
		order(t, "archive", dir)
	}
	if out, err := command("grep", "-c", "goes on", log); err != nil || out != "3\n" {
		t.Errorf("grep: %q, %v", out, err)
	}
	order(t, "restore", dir)
	if got := read(t, plain); got != want || read(t, log) != want {
		t.Errorf("restored: %d bytes, want %d", len(got), len(want))
	}
	run(t, "gc", "--mount", m.point)
}

func readAnywhere(t *testing.T, log, want string) {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := rand.New(rand.NewPCG(2, 2))
	for range 300 {
		off := r.IntN(len(want))
		buf := make([]byte, min(1+r.IntN(9000), len(want)-off))
		if _, err := f.ReadAt(buf, int64(off)); err != nil || string(buf) != want[off:off+len(buf)] {
			t.Fatalf("%d bytes at %d: %v", len(buf), off, err)
		}
	}
}

// TestKilledWhileArchiving kills the daemon at any point of an archive: no byte is lost, and the next one works.
func TestKilledWhileArchiving(t *testing.T) {
	m := newMount(t)
	dir := m.session("old")
	log, want := dir+"/messages.jsonl", ""
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for i := range rounds {
		more := history(uint64(i), 1500)
		add(t, log, more)
		want += more
		cmd := exec.Command(program, "session", "archive", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i*5) * time.Millisecond)
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait()
		_ = cmd.Wait() // whether the archive was done does not matter
		run(t, "umount", m.point)
		m.start()
		if got := read(t, log); got != want {
			t.Fatalf("round %d: %d bytes, want %d", i, len(got), len(want))
		}
	}
	order(t, "archive", dir)
	if got := read(t, log); got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}

// TestGCWhileEverybodyWrites: gc beside a mount, killed at any point, while sessions grow, are archived and read.
func TestGCWhileEverybodyWrites(t *testing.T) {
	m := newMount(t)
	var all sync.WaitGroup
	stop := make(chan struct{})
	for w := range 3 {
		all.Go(func() {
			dir := m.session(fmt.Sprintf("s%d", w))
			log, want := dir+"/messages.jsonl", ""
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				more := history(uint64(w*1000+i), 300)
				if err := tryAdd(log, more); err != nil {
					t.Error(err)
					return
				}
				want += more
				_ = exec.Command(program, "session", "archive", dir).Run() // it may be open just now
				data, err := os.ReadFile(log)
				if err != nil || string(data) != want {
					t.Errorf("writer %d, round %d: %d bytes, want %d, %v", w, i, len(data), len(want), err)
					return
				}
			}
		})
	}
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for i := range rounds {
		cmd := exec.Command(program, "gc", "--mount", m.point)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			time.Sleep(time.Duration(10+i*7) * time.Millisecond)
			_ = cmd.Process.Kill()
		}
		if err := cmd.Wait(); err != nil && i%2 == 1 {
			t.Errorf("gc: %v", err)
		}
	}
	close(stop)
	all.Wait()
}

// TestDamagedArchive: damaged bytes are EIO and an event, never other bytes; all else stays readable.
func TestDamagedArchive(t *testing.T) {
	m := newMount(t)
	dir, other := m.session("old"), m.session("other")
	add(t, dir+"/messages.jsonl", history(1, 2000))
	add(t, other+"/messages.jsonl", history(9, 10))
	want := read(t, other+"/messages.jsonl")
	order(t, "archive", dir)
	m.stop()
	damage(t, filepath.Join(m.store, strings.TrimPrefix(m.agent, m.point), "../../.ctxfs/chunk"))
	m.start()
	_, err := os.ReadFile(dir + "/messages.jsonl")
	wants(t, "read of damaged bytes", err, syscall.EIO)
	if got := read(t, other+"/messages.jsonl"); got != want {
		t.Error("the other session is another")
	}
	told := false
	for range 100 {
		if told = strings.Contains(read(t, dir+"/events.jsonl"), `"type":"ctxfs.store.corrupt"`); told {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !told {
		t.Error("no event tells of it")
	}
	if out, err := exec.Command(program, "verify", "--store", m.store).CombinedOutput(); err == nil || !strings.Contains(string(out), "damaged") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if err := os.RemoveAll(filepath.Join(m.store, strings.TrimPrefix(dir, m.point))); err != nil { // what verify would tell of at the end
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(m.store, strings.TrimPrefix(m.agent, m.point), "../../.ctxfs/chunk")); err != nil {
		t.Fatal(err)
	}
}

// damage turns a bit in the middle of the largest file of a folder.
func damage(t *testing.T, dir string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var name string
	var data []byte
	for _, e := range list {
		if b, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil && len(b) > len(data) {
			name, data = filepath.Join(dir, e.Name()), b
		}
	}
	data[len(data)/2] ^= 1
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
