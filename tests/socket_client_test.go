package tests

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// frame is a frame of the daemon's, as far as the tests look.
type frame struct {
	Type, ID, Run, Session, Scope, CWD, Path, Cursor, Role, Text, Code, Message, Status, Input, Name string
	N                                                                                                int
	UID                                                                                              *uint32
	Replay, Truncated                                                                                bool
	Incomplete                                                                                       bool
	CallID                                                                                           string `json:"call_id"`
	RecordID                                                                                         string `json:"record_id"`
	Content                                                                                          []struct{ Type, ID, Name, Text string }
}

// client is a connection to a socket of the mount.
type client struct {
	t    *testing.T
	conn *net.UnixConn
	in   *bufio.Reader
}

// dial connects to agent/<name>.sock. Temporary folders may have longer names than an address takes.
func dial(dir, name string) (*net.UnixConn, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d/%s.sock", f.Fd(), name))
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

func (m *mount) client() *client {
	m.t.Helper()
	c, err := dial(m.point+"/agent", "coder")
	if err != nil {
		m.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	m.t.Cleanup(func() { c.Close() })
	return &client{t: m.t, conn: c, in: bufio.NewReaderSize(c, 2<<20)}
}

// newCoder makes a mount with an agent, which has a socket.
func newCoder(t *testing.T, args ...string) *mount {
	t.Helper()
	m := newMount(t, args...)
	if err := os.MkdirAll(m.agent+"/session", 0o700); err != nil {
		t.Fatal(err)
	}
	return m
}

func (c *client) raw(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, s); err != nil {
		c.t.Error(err)
	}
}

// ask sends a frame: "key", value, ...
func (c *client) ask(fields ...any) {
	c.t.Helper()
	m := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		m[fields[i].(string)] = fields[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	c.raw(string(b) + "\n")
}

// next reads a frame; ok is false at the end.
func (c *client) next() (f frame, ok bool) {
	c.t.Helper()
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		if err != io.EOF && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, net.ErrClosed) {
			c.t.Errorf("read: %v", err)
		}
		return f, false
	}
	if err := json.Unmarshal(line, &f); err != nil {
		c.t.Errorf("%v: %.200q", err, line)
	}
	if len(line) > 1<<20+1 && f.Type != "input" {
		c.t.Errorf("a frame of %d bytes", len(line))
	}
	return f, true
}

// done reads up to the end of a request.
func (c *client) done() (all []frame, last frame) {
	c.t.Helper()
	for {
		f, ok := c.next()
		if !ok {
			c.t.Errorf("the connection ended; so far %+v", all)
			return all, frame{}
		}
		all = append(all, f)
		if f.Type == "done" || f.Type == "pong" {
			return all, f
		}
	}
}

// types joins the frames' types, with codes and status.
func types(all []frame) string {
	var out []string
	for _, f := range all {
		out = append(out, strings.Join(strings.Fields(f.Type+" "+f.Code+" "+f.Status), " "))
	}
	return strings.Join(out, ", ")
}

// wantTypes asks, and fails the test unless the answer's frames are of these types.
func (c *client) wantTypes(want string, fields ...any) []frame {
	c.t.Helper()
	c.ask(fields...)
	all, _ := c.done()
	if got := types(all); got != want {
		c.t.Errorf("%v: got %s, want %s\n%+v", fields, got, want, all)
	}
	return all
}

// agent serves in the background: it answers each input by what work says, streamed in two parts. Its end is waited for.
func (m *mount) serveAgent(work func(in frame) string, fields ...any) *client {
	m.t.Helper()
	a := m.client()
	a.ask(append([]any{"op", "serve"}, fields...)...)
	if f, _ := a.next(); f.Type != "start" {
		m.t.Fatalf("serve: %+v", f)
	}
	ended := make(chan bool)
	go func() {
		defer close(ended)
		for {
			f, ok := a.next()
			if !ok {
				return
			}
			if f.Type != "input" {
				continue
			}
			text := work(f)
			half := len(text) / 2
			a.ask("op", "delta", "run", f.Run, "text", text[:half])
			a.ask("op", "delta", "run", f.Run, "text", text[half:])
			a.ask("op", "done", "run", f.Run)
		}
	}()
	m.t.Cleanup(func() { a.conn.Close(); <-ended })
	return a
}

func echo(in frame) string { return "you said: " + in.Input }

func (m *mount) messages(session string) string {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.agent, "session", session, "messages.jsonl"))
	if err != nil {
		m.t.Error(err)
	}
	return string(data)
}

// connectStdio is a small nc -U, for other users: stdin goes to the socket, and what comes to stdout.
func connectStdio(socket string) int {
	c, err := dial(filepath.Dir(socket), strings.TrimSuffix(filepath.Base(socket), ".sock"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go func() {
		_, _ = io.Copy(c, os.Stdin)
		_ = c.CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, c)
	return 0
}

// frames sends lines to an agent's socket as another user, and gives what comes back.
func (m *mount) framesAs(uid uint32, agent, lines string) string {
	m.t.Helper()
	c := asUser(uid, m.helper())
	return m.connectWith(c, agent, lines)
}

func (m *mount) connectWith(c *exec.Cmd, agent, lines string) string {
	m.t.Helper()
	c.Env = []string{"CTXFS_TEST_CONNECT=" + m.point + "/agent/" + agent + ".sock"}
	c.Stdin = strings.NewReader(lines)
	out, err := c.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "no such file") {
		m.t.Errorf("%v: %s", err, out)
	}
	return string(out)
}
