package serve

import (
	"cmp"
	"encoding/json"
	"slices"

	"ctxfs/internal/frames"
)

// serve makes the connection an agent process's.
func (c *conn) serve(q *frames.Request) error {
	if c.isAgent() {
		return frames.Refuse(frames.EINVAL, "this connection serves already")
	}
	if err := c.hub.admit(c.peer, placeKey{}); err != nil {
		return err
	}
	start := frames.Reply{Type: frames.Start, ID: q.ID, Session: q.Session}
	if c.target.Model {
		start.Model = c.target.Name
	} else {
		start.Agent = c.target.Name
	}
	c.answer(start) // before the first input
	c.filter = q.Session
	c.mu.Lock()
	c.agent = true
	ended := c.ended
	c.mu.Unlock()
	c.hub.addAgent(c)
	if ended {
		c.hub.removeAgent(c)
	}
	return nil
}

// dispatch gives a run to an agent process, or ends it when there is none.
func (h *Hub) dispatch(r *run) {
	p := r.place
	p.retain() // until the run ends
	a := h.agentFor(r)
	if a == nil {
		r.end(outcome{status: frames.StatusError, code: frames.EHOSTDOWN, msg: "the message is recorded; no agent serves the session now"})
		return
	}
	p.mu.Lock()
	if r.ended { // it was cancelled already
		p.mu.Unlock()
		return
	}
	took := a.addRun(r)
	if took {
		r.agent, r.started, r.draft = a, true, r.newDraft()
	}
	p.mu.Unlock()
	if !took {
		r.end(outcome{status: frames.StatusError, code: frames.EAGAIN, msg: "the message is recorded; the agent has too much to do"})
		return
	}
	_ = p.j.State("active") // what matters is in the log
	r.begun(a.peer)
	cwd := r.cwd
	if data, err := p.x.ReadControl("cwd"); err == nil && len(data) > 0 {
		cwd = string(data[:len(data)-1])
	}
	uid := r.uid
	in := frames.Reply{Type: frames.Input, ID: r.send, Run: r.id, Session: p.key.session, Scope: p.key.scope, Share: p.key.share,
		UID: &uid, CWD: cwd, Path: p.key.dir(), Input: r.input}
	if !a.out.push(frames.Encode(in)) {
		r.end(outcome{status: frames.StatusError, code: frames.EAGAIN, msg: "the message is recorded; the agent does not read"})
	}
}

// addRun gives the agent a run. It is false when it has too many, or is gone.
func (c *conn) addRun(r *run) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || len(c.runs) >= c.hub.limits.Runs {
		return false
	}
	c.runs[r.id] = r
	return true
}

// dropRun takes a run that ended from the agent.
func (c *conn) dropRun(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs[r.id] != r {
		return
	}
	delete(c.runs, r.id)
	if len(c.past) >= 1024 {
		clear(c.past)
	}
	c.past[r.id] = true
}

// runOf finds the run that an agent's frame is about. It is nil for one that was cancelled: the agent may not know yet.
func (c *conn) runOf(q *frames.Request) (*run, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.runs[q.Run]; r != nil {
		return r, nil
	}
	if c.past[q.Run] {
		return nil, nil
	}
	return nil, frames.Refuse(frames.ENOENT, "run %q is not this connection's", q.Run)
}

// agentSays takes what an agent says about one of its runs.
func (c *conn) agentSays(q *frames.Request) error {
	r, err := c.runOf(q)
	if r == nil {
		return err
	}
	switch q.Op {
	case frames.Delta:
		r.delta(q.Text)
	case frames.Message:
		return r.message(q)
	case frames.ToolCall:
		return r.tool(q)
	case frames.Usage:
		r.usage(q)
	case frames.Done:
		r.finish(q)
	case frames.Fail:
		r.end(outcome{status: frames.StatusError, code: agentCode(q.Code), msg: q.Text})
	}
	return nil
}

// agentCode lets an agent name any of the codes.
func agentCode(s string) frames.Code {
	switch c := frames.Code(s); c {
	case frames.EACCES, frames.EAGAIN, frames.EHOSTDOWN, frames.EINTR, frames.EINVAL, frames.EMSGSIZE, frames.ENOENT,
		frames.ENOSPC, frames.EDQUOT, frames.ENOSYS:
		return c
	}
	return frames.EIO
}

func (r *run) delta(text string) {
	p := r.place
	p.mu.Lock()
	if r.ended {
		p.mu.Unlock()
		return
	}
	if len(r.text)+len(text) > p.hub.limits.Text {
		p.mu.Unlock()
		r.end(outcome{status: frames.StatusError, code: frames.EMSGSIZE, msg: "the answer is too long"})
		return
	}
	defer p.mu.Unlock()
	r.text = append(r.text, text...)
	r.draft.write([]byte(text))
	for _, piece := range frames.Pieces(text) {
		p.emit(r, frames.Reply{Type: frames.Delta, Text: piece})
	}
}

// message records what the agent says in between: a tool's result, a step of its own.
func (r *run) message(q *frames.Request) error {
	p := r.place
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.ended {
		return nil
	}
	l := line{ID: cmp.Or(q.ItemID, newID("msg-")), Role: q.Role, Content: q.Content, CreatedAt: now(), Run: r.id}
	if q.Role == "tool" {
		l.Name, l.IsError, l.ToolCallID = q.Name, q.IsError, r.answers(q)
	}
	if err := p.put(l); err != nil {
		return err
	}
	m, err := p.last()
	if err != nil {
		return err
	}
	m.Run = r.id
	for s := range p.subs {
		if s.run == r { // followers read it from the log
			s.tell(m)
		}
	}
	return nil
}

// last makes the frame of the newest record; mu is held.
func (p *place) last() (frames.Reply, error) {
	off := p.ids.lastOff
	return p.message(p.ids.n, off, p.ids.off)
}

// answers returns the call that a tool's message answers: the one that it names, else the oldest call of the run that has no
// result; place.mu is held. Results in blocks name their calls themselves.
func (r *run) answers(q *frames.Request) string {
	id := q.CallID
	if id == "" && len(r.calls) > 0 && q.Content[0] == '"' {
		id = r.calls[0]
	}
	r.calls = slices.DeleteFunc(r.calls, func(c string) bool { return c == id })
	return id
}

// toolUse is the block of a tool call in a record.
type toolUse struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// tool records a tool call, and passes it on. Followers get the record and the frame, the sender the frame.
func (r *run) tool(q *frames.Request) error {
	id, input := cmp.Or(q.ItemID, newID("call-")), q.Content
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if sent, err := r.recordCall(id, q.Name, input); !sent {
		return err
	}
	_ = r.place.j.Event("ctxfs.run.tool_call", map[string]any{"run": r.id, "call_id": id, "name": q.Name, "input": input})
	return nil
}

// recordCall reports whether the call was recorded: it is not when the run has ended.
func (r *run) recordCall(id, name string, input json.RawMessage) (bool, error) {
	p := r.place
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.ended {
		return false, nil
	}
	content := encode([]toolUse{{Type: "tool_use", ID: id, Name: name, Input: input}})
	if err := p.put(line{ID: newID("msg-"), Role: "assistant", Content: content, CreatedAt: now(), Run: r.id}); err != nil {
		return false, err
	}
	r.calls = append(r.calls, id)
	f := frames.Reply{Type: frames.ToolCall, CallID: id, Name: name}
	if len(input) < frames.MaxFrame/2 {
		f.ToolInput = input
	}
	p.emit(r, f)
	return true, nil
}

func (r *run) usage(q *frames.Request) {
	r.place.mu.Lock()
	r.place.emit(r, frames.Reply{Type: frames.Usage, InputTokens: q.Tokens[0], OutputTokens: q.Tokens[1]})
	r.place.mu.Unlock()
	_ = r.place.j.Event("ctxfs.run.usage", map[string]any{"run": r.id, "input_tokens": q.Tokens[0], "output_tokens": q.Tokens[1]})
}

// finish is an agent's done. Its text is the answer; without one, what it streamed.
func (r *run) finish(q *frames.Request) {
	o := outcome{status: q.Status, text: q.Text}
	if !q.HasText {
		r.place.mu.Lock()
		o.text = string(r.text)
		r.place.mu.Unlock()
	}
	if o.status == frames.StatusError {
		o.code, o.msg = agentCode(q.Code), "the agent failed"
	}
	r.end(o)
}
