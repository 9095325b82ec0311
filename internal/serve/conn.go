package serve

import (
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"ctxfs/internal/frames"

	"golang.org/x/sys/unix"
)

// conn is one connection: a client's, or an agent process's once it said serve.
type conn struct {
	hub    *Hub
	sock   *net.UnixConn
	target Target
	peer   peer
	out    *outbox
	named  int    // ids that were given to requests without one; of the reading goroutine
	filter string // of an agent: the one session that it serves; set before it is entered as an agent

	gone chan struct{} // closed when the connection ends

	mu    sync.Mutex // protects what is below; a leaf
	ended bool
	eof   bool // the peer says nothing more
	jobs  int  // what it waits for
	agent bool
	runs  map[string]*run // of an agent: in progress
	past  map[string]bool // of an agent: runs that ended without it, of which it may not know yet
	temps []*place        // temporary sessions that end with it
}

func newConn(h *Hub, sock *net.UnixConn, t Target, p peer) *conn {
	c := &conn{hub: h, sock: sock, target: t, peer: p, gone: make(chan struct{}), runs: map[string]*run{}, past: map[string]bool{}}
	c.out = newOutbox(h.limits, c.urge)
	return c
}

// read is the goroutine that takes frames, one after the other.
func (c *conn) read() {
	defer c.hub.wg.Done()
	lines := newLineReader(c.sock)
	for {
		line, err := lines.next()
		var refused *frames.Error
		switch {
		case err == nil:
			c.handle(line)
		case errors.As(err, &refused):
			c.fail(&frames.Request{ID: c.name()}, err)
		case errors.Is(err, io.EOF):
			c.finish()
			return
		case errors.Is(err, errFlood):
			c.out.drop(frames.Encode(frames.Reply{Type: frames.Fail, ID: c.name(), Code: frames.EMSGSIZE, Message: "a frame without end"}))
			return
		default:
			c.abort()
			return
		}
	}
}

// name gives an id to a request that has none: every reply carries one.
func (c *conn) name() string {
	c.named++
	return "_" + strconv.Itoa(c.named)
}

// write is the goroutine that sends frames. A client that reads nothing for long is dropped; an agent may take its time.
func (c *conn) write() {
	defer c.hub.wg.Done()
	defer c.abort()
	for {
		b, ok := c.out.pop()
		if !ok {
			return
		}
		_ = c.sock.SetWriteDeadline(c.patience())
		n, err := c.sock.Write(b)
		if errors.Is(err, os.ErrDeadlineExceeded) && !c.out.dropped() {
			c.late("")
			c.urge()
			_, err = c.sock.Write(b[n:]) // a frame that was begun is ended
		}
		if err != nil {
			return
		}
	}
}

// late drops a peer that does not read what its request id brought up.
func (c *conn) late(id string) {
	c.out.drop(frames.Encode(frames.Reply{Type: frames.Fail, ID: id, Code: frames.EAGAIN, Message: "frames were not read in time"}))
}

func (c *conn) patience() time.Time {
	switch {
	case c.out.dropped():
		return time.Now().Add(time.Second)
	case c.isAgent():
		return time.Time{}
	}
	return time.Now().Add(c.hub.limits.Stall)
}

func (c *conn) isAgent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agent
}

// urge makes room for a last frame to a peer that does not read: the kernel keeps it, with what was sent before, until
// the peer does.
func (c *conn) urge() {
	if raw, err := c.sock.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			const room = frames.MaxFrame + 64<<10
			if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, room) != nil {
				_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, room) // as much as an ordinary user may
			}
		})
	}
	_ = c.sock.SetWriteDeadline(time.Now().Add(time.Second))
}

// say queues a frame that something else brought up: a peer whose queue is full is dropped.
func (c *conn) say(r frames.Reply) {
	if !c.out.push(frames.Encode(r)) {
		c.late(r.ID)
	}
}

// answer queues a frame that a request of the peer's own brought up, and waits for room. It is false when the peer is gone.
func (c *conn) answer(r frames.Reply) bool { return c.out.pushWait(frames.Encode(r)) }

// fail ends a request with an error.
func (c *conn) fail(q *frames.Request, err error) {
	e := refusal(err)
	c.answer(frames.Reply{Type: frames.Fail, ID: q.ID, Run: q.Run, Code: e.Code, Message: e.Msg})
	if !q.OfAgent() {
		c.answer(frames.Reply{Type: frames.Done, ID: q.ID, Run: q.Run, Status: frames.StatusError})
	}
}

// handle answers one frame.
func (c *conn) handle(line []byte) {
	q, err := frames.Parse(line)
	if q.ID == "" {
		q.ID = c.name()
	}
	if err == nil {
		err = c.do(&q)
	}
	if err != nil {
		c.fail(&q, err)
	}
}

func (c *conn) do(q *frames.Request) error {
	switch q.Op {
	case frames.Ping:
		c.answer(frames.Reply{Type: frames.Pong, ID: q.ID})
		return nil
	case frames.Send:
		return c.send(q)
	case frames.Resume, frames.Follow:
		return c.resume(q)
	case frames.Cancel:
		return c.cancel(q)
	case frames.Serve:
		return c.serve(q)
	}
	return c.agentSays(q)
}

// begin counts a job that the peer waits for, and done ends it.
func (c *conn) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs >= c.hub.limits.Jobs {
		return frames.Refuse(frames.EAGAIN, "this connection waits for %d answers already", c.jobs)
	}
	c.jobs++
	return nil
}

func (c *conn) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs--; c.jobs == 0 && c.eof {
		c.out.end()
	}
}

// finish is for a peer that says nothing more: it still gets what it waits for. An agent that does so is leaving.
func (c *conn) finish() {
	if c.isAgent() {
		c.abort()
		return
	}
	c.mu.Lock()
	c.eof = true
	idle := c.jobs == 0
	c.mu.Unlock()
	if idle {
		c.out.end()
		return
	}
	for c.listening() {
		select {
		case <-c.gone:
			return
		case <-time.After(time.Second):
		}
	}
	c.abort()
}

// listening tells whether a peer that said its last word still reads: of one that is gone, poll(2) reports a hangup.
func (c *conn) listening() bool {
	hup := true
	raw, err := c.sock.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd)}}
		_, perr := unix.Poll(p, 0)
		hup = perr == nil && p[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	})
	return err == nil && !hup
}

// abort ends the connection now. What it left undone is ended too.
func (c *conn) abort() {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	c.ended = true
	close(c.gone)
	runs, temps := c.runs, c.temps
	c.runs, c.temps = map[string]*run{}, nil
	agent := c.agent
	c.mu.Unlock()

	c.out.kill()
	_ = c.sock.CloseRead() // for whoever reads from it here; the end of the connection tells the peer that all of this is done
	defer c.sock.Close()
	c.hub.leave(c)
	if agent {
		c.hub.removeAgent(c)
	}
	for _, r := range runs {
		r.end(outcome{status: frames.StatusError, code: frames.EHOSTDOWN, msg: "the agent went away"})
	}
	for _, p := range temps {
		p.vanish()
	}
}
