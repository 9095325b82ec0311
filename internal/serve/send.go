package serve

import (
	"bytes"
	"cmp"
	"encoding/json"

	"ctxfs/internal/frames"
	"ctxfs/internal/session"
)

// send records a message, and has an agent work on it. The same id with the same payload is the same message: it is
// recorded once, and its answer comes again.
func (c *conn) send(q *frames.Request) error {
	p, err := c.hub.open(c, q)
	if err != nil {
		return err
	}
	defer p.close()
	if err := c.begin(); err != nil {
		return err
	}
	start, r, err := p.take(c, q)
	if err == nil {
		err = p.j.Sync() // the message is on disk before it is answered, also one that another request just wrote
	}
	if err != nil && r != nil {
		e := refusal(err) // what is recorded may not be on disk: whoever waits for the run is told
		p.retain()
		r.end(outcome{status: frames.StatusError, code: e.Code, msg: "the message may not be on disk: " + e.Msg})
		return nil
	}
	if err != nil {
		c.done()
		return err
	}
	return c.answerSend(p, q, start, r)
}

// taken is what take found or did.
type taken struct {
	sent
	replay   bool
	progress bool    // the run was going on already, and the peer listens to it from now on
	known    *answer // the answer, or an incomplete one
	ended    string  // how it ended, when it has no answer
}

// take records the message unless it is there. For one that somebody has to work on it gives a new run.
func (p *place) take(c *conn, q *frames.Request) (taken, *run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return taken{}, nil, frames.Refuse(frames.ENOENT, "the temporary session has ended")
	}
	if err := p.ids.catchUp(p.j); err != nil {
		return taken{}, nil, err
	}
	s, replay := p.ids.byID[q.ID]
	if replay {
		if err := p.same(c, q, s); err != nil {
			return taken{}, nil, err
		}
	} else {
		uid := c.peer.uid
		err := p.put(line{ID: q.ID, Role: "user", Content: encode(q.Input), CreatedAt: now(), Run: newID("run-"), UID: &uid, CWD: q.CWD})
		if err != nil {
			return taken{}, nil, err
		}
		s = p.ids.byID[q.ID]
	}
	return p.route(c, q, taken{sent: s, replay: replay})
}

// same holds a known id to its payload.
func (p *place) same(c *conn, q *frames.Request, s sent) error {
	b, err := readLine(p.j, s.off, s.end)
	if err != nil {
		return err
	}
	var l line
	var content string
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	if json.Unmarshal(l.Content, &content) != nil || content != q.Input || l.CWD != q.CWD || l.UID == nil || *l.UID != c.peer.uid {
		return frames.Refuse(frames.EINVAL, "id %q was used for another message of this session", q.ID)
	}
	return nil
}

// route finds out what is to be done about a recorded message; mu is held.
func (p *place) route(c *conn, q *frames.Request, t taken) (taken, *run, error) {
	if r := p.runs[q.ID]; r != nil {
		t.progress = true
		c.say(p.start(q, t))
		for _, piece := range frames.Pieces(string(r.text)) {
			if piece != "" {
				c.say(frames.Reply{Type: frames.Delta, ID: q.ID, Run: r.id, Text: piece})
			}
		}
		p.subs[&sub{c: c, id: q.ID, run: r}] = true
		return t, nil, nil
	}
	if a, ok := p.ids.answers[t.run]; ok {
		t.known = &a
		return t, nil, nil
	}
	if t.replay {
		if err := p.readEnds(); err != nil {
			return t, nil, err
		}
		if t.ended = p.ended[t.run]; t.ended == frames.StatusOK || t.ended == frames.StatusCancelled {
			if a, ok := p.ids.parts[t.run]; ok {
				t.known = &a.answer
			}
			return t, nil, nil
		}
	}
	r := &run{id: t.run, send: q.ID, n: t.n, uid: c.peer.uid, place: p, input: q.Input, cwd: q.CWD}
	p.runs[q.ID] = r
	p.subs[&sub{c: c, id: q.ID, run: r}] = true
	return t, r, nil
}

// readEnds reads events.jsonl for how runs ended; mu is held.
func (p *place) readEnds() error {
	size, err := p.x.LogSize(session.Events)
	if err != nil {
		return err
	}
	err = eachLine(events{p.x}, p.evOff, size, func(b []byte, _ int64) error {
		if !bytes.Contains(b, []byte(`"ctxfs.run.ended"`)) {
			return nil
		}
		var e struct {
			Source, Type string
			Data         struct{ Run, Status string }
		}
		if json.Unmarshal(b, &e) == nil && e.Type == "ctxfs.run.ended" && e.Data.Run != "" {
			p.ended[e.Data.Run] = e.Data.Status
		}
		return nil
	})
	if err == nil {
		p.evOff = size
	}
	return err
}

// events reads events.jsonl.
type events struct{ x *session.Session }

func (e events) ReadAt(b []byte, off int64) (int, error) { return e.x.ReadLog(session.Events, b, off) }

func (p *place) start(q *frames.Request, t taken) frames.Reply {
	s := frames.Reply{Type: frames.Start, ID: q.ID, Run: t.run, Session: p.key.session, Scope: p.key.scope, Share: p.key.share,
		Replay: t.replay, N: t.n, Cursor: position(t.n, t.end)}
	if p.key.target.Model {
		s.Model = p.key.target.Name
	} else {
		s.Agent = p.key.target.Name
	}
	return s
}

// answerSend answers a send whose message is on disk.
func (c *conn) answerSend(p *place, q *frames.Request, t taken, r *run) error {
	if t.progress {
		return nil // it listens
	}
	c.answer(p.start(q, t))
	if r != nil {
		c.hub.dispatch(r)
		return nil
	}
	defer c.done()
	end := frames.Reply{Type: frames.Done, ID: q.ID, Run: t.run, Status: cmp.Or(t.ended, frames.StatusOK)}
	if t.known != nil {
		m, err := p.message(t.known.n, t.known.off, t.known.end)
		if err != nil {
			return err
		}
		m.ID, m.Run = q.ID, t.run
		c.answer(m)
		end.Cursor = m.Cursor
	}
	c.answer(end)
	return nil
}
