package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"ctxfs/internal/quality/procs"
)

// world is a store with many sessions, a mount of it, and the same folders beside it.
type world struct {
	n               int
	program         string
	store, point    string
	native, mounted string // folders of sessions
	daemon          *exec.Cmd
}

// newWorld makes n sessions as the daemon lays them, past it.
func newWorld(work string, n int, program string) (*world, error) {
	abs, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	agent := fmt.Sprintf("home/%d/agent/coder/session", os.Getuid())
	w := &world{n: n, program: abs, store: filepath.Join(work, "store"), point: filepath.Join(work, "ctx"), native: filepath.Join(work, "native")}
	w.mounted = filepath.Join(w.point, agent)
	if err := os.Mkdir(w.point, 0o755); err != nil {
		return nil, err
	}
	for _, dir := range []string{w.native, filepath.Join(w.store, agent)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		for i := range n {
			if err := lay(filepath.Join(dir, name(i)), i); err != nil {
				return nil, err
			}
		}
	}
	syscall.Sync()
	return w, nil
}

func name(i int) string { return fmt.Sprintf("session-%06d", i) }

// lay makes a session's folder: every tenth has been used in a directory of its own.
func lay(dir string, i int) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	files := map[string]string{
		"messages.jsonl": fmt.Sprintf("{\"role\":\"user\",\"content\":\"session %d\"}\n", i), "events.jsonl": "",
		"meta.json": fmt.Sprintf("{\"created_at\":\"2026-01-02T03:04:05Z\",\"created_by_uid\":%d,\"id\":\"%032x\"}\n", os.Getuid(), i),
	}
	if i%10 == 0 {
		files["cwd"] = fmt.Sprintf("/work/%d\n", i)
	}
	for f, text := range files {
		if err := os.WriteFile(filepath.Join(dir, f), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// start mounts the store.
func (w *world) start() error {
	w.daemon = exec.Command(w.program, "mount", w.point, "--store", w.store)
	var said bytes.Buffer
	w.daemon.Stderr = &said
	if err := w.daemon.Start(); err != nil {
		return err
	}
	for range 5000 {
		if _, err := os.Lstat(filepath.Join(w.point, "home")); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	w.stop()
	return fmt.Errorf("no mount: %s", said.String())
}

// stop unmounts.
func (w *world) stop() {
	if w.daemon == nil {
		return
	}
	_ = w.daemon.Process.Signal(syscall.SIGTERM)
	_ = w.daemon.Wait() // it may have ended already
	w.daemon = nil
}

// restart has the daemon start anew.
func (w *world) restart(string, int) error {
	w.stop()
	return w.start()
}

// memory prints what the daemon holds after each of some questions.
func (w *world) memory() error {
	fmt.Printf("\n| daemon, %d sessions | MB | bytes a session |\n| --- | --- | --- |\n", w.n)
	if err := w.restart("", 0); err != nil {
		return err
	}
	base := w.held()
	fmt.Printf("| at the start | %.1f | – |\n", float64(base)/1e6)
	for _, r := range []row{
		{name: "after ls -f", ctxfs: shell("ls -f >" + os.DevNull)},
		{name: "and index/list", ctxfs: reads("index/list")},
		{name: "and ls -l", ctxfs: shell("ls -l >" + os.DevNull)},
		{name: "and every state was read", ctxfs: shell("printf '%s/state\\0' session-* | xargs -0 cat >" + os.DevNull)},
	} {
		if err := r.ctxfs(w.mounted, 0); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		now := w.held()
		fmt.Printf("| %s | %.1f | %.0f |\n", r.name, float64(now)/1e6, float64(now-base)/float64(w.n))
	}
	return nil
}

// held is how much memory the daemon holds, in bytes.
func (w *world) held() int64 {
	_, own := procs.Memory(w.daemon.Process.Pid)
	return own
}

// drop empties the kernel's caches of entries and attributes.
func drop() error {
	syscall.Sync()
	return os.WriteFile("/proc/sys/vm/drop_caches", []byte("2\n"), 0)
}
