package serve

import (
	"cmp"
	"slices"
	"time"

	"ctxfs/internal/frames"
	"ctxfs/internal/session"
)

// Temp is a temporary session, for whoever shows it: it is in memory only, and ends with the connection that made it.
type Temp struct {
	Target  Target
	UID     uint32
	Session string
	Created time.Time
	p       *place
}

// Messages is a copy of the session's history as it is now.
func (t Temp) Messages() ([]byte, error) {
	size, err := t.p.j.Size()
	if err != nil {
		return nil, err
	}
	return readLine(t.p.j, 0, size)
}

// State is the session's state.
func (t Temp) State() string {
	m := t.p.j.(*memory)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// Temps lists a user's temporary sessions, by target and name.
func (h *Hub) Temps(uid uint32) []Temp {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []Temp
	for k, p := range h.temps {
		if k.uid == uid {
			out = append(out, Temp{Target: k.target, UID: uid, Session: k.session, Created: p.born, p: p})
		}
	}
	slices.SortFunc(out, func(a, b Temp) int {
		return cmp.Or(cmp.Compare(a.Target.Name, b.Target.Name), cmp.Compare(a.Session, b.Session), a.Created.Compare(b.Created))
	})
	return out
}

// openTemp gives a temporary session of the peer's. The connection whose send names it first makes it, and takes it
// along when it ends.
func (h *Hub) openTemp(c *conn, q *frames.Request) (*place, error) {
	k := placeKey{target: c.target, scope: frames.Temp, uid: c.peer.uid, session: q.Session}
	if k.session == "" {
		k.session = frames.DefaultSession
	}
	if err := h.admit(c.peer, k); err != nil {
		return nil, err
	}
	cont, err := h.store.Container(k.container())
	if err == nil && q.CWD != "" {
		_, err = cont.CheckCWD(q.CWD, session.Caller{UID: c.peer.uid, GID: c.peer.gid})
	}
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.temps[k]
	if p == nil && q.Op != frames.Send {
		return nil, frames.Refuse(frames.ENOENT, "there is no temporary session %s", k.session)
	}
	if p == nil {
		mine := 0
		for other := range h.temps {
			if other.uid == k.uid {
				mine++
			}
		}
		if mine >= h.limits.TempPerUID {
			return nil, frames.Refuse(frames.EAGAIN, "there are %d temporary sessions already", mine)
		}
		p = newPlace(h, k, &memory{max: h.limits.TempBytes, state: "idle", watchers: map[chan<- struct{}]bool{}}, nil)
		if !c.owns(p) {
			return nil, frames.Refuse(frames.EAGAIN, "the connection is ending")
		}
		h.temps[k] = p
	}
	p.users++
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

// vanish ends a temporary session: its runs are cancelled, its followers told.
func (p *place) vanish() {
	p.hub.mu.Lock()
	if p.hub.temps[p.key] == p {
		delete(p.hub.temps, p.key)
	}
	p.hub.mu.Unlock()
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
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.subs {
		if s.events != nil {
			s.tell(frames.Reply{Type: frames.Done, Status: frames.StatusCancelled})
		}
	}
}
