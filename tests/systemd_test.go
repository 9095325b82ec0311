package tests

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// manager is as much of systemd as a service with a store of descriptors sees (sd_notify(3), sd_listen_fds(3)).
type manager struct {
	t     *testing.T
	path  string
	ready chan bool

	mu    sync.Mutex
	names []string
	files []*os.File
}

func newManager(t *testing.T) *manager {
	t.Helper()
	g := &manager{t: t, path: filepath.Join(t.TempDir(), "notify"), ready: make(chan bool, 10)}
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: g.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			buf, oob := make([]byte, 4096), make([]byte, 256)
			n, oobn, _, _, err := l.ReadMsgUnix(buf, oob)
			if err != nil {
				return
			}
			g.told(string(buf[:n]), oob[:oobn])
		}
	}()
	return g
}

func (g *manager) told(text string, oob []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name := ""
	for _, line := range strings.Split(text, "\n") {
		if n, ok := strings.CutPrefix(line, "FDNAME="); ok {
			name = n
		}
	}
	switch {
	case strings.HasPrefix(text, "READY=1"):
		g.ready <- true
	case strings.HasPrefix(text, "FDSTOREREMOVE=1"):
		if i := slices.Index(g.names, name); i >= 0 {
			g.files[i].Close()
			g.names, g.files = slices.Delete(g.names, i, i+1), slices.Delete(g.files, i, i+1)
		}
	case strings.HasPrefix(text, "FDSTORE=1"):
		msgs, err := unix.ParseSocketControlMessage(oob)
		if err != nil || len(msgs) != 1 {
			g.t.Errorf("%q: %v", text, err)
			return
		}
		fds, err := unix.ParseUnixRights(&msgs[0])
		if err != nil || len(fds) != 1 {
			g.t.Errorf("%q: %v", text, err)
			return
		}
		g.names, g.files = append(g.names, name), append(g.files, os.NewFile(uintptr(fds[0]), name))
	}
}

// start runs the service with what is in the store.
func (g *manager) start(args ...string) *exec.Cmd {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	script := fmt.Sprintf("export LISTEN_PID=$$ LISTEN_FDS=%d LISTEN_FDNAMES=%s; exec \"$@\"", len(g.files), strings.Join(g.names, ":"))
	if len(g.files) == 0 {
		script = `exec "$@"`
	}
	c := exec.Command("sh", append([]string{"-c", script, "sh", program}, args...)...)
	c.Env = append(os.Environ(), "NOTIFY_SOCKET="+g.path)
	c.ExtraFiles = slices.Clone(g.files)
	c.Stdout, c.Stderr = io.Discard, io.Discard // pipes, so that Wait waits for the worker too
	if err := c.Start(); err != nil {
		g.t.Fatal(err)
	}
	return c
}

func (g *manager) waitReady() {
	g.t.Helper()
	select {
	case <-g.ready:
	case <-time.After(20 * time.Second):
		g.t.Fatal("the service is not ready")
	}
}

// Where systemd holds the descriptors too, even a supervisor that is killed, and its worker with it, is not missed.
func TestSupervisorKilledUnderSystemd(t *testing.T) {
	needFUSE(t)
	g := newManager(t)
	m := &mount{t: t, point: filepath.Join(t.TempDir(), "ctx"), store: filepath.Join(t.TempDir(), "store")}
	if err := os.Mkdir(m.point, 0o755); err != nil {
		t.Fatal(err)
	}
	m.agent = filepath.Join(m.point, "home", fmt.Sprint(os.Getuid()), "agent", "coder")
	args := []string{"mount", m.point, "--store", m.store}
	m.cmd = g.start(args...)
	g.waitReady()
	dir := m.session("busy")
	// What is open there is open in another process: one that starts a program closes, in the child, what it has open, and that
	// waits for the mount.
	const lines = 200
	w := exec.Command("sh", "-c", fmt.Sprintf(`exec 8<context/pack.md; i=0; while [ $i -lt %d ]; do echo "{\"role\":\"user\",\"content\":\"a$i\"}" || exit 1; i=$((i+1)); sleep 0.01; done >> messages.jsonl; cat <&8`, lines))
	w.Dir = dir
	var out strings.Builder
	w.Stdout, w.Stderr = &out, &out
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		time.Sleep(20 * time.Millisecond)
		if err := m.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = m.cmd.Wait() // it was killed
		m.cmd = g.start(args...)
		g.waitReady()
	}
	if err := w.Wait(); err != nil || !strings.HasPrefix(out.String(), "# Context pack of coder/busy\n") {
		t.Errorf("the writer: %v, %s", err, out.String())
	}
	log := read(t, dir+"/messages.jsonl")
	for i, line := range strings.Split(strings.TrimSuffix(log, "\n"), "\n") {
		if line != fmt.Sprintf(`{"role":"user","content":"a%d"}`, i) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
	if n := strings.Count(log, "\n"); n != lines {
		t.Errorf("%d lines, not %d", n, lines)
	}
	run(t, "umount", m.point)
	if err := m.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	time.Sleep(50 * time.Millisecond)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.names) != 0 {
		t.Errorf("systemd still holds %v", g.names)
	}
	m.verify()
}
