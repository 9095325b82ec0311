package serve

import (
	"sync"

	"ctxfs/internal/frames"
	"ctxfs/internal/session"
)

// temps are a user's temporary sessions. Each ends with the connection that made it.
type temps struct {
	mu     sync.Mutex // held while one is made or ended, so that its name is free or taken; taken before all others
	places map[placeKey]*place
}

// tempsOf gives a user's. One user's wait for nobody else's.
func (h *Hub) tempsOf(uid uint32) *temps {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.temps[uid]
	if t == nil {
		t = &temps{places: map[placeKey]*place{}}
		h.temps[uid] = t
	}
	return t
}

// openTemp gives a temporary session of the peer's. The connection whose send names it first makes it, and takes it
// along when it ends.
func (h *Hub) openTemp(c *conn, q *frames.Request) (*place, error) {
	k, err := c.key(q)
	if err != nil {
		return nil, err
	}
	if err := h.admit(c.peer, k); err != nil {
		return nil, err
	}
	cont, err := h.store.Container(k.container())
	if err != nil {
		return nil, err
	}
	t := h.tempsOf(k.uid)
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.places[k]
	if p == nil && q.Op != frames.Send {
		return nil, frames.Refuse(frames.ENOENT, "there is no temporary session %s", k.session)
	}
	by := session.Caller{UID: c.peer.uid, GID: c.peer.gid}
	cwd, err := h.cwd(cont, q, p != nil, by)
	if err != nil {
		return nil, err
	}
	if p == nil {
		if p, err = h.newTemp(c, t, k, by); err != nil {
			return nil, err
		}
		describe(p.x, c.peer, q, by)
	}
	p.retain()
	if err := goTo(p.x, cwd, by); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// newTemp makes a temporary session, that ends with c; t.mu is held.
func (h *Hub) newTemp(c *conn, t *temps, k placeKey, by session.Caller) (*place, error) {
	if n := len(t.places); n >= h.limits.TempPerUID {
		return nil, frames.Refuse(frames.EAGAIN, "there are %d temporary sessions already", n)
	}
	store, err := h.store.OpenMemory(k.uid)
	if err != nil {
		return nil, err
	}
	cont, err := store.Container(k.container())
	if err != nil {
		return nil, err
	}
	x, err := cont.Create(k.session, by)
	if err != nil {
		return nil, err
	}
	p := newPlace(h, k, journal{x: x, by: by, temp: &tempLog{max: int64(h.limits.TempBytes)}})
	p.users = 1 // the connection's
	if !c.owns(p) {
		_ = x.End() // nobody is left to tell
		return nil, frames.Refuse(frames.EAGAIN, "the connection is ending")
	}
	t.places[k] = p
	return p, nil
}

// owns makes a temporary session end with the connection. It is false when that has ended.
func (c *conn) owns(p *place) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.temps = append(c.temps, p)
	return true
}

// vanish ends a temporary session: its runs are cancelled, its followers told, its files gone. What those who follow it
// have not read yet they still get.
func (p *place) vanish() {
	t := p.hub.tempsOf(p.key.uid)
	t.mu.Lock()
	defer t.mu.Unlock()
	p.mu.Lock()
	p.over = true
	var runs []*run
	for _, r := range p.runs {
		runs = append(runs, r)
	}
	p.mu.Unlock()
	for _, r := range runs {
		r.stop()
	}
	if log, err := p.x.Log(session.Messages); err == nil { // else nobody reads on
		p.j.temp.last.Store(log) // p's last user gives it back
	}
	_ = p.x.End() // nobody is left to tell
	delete(t.places, p.key)
	p.tellOver()
	p.close()
}

func (p *place) tellOver() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.subs {
		if s.events != nil {
			s.tell(frames.Reply{Type: frames.Done, Status: frames.StatusCancelled})
		}
	}
}
