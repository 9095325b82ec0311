package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"ctxfs/internal/frames"

	"golang.org/x/sys/unix"
)

// errNoAgent: the message is recorded, and nobody answers now.
var errNoAgent = errors.New("no agent serves the session")

// replyError is an error frame.
type replyError struct {
	code frames.Code
	msg  string
}

func (e replyError) Error() string { return fmt.Sprintf("%s (%s)", e.msg, e.code) }

// Is tells the errors apart that have an exit code of their own.
func (e replyError) Is(target error) bool {
	return target == errNoAgent && e.code == frames.EHOSTDOWN || target == os.ErrNotExist && e.code == frames.ENOENT
}

// socket is a client's end of an agent's or model's socket.
type socket struct {
	conn net.Conn
	in   *bufio.Reader
}

// socket connects to the socket of an agent or model.
func (a *agentFlags) socket(agent string) (*socket, error) {
	point, err := pickMount(a.mount)
	if err != nil {
		return nil, err
	}
	kind := "agent"
	if a.model {
		kind = "model"
	}
	dir := filepath.Join(point, kind)
	if _, err := os.Lstat(filepath.Join(dir, agent+".sock")); err != nil {
		home := filepath.Join(point, "home", strconv.Itoa(os.Getuid()), kind, agent)
		if a.model {
			home += ".d"
		}
		return nil, fmt.Errorf("%s %s has no socket: %w (make it first: mkdir -p %s, or for all users: mkdir %s)", kind, agent, err, home, filepath.Join(dir, agent+".d"))
	}
	f, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A socket's address has room for 107 bytes: not for every mountpoint.
	conn, err := net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d/%s.sock", f.Fd(), agent))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, agent, err)
	}
	return &socket{conn: conn, in: bufio.NewReaderSize(conn, 1<<16)}, nil
}

// close ends the connection, and with it the temporary sessions that it made: they are gone when it returns.
func (s *socket) close() {
	defer s.conn.Close()
	_ = s.conn.SetDeadline(time.Now().Add(2 * time.Second)) // a daemon that hangs is not waited for
	if c, ok := s.conn.(*net.UnixConn); ok && c.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, s.in)
	}
}

// ask sends a request.
func (s *socket) ask(fields map[string]any) error {
	for k, v := range fields {
		if v == "" || v == false {
			delete(fields, k)
		}
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	if len(b) > frames.MaxFrame {
		return fmt.Errorf("the message is too long: a frame is at most %d bytes", frames.MaxFrame)
	}
	_, err = s.conn.Write(append(b, '\n'))
	return err
}

// answers gives each frame to fn until the done frame. An error frame ends them with its error.
func (s *socket) answers(fn func(line []byte, r *frames.Reply) error) error {
	var failed error
	for {
		line, err := s.in.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the daemon ended the connection")
			}
			return errors.Join(failed, err)
		}
		var r frames.Reply
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		if r.Type == frames.Fail && failed == nil {
			failed = replyError{code: r.Code, msg: r.Message}
		}
		if err := fn(line, &r); err != nil {
			return err
		}
		if r.Type == frames.Done && r.Status == frames.StatusCancelled && failed == nil {
			return errors.New("the run was cancelled")
		}
		if r.Type == frames.Done {
			return failed
		}
	}
}
