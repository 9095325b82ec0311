package serve

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"ctxfs/internal/frames"
)

// cancel ends a run of the session by the id of its send, or by its run.
func (c *conn) cancel(q *frames.Request) error {
	r := c.runAnywhere(q)
	if r == nil {
		p, err := c.hub.open(c, q)
		if err != nil {
			return err
		}
		defer p.close()
		if r = p.runNamed(q); r == nil {
			return frames.Refuse(frames.ENOENT, "session %s has no such run in progress", p.key.session)
		}
	}
	r.stop()
	c.answer(frames.Reply{Type: frames.Done, ID: q.ID, Run: r.id, Status: frames.StatusCancelled})
	return nil
}

// runAnywhere finds the run of a cancel that names no session, in all sessions of the agent in which the peer may cancel. It
// goes by the run's id alone: the id of a send is the session's.
func (c *conn) runAnywhere(q *frames.Request) *run {
	if q.Session != "" || q.Share != "" {
		return nil
	}
	for _, p := range c.hub.inUse(c.target) {
		if r := p.runByID(cmp.Or(q.Run, q.ID)); r != nil && c.mayCancel(p) {
			return r
		}
	}
	return nil
}

func (c *conn) mayCancel(p *place) bool {
	if p.key.share == "" {
		return p.key.uid == c.peer.uid
	}
	return c.hub.reach(c.peer, p, true) == nil
}

// inUse lists the places of a target that somebody uses.
func (h *Hub) inUse(t Target) (list []*place) {
	h.mu.Lock()
	users := slices.Collect(maps.Values(h.temps))
	for k, p := range h.places {
		if k.target == t && p.users > 0 {
			list = append(list, p)
		}
	}
	h.mu.Unlock()
	for _, u := range users {
		u.mu.Lock()
		for k, p := range u.places {
			if k.target == t {
				list = append(list, p)
			}
		}
		u.mu.Unlock()
	}
	return list
}

func (p *place) runByID(id string) *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.runs {
		if r.id == id {
			return r
		}
	}
	return nil
}

func (p *place) runNamed(q *frames.Request) *run {
	p.mu.Lock()
	r := p.runs[q.ID]
	p.mu.Unlock()
	if r != nil && (q.Run == "" || q.Run == r.id) {
		return r
	}
	return p.runByID(cmp.Or(q.Run, q.ID))
}

// resume sends the session's records from a cursor on, and with follow what comes after them.
func (c *conn) resume(q *frames.Request) error {
	p, err := c.hub.open(c, q)
	if err != nil {
		return err
	}
	n, off, err := p.seek(q.After)
	if err == nil {
		err = c.begin()
	}
	if err != nil {
		p.close()
		return err
	}
	req := *q
	c.hub.wg.Add(1)
	go func() {
		defer c.hub.wg.Done()
		defer c.done()
		defer p.close()
		c.replay(p, &req, n, off)
	}()
	return nil
}

// reading is a resume on its way.
type reading struct {
	c    *conn
	p    *place
	id   string
	n    int
	off  int64
	gone bool   // the peer is
	end  string // the status to end with
}

func (c *conn) replay(p *place, q *frames.Request, n int, off int64) {
	r := &reading{c: c, p: p, id: q.ID, n: n, off: off, end: frames.StatusOK}
	var s *sub
	wake := make(chan struct{}, 1)
	if q.Follow {
		defer p.j.Watch(wake)()
		s = &sub{c: c, id: q.ID, events: make(chan frames.Reply, c.hub.limits.QueueFrames)}
		p.listen(s)
		defer p.unlisten(s)
	}
	c.answer(p.start(q, taken{sent: sent{n: n, end: off}}))
	err := r.catchUp()
	if err == nil && q.Follow {
		err = r.follow(s, wake)
	}
	switch {
	case r.gone:
	case err != nil:
		c.fail(q, err)
	default:
		c.answer(frames.Reply{Type: frames.Done, ID: q.ID, Status: r.end, Cursor: position(r.n, r.off)})
	}
}

func (p *place) listen(s *sub) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subs[s] = true
	if p.over {
		s.tell(frames.Reply{Type: frames.Done, Status: frames.StatusCancelled})
	}
}

func (p *place) unlisten(s *sub) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.subs, s)
}

// errGone is the end of a reader that does not read any more.
var errGone = errors.New("the peer is gone")

// catchUp sends the records that are there.
func (r *reading) catchUp() error {
	size, err := r.p.j.Size()
	if err != nil {
		return err
	}
	err = eachLine(r.p.j, r.off, size, func(b []byte, off int64) error {
		r.n++
		m := r.p.frame(b, r.n, off)
		m.ID = r.id
		r.off = off + int64(len(b))
		if !r.c.answer(m) {
			r.gone = true
			return errGone
		}
		return nil
	})
	return err
}

// follow sends what comes: records, and between them what runs say. The end of a run comes after its records.
func (r *reading) follow(s *sub, wake <-chan struct{}) error {
	for {
		select {
		case <-r.c.gone:
			r.gone = true
			return nil
		case <-wake:
			if err := r.catchUp(); err != nil {
				return err
			}
		case f := <-s.events:
			s.waits.Add(-int64(len(f.Text)))
			if f.Type != frames.Delta {
				if err := r.catchUp(); err != nil {
					return err
				}
			}
			if f.Type == frames.Done && f.Run == "" {
				r.end = f.Status
				return nil // the temporary session has ended
			}
			if f.Type == frames.Done {
				f.Cursor = position(r.n, r.off)
			}
			if !r.c.answer(f) {
				r.gone = true
				return nil
			}
		}
	}
}
