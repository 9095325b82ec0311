package serve

import (
	"errors"
	"net"
	"sync"
	"time"

	"ctxfs/internal/frames"
	"ctxfs/internal/session"
)

// Target is what a socket belongs to: an agent or a model.
type Target struct {
	Model bool
	Name  string
}

// Hub serves all sockets of a mount. It is safe for concurrent use.
type Hub struct {
	store  *session.Store
	limits Limits

	wg sync.WaitGroup // the goroutines of connections

	mu     sync.Mutex // protects what is below; a leaf
	closed bool
	conns  map[*conn]bool
	perUID map[uint32]int
	places map[placeKey]*place
	temps  map[uint32]*temps  // by user
	agents map[Target][]*conn // that serve; the newest is last
	live   map[string]bool    // runs in progress that have a draft
}

// New makes a hub over a store.
func New(store *session.Store, l Limits) *Hub {
	return &Hub{store: store, limits: l, conns: map[*conn]bool{}, perUID: map[uint32]int{},
		places: map[placeKey]*place{}, temps: map[uint32]*temps{}, agents: map[Target][]*conn{}, live: map[string]bool{}}
}

// Serve takes connections from l, the socket of an agent or a model, until it is closed.
func (h *Hub) Serve(l *net.UnixListener, model bool, name string) {
	t := Target{Model: model, Name: name}
	for {
		sock, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(50 * time.Millisecond) // no descriptor is free: some will be
			continue
		}
		h.accept(sock, t)
	}
}

// accept starts a connection, or refuses it when there are too many.
func (h *Hub) accept(sock *net.UnixConn, t Target) {
	p, err := peerOf(sock)
	if err != nil {
		sock.Close()
		return
	}
	c := newConn(h, sock, t, p)
	if !h.enter(c) {
		refuse := frames.Encode(frames.Reply{Type: frames.Fail, Code: frames.EAGAIN, Message: "too many connections"})
		_ = sock.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)) // its buffer is empty: nothing to wait for
		_, _ = sock.Write(refuse)
		sock.Close()
		return
	}
	go c.write()
	go c.read()
}

func (h *Hub) enter(c *conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.conns) >= h.limits.Conns || h.perUID[c.peer.uid] >= h.limits.ConnsPerUID {
		return false
	}
	h.conns[c] = true
	h.perUID[c.peer.uid]++
	h.wg.Add(2)
	return true
}

func (h *Hub) leave(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.conns[c] {
		return
	}
	delete(h.conns, c)
	if h.perUID[c.peer.uid]--; h.perUID[c.peer.uid] == 0 {
		delete(h.perUID, c.peer.uid)
	}
}

// Conns is the number of connections.
func (h *Hub) Conns() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.conns)
}

// Drop ends all connections, and waits until they are gone. The hub goes on to serve new ones.
func (h *Hub) Drop() {
	h.mu.Lock()
	var all []*conn
	for c := range h.conns {
		all = append(all, c)
	}
	h.mu.Unlock()
	for _, c := range all {
		c.abort()
	}
	h.wg.Wait()
}

// Close ends all connections for good.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.Drop()
}

// addAgent enters an agent process, and removeAgent takes it out.
func (h *Hub) addAgent(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agents[c.target] = append(h.agents[c.target], c)
}

func (h *Hub) removeAgent(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.agents[c.target]
	for i, a := range list {
		if a == c {
			h.agents[c.target] = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if len(h.agents[c.target]) == 0 {
		delete(h.agents, c.target)
	}
}

// agentFor picks who gets a run: the newest agent process of the user whose run it is; in a share, else, the newest of
// a user who may write there; else the newest of root's, which serves everybody.
func (h *Hub) agentFor(r *run) *conn {
	h.mu.Lock()
	list := append([]*conn(nil), h.agents[r.place.key.target]...)
	h.mu.Unlock()
	var other *conn
	for i := len(list) - 1; i >= 0; i-- {
		a := list[i]
		switch {
		case a.filter != "" && a.filter != r.place.key.session:
		case a.peer.uid == r.uid:
			return a
		case other == nil && (a.peer.uid == 0 || r.place.key.share != "" && h.reach(a.peer, r.place, true) == nil):
			other = a
		}
	}
	return other
}
