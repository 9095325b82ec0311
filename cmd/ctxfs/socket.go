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
	"strings"
	"time"

	"ctxfs/internal/frames"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"

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

// socket connects to the socket of the agent or model that arg names. Where arg names a session too, it becomes that of the flags.
func (a *agentFlags) socket(arg string) (*socket, error) {
	p, err := a.addressee(arg)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(p.root, p.kind)
	f, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A socket's address has room for 107 bytes: not for every mountpoint.
	conn, err := net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), p.agent+socketSuffix))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", p.kind, p.agent, err)
	}
	return &socket{conn: conn, in: bufio.NewReaderSize(conn, 1<<16)}, nil
}

// socketSuffix ends the name of a socket.
const socketSuffix = ".sock"

// hasSocket reports whether the agent or model has one that the caller may connect to.
func (p place) hasSocket() bool {
	_, err := os.Lstat(filepath.Join(p.root, p.kind, p.agent+socketSuffix))
	return session.CheckName(p.agent) == nil && err == nil
}

// addressee returns the agent or model that arg names, which has a socket, and sets the flags that say which session it is about. An
// agent may be one that is registered for all users, and the session one that is not there yet.
func (a *agentFlags) addressee(arg string) (place, error) {
	if isPath(arg) || strings.Count(arg, "/") > 1 {
		p, err := a.find(arg)
		if err == nil {
			err = a.about(p)
		}
		return p, err
	}
	p, err := a.owner()
	if err != nil {
		return p, err
	}
	agent, name, both := strings.Cut(arg, "/")
	if both {
		if err := a.alone(arg); err != nil {
			return p, err
		}
		a.session = name
	}
	if p.agent = agent; p.kind == "" {
		p.kind = ofAgent
	}
	if model, is := strings.CutSuffix(agent, modelSuffix); is {
		p.kind, p.agent = ofModel, model
	}
	if p.hasSocket() {
		return p, nil
	}
	if !both { // the name of a session
		if found, err := a.find(arg); err == nil && found.session != "" {
			return found, a.about(found)
		}
	}
	return p, p.noSocket()
}

// about has the flags say that p is the session. Sockets serve the caller's own sessions, and those of shares.
func (a *agentFlags) about(p place) error {
	share, shared := strings.CutPrefix(p.owner, "shared/")
	if !shared && p.owner != ownHome() {
		return usageError{p.dir() + " is another user's: a socket serves your own sessions, and those of shares"}
	}
	if a.session = p.session; shared {
		a.share = share
	}
	if !p.hasSocket() {
		return p.noSocket()
	}
	return nil
}

// noSocket is the error of an agent or a model without a socket. It lists those that have one.
func (p place) noSocket() error {
	var list []string
	entries, _ := os.ReadDir(filepath.Join(p.root, p.kind)) // a mount that went away has none
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), socketSuffix); is {
			list = append(list, name)
		}
	}
	p.owner = ownHome()
	hint := "make it: mkdir -p " + mounts.Quote(p.home()) + "; or for all users: mkdir " + mounts.Quote(filepath.Join(p.root, p.kind, p.agent+modelSuffix))
	if there := thereAre(p.agent, list); there != "" {
		hint = there + "; " + hint
	}
	return &session.Error{Kind: session.NotFound, Msg: fmt.Sprintf("there is no %s %s", p.kind, p.agent), Hint: hint}
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
