package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"

	"ctxfs/internal/frames"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// draftDir is the folder, in an owner's StateDir, of the drafts.
const draftDir = "draft"

// draft is the file of a run in progress: a line about the run, then what its agent has said so far. A worker that dies
// leaves it behind, and the next worker records the text as an incomplete answer. Temporary sessions have no drafts.
type draft struct {
	draftHead
	hub *Hub
	rel string   // path in the store
	f   *os.File // nil: the file cannot be written
}

// draftHead is the first line of a draft.
type draftHead struct {
	Model   bool   `json:"model,omitempty"`
	Target  string `json:"target"`
	Scope   string `json:"scope"`
	Share   string `json:"share,omitempty"`
	UID     uint32 `json:"uid"` // of the session's home
	Session string `json:"session"`

	Run     string `json:"run"`
	Send    string `json:"send"`
	Message int    `json:"message"` // record number
	Off     int64  `json:"off"`     // length of messages.jsonl when the run began
}

func (d *draftHead) key() placeKey {
	return placeKey{target: Target{Model: d.Model, Name: d.Target}, scope: d.Scope, share: d.Share, uid: d.UID, session: d.Session}
}

// newDraft creates the draft of r; place.mu is held. Without one, what the agent says is lost when the worker dies, and only
// then: so a full disk is no reason to refuse the run.
func (r *run) newDraft() *draft {
	p, k := r.place, r.place.key
	if p.j.temp != nil {
		return nil
	}
	d := &draft{hub: p.hub, rel: path.Join(session.OwnerRel(k.dir()), session.StateDir, draftDir, r.id), draftHead: draftHead{Model: k.target.Model,
		Target: k.target.Name, Scope: k.scope, Share: k.share, UID: k.uid, Session: k.session, Run: r.id, Send: r.send, Message: r.n, Off: p.ids.off}}
	head, err := json.Marshal(d.draftHead)
	if err != nil {
		return nil
	}
	d.remove() // one that could not be removed
	if p.hub.store.MakeDirs(path.Dir(d.rel), p.j.by) != nil {
		return nil
	}
	if d.f, err = p.hub.store.Create(d.rel, unix.O_WRONLY|unix.O_APPEND, 0o600, p.j.by); err != nil {
		return nil
	}
	p.hub.setLive(r.id, true)
	d.write(append(head, '\n'))
	return d
}

// write adds to the draft. The bytes survive the worker's death, not a power loss.
func (d *draft) write(b []byte) {
	if d == nil || d.f == nil {
		return
	}
	err := d.hub.store.Room(d.rel, int64(len(b)), 0)
	if err == nil {
		_, err = d.f.Write(b)
	}
	if err != nil { // a text with a gap is worse than its beginning
		_ = d.f.Close()
		d.f = nil
	}
}

// end removes the draft of a run that has ended. keep leaves the file for the next worker.
func (d *draft) end(keep bool) {
	if d == nil {
		return
	}
	if d.f != nil {
		_ = d.f.Close() // the text is in the log, or the next worker reads what was written
	}
	if !keep {
		d.remove()
	}
	d.hub.setLive(d.Run, false)
}

func (d *draft) remove() { _ = d.hub.store.Dir().Unlink(d.rel) } // one that stays is recognized as recorded

// setLive notes which runs are in progress in this worker.
func (h *Hub) setLive(run string, live bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if live {
		h.live[run] = true
	} else {
		delete(h.live, run)
	}
}

func (h *Hub) isLive(run string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live[run]
}

// Recover records what agents had said when an earlier worker died, in all sessions. A session that is used before gets
// its own part first.
func (h *Hub) Recover() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.wg.Add(1)
	h.mu.Unlock()
	defer h.wg.Done()
	owners, _ := h.store.Owners() // what cannot be read now is recovered when its session is used
	for _, owner := range owners {
		for _, d := range h.drafts(owner) {
			h.recoverSession(d)
		}
	}
}

func (h *Hub) recoverSession(d *draft) {
	k := d.key()
	cont, err := h.store.Container(k.container())
	var x *session.Session
	if err == nil {
		x, err = cont.Session(k.session)
	}
	if errors.Is(err, fs.ErrNotExist) {
		d.remove() // the session was deleted
	}
	if err != nil {
		return
	}
	st, err := h.store.Dir().Stat(d.rel)
	if err != nil {
		return
	}
	p := h.hold(k, x, session.Caller{UID: st.Uid, GID: st.Gid}) // what else a draft says of users is not believed
	defer p.close()
	p.recover()
}

// drafts lists what earlier workers left of an owner's runs.
func (h *Hub) drafts(owner string) (list []*draft) {
	dir := path.Join(owner, session.StateDir, draftDir)
	entries, _ := h.store.Dir().ReadDir(dir) // mostly there is none
	for _, e := range entries {
		if h.isLive(e.Name()) {
			continue
		}
		d := &draft{hub: h, rel: path.Join(dir, e.Name())}
		head, _, err := d.read()
		if err == nil && json.Unmarshal(head, &d.draftHead) == nil && d.Run == e.Name() && session.OwnerRel(d.key().dir()) == owner {
			list = append(list, d)
		}
	}
	return list
}

// maxHead is how long the first line of a draft may be, in bytes.
const maxHead = 64 << 10

// read returns the draft's first line and its text.
func (d *draft) read() (head, text []byte, err error) {
	data, err := d.hub.store.Dir().ReadFile(d.rel, int64(d.hub.limits.Text+maxHead))
	if err != nil {
		return nil, nil, err
	}
	head, text, _ = bytes.Cut(data, []byte{'\n'})
	return head, text, nil
}

// recover records the drafts of the place's session. Every request waits for it, so that no run of this worker begins before.
func (p *place) recover() {
	p.recovered.Do(func() {
		if p.j.temp != nil {
			return
		}
		for _, d := range p.hub.drafts(session.OwnerRel(p.key.dir())) {
			if d.key() == p.key {
				p.recoverRun(d)
			}
		}
	})
}

// recoverRun ends a run of a worker that died, unless it had ended, and its draft was about to be removed.
func (p *place) recoverRun(d *draft) {
	_, text, err := d.read()
	p.mu.Lock()
	if err == nil {
		err = p.ids.catchUp(p.j)
	}
	_, answered := p.ids.answers[d.Run]
	part, said := p.ids.parts[d.Run]
	p.mu.Unlock()
	switch {
	case err != nil: // the draft stays for another try
	case answered || said && part.off >= d.Off:
		d.remove()
	default:
		p.retain() // until the run ends
		r := &run{id: d.Run, send: d.Send, n: d.Message, place: p, text: bytes.ToValidUTF8(text, nil), started: true, draft: d}
		r.end(outcome{status: frames.StatusError, code: frames.EHOSTDOWN, msg: "the daemon ended before the answer did"})
	}
}
