package serve

import (
	"errors"

	"ctxfs/internal/frames"
)

// cancel ends a run of the session by the id of its send, or by its run.
func (c *conn) cancel(q *frames.Request) error {
	p, err := c.hub.open(c, q)
	if err != nil {
		return err
	}
	defer p.close()
	r := p.runNamed(q)
	if r == nil {
		return frames.Refuse(frames.ENOENT, "session %s has no such run in progress", p.key.session)
	}
	r.stop()
	c.answer(frames.Reply{Type: frames.Done, ID: q.ID, Run: r.id, Status: frames.StatusCancelled})
	return nil
}

func (p *place) runNamed(q *frames.Request) *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.runs[q.ID]; r != nil && (q.Run == "" || q.Run == r.id) {
		return r
	}
	for _, r := range p.runs {
		if r.id == q.Run || r.id == q.ID {
			return r
		}
	}
	return nil
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
