package serve

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"ctxfs/internal/frames"
	"ctxfs/internal/record"
)

// run is the work on one message: from its record to its answer.
type run struct {
	id, send   string
	n          int    // record number of the message
	uid        uint32 // whose message it is
	place      *place
	input, cwd string

	// What is below is protected by place.mu.
	agent   *conn // the agent process; nil: none yet, or of an earlier worker
	started bool  // an agent process works on it
	text    []byte
	draft   *draft   // nil: there is none
	calls   []string // tool calls without a result, oldest first
	ended   bool
}

// outcome is how a run ends.
type outcome struct {
	status string
	text   string // the answer, or as much as there is of it; "": what was streamed, unless the run is ok
	code   frames.Code
	msg    string
}

// sub is a connection that listens to a place.
type sub struct {
	c      *conn
	id     string            // of the request
	run    *run              // whose frames; nil: all
	events chan frames.Reply // of a follow: its goroutine sends them between messages
	waits  atomic.Int64      // bytes of text in events
}

// newID returns a random id: of a run, a message or a tool call.
func newID(prefix string) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return prefix + hex.EncodeToString(b[:])
}

// tell passes a frame on to a listener.
func (s *sub) tell(r frames.Reply) {
	r.ID = s.id
	if s.events == nil {
		s.c.say(r)
		return
	}
	if s.waits.Load() < int64(s.c.hub.limits.QueueBytes)/4 {
		s.waits.Add(int64(len(r.Text)))
		select {
		case s.events <- r:
			return
		default:
		}
	}
	s.c.late(s.id)
}

// emit tells all who listen to the run; mu is held.
func (p *place) emit(r *run, f frames.Reply) {
	f.Run = r.id
	for s := range p.subs {
		if s.run == r || s.run == nil {
			s.tell(f)
		}
	}
}

func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// encode returns v, a string or blocks of content, as JSON. People grep in the log, so "<" stays as it is.
func encode(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // never fails: what is JSON in v was read as JSON
	return bytes.TrimSpace(buf.Bytes())
}

// put appends a record and reads it back in, so that its number is known; mu is held.
func (p *place) put(l line) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // people grep in the log
	if err := enc.Encode(l); err != nil {
		return err
	}
	if err := p.j.Append(buf.Bytes()); err != nil {
		return err
	}
	return p.ids.catchUp(p.j)
}

// end ends the run, once. The answer is durable before any frame tells of it.
func (r *run) end(o outcome) {
	p := r.place
	p.mu.Lock()
	if r.ended {
		p.mu.Unlock()
		return
	}
	r.ended = true
	delete(p.runs, r.send)
	agent, started := r.agent, r.started
	recorded := r.record(o)
	if recorded == nil {
		p.ended[r.id] = o.status
	}
	last, n := len(p.runs) == 0, p.ids.answers[r.id].n
	p.mu.Unlock()

	if recorded == nil {
		recorded = p.j.Sync()
	}
	if recorded != nil {
		e := refusal(recorded)
		o = outcome{status: frames.StatusError, code: e.Code, msg: "the answer could not be recorded: " + e.Msg}
	}
	if agent != nil {
		agent.dropRun(r)
	}
	if started {
		r.note(o, n, last)
	}
	r.draft.end(recorded != nil)
	r.tellEnd(o)
	p.close()
}

// record appends the answer. What the agent had said of one that ended early is recorded too, marked as incomplete; it does
// not count as the answer, and a later run of the same message has its own record. place.mu is held.
func (r *run) record(o outcome) error {
	said, l := o.text, line{ID: r.id, Role: "assistant", CreatedAt: now(), Run: r.id, Parent: r.send, Status: o.status}
	if o.status != frames.StatusOK {
		said = cmp.Or(said, string(r.text))
		l.ID, l.Incomplete = fmt.Sprintf("%s.%d", r.id, r.place.ids.parts[r.id].count+1), true
	}
	if said == "" {
		return nil
	}
	l.Content = encode(said)
	return r.place.put(l)
}

// begun keeps in events.jsonl which process works on which message: several agents may work on one session.
func (r *run) begun(agent peer) {
	_ = r.place.j.Event("ctxfs.run.started", map[string]any{"run": r.id, "id": r.send, "message": r.n,
		"agent": map[string]any{"uid": agent.uid, "pid": agent.pid}})
}

// note keeps the outcome in events.jsonl and in the session's state. The run is over whether or not that can be written.
// n is the answer's record number, if there is one.
func (r *run) note(o outcome, n int, last bool) {
	data := map[string]any{"run": r.id, "id": r.send, "message": r.n, "status": o.status}
	if n > 0 {
		data["answer"] = n
	}
	if o.code != "" {
		data["code"], data["message"] = string(o.code), o.msg
	}
	_ = r.place.j.Event("ctxfs.run.ended", data)
	if !last {
		return
	}
	state := "idle"
	if o.status == frames.StatusError {
		state = "error"
	}
	_ = r.place.j.State(state)
}

// tellEnd gives the senders their answer and the end, and followers the end.
func (r *run) tellEnd(o outcome) {
	p := r.place
	p.mu.Lock()
	var msg *frames.Reply
	if a, ok := p.ids.answers[r.id]; ok && o.status == frames.StatusOK {
		if m, err := p.message(a.n, a.off, a.end); err == nil {
			msg = &m
		}
	}
	var jobs []*conn
	for s := range p.subs {
		if s.run != r && s.run != nil {
			continue
		}
		if msg != nil && s.run == r {
			m := *msg
			m.Run = r.id
			s.tell(m)
		}
		if o.code != "" {
			s.tell(frames.Reply{Type: frames.Fail, Run: r.id, Code: o.code, Message: o.msg})
		}
		s.tell(frames.Reply{Type: frames.Done, Run: r.id, Status: o.status, Cursor: position(p.ids.n, p.ids.off)})
		if s.run == r {
			delete(p.subs, s)
			jobs = append(jobs, s.c)
		}
	}
	p.mu.Unlock()
	for _, c := range jobs {
		c.done()
	}
}

// message makes the frame of a record.
func (p *place) message(n int, off, end int64) (frames.Reply, error) {
	b, err := readLine(p.j, off, end)
	if err != nil {
		return frames.Reply{}, err
	}
	return p.frame(b, n, off), nil
}

// frame makes the frame of record n, whose line is b.
func (p *place) frame(b []byte, n int, off int64) frames.Reply {
	rec, _ := record.Parse(b, n, off) // every line of a log is a record
	m := frames.FromRecord(&rec, position(n, off+int64(len(b))))
	if len(b) > frames.MaxFrame/2 {
		m.Path = fmt.Sprintf("%s/context/swap/open/messages:%d", p.key.dir(), n) // where the whole is, if it is cut
	}
	return m
}

// stop cancels the run: its agent is told to leave it.
func (r *run) stop() {
	r.place.mu.Lock()
	agent := r.agent
	r.place.mu.Unlock()
	if agent != nil {
		agent.say(frames.Reply{Type: frames.Cancel, ID: r.send, Run: r.id, Session: r.place.key.session})
	}
	r.end(outcome{status: frames.StatusCancelled})
}
