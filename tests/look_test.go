package tests

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/gdamore/tcell/v3/vt"
	"golang.org/x/sys/unix"
)

// terminal is a terminal that programs run on.
type terminal struct {
	t    *testing.T
	keys *os.File // what is written here is typed
	tty  *os.File
	out  lockedBuilder
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
		_, _ = io.Copy(&x.out, keys) // EIO when the other end is closed
	}()
	t.Cleanup(func() { x.end() })
	return x
}

// said is all that was written to the terminal.
func (x *terminal) said() string { return x.out.String() }

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

// screen is what an emulator shows after all that was said since a byte, on a terminal of that size.
func (x *terminal) screen(from, rows, cols int) (lines []string, title string, bells int) {
	x.t.Helper()
	em := vt.NewMockTerm(vt.MockOptSize{X: vt.Col(cols), Y: vt.Row(rows)})
	if err := em.Start(); err != nil {
		x.t.Fatal(err)
	}
	defer func() { _ = em.Stop() }()
	if _, err := em.Write([]byte(x.said()[from:])); err != nil {
		x.t.Fatal(err)
	}
	for y := range rows {
		var b strings.Builder
		for col := 0; col < cols; {
			c := em.GetCell(vt.Coord{X: vt.Col(col), Y: vt.Row(y)})
			b.WriteString(cmp.Or(c.C, " "))
			col += max(c.W, 1)
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines, em.GetTitle(), em.Bells()
}

// run starts a program on the terminal, as its session's leader.
func (x *terminal) run(c *exec.Cmd) {
	x.t.Helper()
	c.Stdin, c.Stdout, c.Stderr = x.tty, x.tty, x.tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		x.t.Fatal(err)
	}
}

// modes are those of the terminal: echo, line by line, and so on.
func (x *terminal) modes() unix.Termios {
	x.t.Helper()
	m, err := unix.IoctlGetTermios(int(x.tty.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *m
}

func (x *terminal) press(keys string) {
	x.t.Helper()
	if _, err := x.keys.WriteString(keys); err != nil {
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

// What a mount says of itself, and of a session's title as JSON, does not reach a terminal as it is.
func TestEscapesOnTerminal(t *testing.T) {
	needFUSE(t)
	m := &mount{t: t, point: filepath.Join(t.TempDir(), "ctx"), store: filepath.Join(t.TempDir(), "\x1b]0;pwned\a\u009b2J\u202e")}
	must(t, os.MkdirAll(m.point, 0o755))
	m.agent = filepath.Join(m.point, "home", fmt.Sprint(os.Getuid()), "agent", "coder")
	m.start()
	t.Cleanup(m.finish)
	must(t, os.WriteFile(m.session("titled")+"/meta.json", []byte(`{"title":"\u009b2J\u202e"}`), 0o600))
	for _, c := range []struct{ args, want string }{
		{"status " + m.point, `\x1b]0;pwned\a\u009b2J\u202e`},
		{"status --json " + m.point, `\u001b]0;pwned\u0007\u009b2J\u202e`},
		{"top --json --once --interval 0s --mount " + m.point, `"title":"\u009b2J\u202e"`},
	} {
		x := newTerminal(t, 24, 200)
		cmd := exec.Command(program, strings.Fields(c.args)...)
		x.run(cmd)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		if said := x.end(); strings.ContainsAny(said, "\x1b\a\u009b\u202e") || !strings.Contains(said, c.want) {
			t.Errorf("%s: %q", c.args, said)
		}
	}
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
