package tests

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is a terminal that programs run on.
type terminal struct {
	t    *testing.T
	keys *os.File // what is written here is typed
	tty  *os.File
	mu   sync.Mutex
	out  bytes.Buffer
	eof  chan struct{}
}

func newTerminal(t *testing.T, rows, cols uint16) *terminal {
	t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, keys: keys, tty: tty, eof: make(chan struct{})}
	x.resize(rows, cols)
	go func() {
		defer close(x.eof)
		_, _ = io.Copy(x, keys) // EIO when the other end is closed
	}()
	t.Cleanup(func() { x.end() })
	return x
}

func (x *terminal) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.Write(p)
}

// said is all that was written to the terminal.
func (x *terminal) said() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.String()
}

// end gives all that was written once nobody writes any more.
func (x *terminal) end() string {
	_ = x.tty.Close()
	<-x.eof
	_ = x.keys.Close()
	return x.said()
}

func (x *terminal) resize(rows, cols uint16) {
	x.t.Helper()
	if err := pty.Setsize(x.keys, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
		x.t.Fatal(err)
	}
}

// until waits, ten seconds at most.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 500 {
		if done() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("not within ten seconds: %s", what)
}

// Work that lasts shows on a terminal how far it is, and takes that away when it is done.
func TestProgressOfWork(t *testing.T) {
	m := newMount(t)
	dir := m.session("long")
	add(t, dir+"/messages.jsonl", strings.Repeat(message("user", strings.Repeat("x", 1000)), 1000))
	x := newTerminal(t, 24, 80)
	c := exec.Command(program, "session", "export", dir)
	c.Stderr = x.tty
	c.Env = append(os.Environ(), "TERM=xterm")
	pipe, err := c.StdoutPipe() // which nobody empties at first
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "it shows how far it is", func() bool { return strings.Contains(x.said(), "export") })
	data, err := io.ReadAll(pipe)
	if err != nil || len(data) < 1_000_000 {
		t.Errorf("%d bytes were exported: %v", len(data), err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	said := x.end()
	if last := said[strings.LastIndexByte(strings.TrimRight(said, "\r"), '\r')+1:]; strings.Trim(last, " \r") != "" || strings.Contains(said, "\n") {
		t.Errorf("left on the line: %q of %q", last, said)
	}
}
