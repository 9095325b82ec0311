package serve

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ctxfs/internal/frames"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// placeKey says which session it is.
type placeKey struct {
	target  Target
	scope   string
	share   string
	uid     uint32 // whose, of private and temp
	session string
}

// dir is the session's directory, in the store and below the mountpoint.
func (k placeKey) dir() string {
	if k.scope == frames.Temp {
		return path.Join(k.container(), "temp", k.session)
	}
	return path.Join(k.container(), "session", k.session)
}

func (k placeKey) container() string {
	owner := path.Join("home", strconv.FormatUint(uint64(k.uid), 10))
	if k.share != "" {
		owner = path.Join("shared", k.share)
	}
	if k.target.Model {
		return path.Join(owner, "model", k.target.Name+".d")
	}
	return path.Join(owner, "agent", k.target.Name)
}

// place is a session as the sockets see it: its history, the runs in progress, and who listens.
type place struct {
	hub *Hub
	key placeKey
	j   journal
	x   *session.Session

	users int // that hold it open; protected by Hub.mu

	recovered sync.Once // drafts of an earlier worker are recorded

	mu    sync.Mutex // protects what is below. It is held over an append, so that an id is looked up and recorded in one step
	ids   *ids
	ended map[string]string // how runs without an answer ended, by run
	evOff int64             // events.jsonl was read for that up to here
	runs  map[string]*run   // in progress, by the id of the send
	subs  map[*sub]bool
	over  bool // a temporary session that ended
}

func newPlace(h *Hub, k placeKey, j journal) *place {
	return &place{hub: h, key: k, j: j, x: j.x, ids: newIDs(), ended: map[string]string{}, runs: map[string]*run{}, subs: map[*sub]bool{}}
}

// keptPlaces is how many places stay known when nobody uses them: what their logs say about ids need not be read again.
const keptPlaces = 256

// open returns the session that a request names; the caller closes it. A send creates a missing session.
func (h *Hub) open(c *conn, q *frames.Request) (*place, error) {
	if q.Scope == frames.Temp {
		return h.openTemp(c, q)
	}
	k, err := c.key(q)
	if err != nil {
		return nil, err
	}
	by := session.Caller{UID: c.peer.uid, GID: c.peer.gid}
	cont, err := h.store.Container(k.container())
	if err != nil {
		return nil, err
	}
	if err := h.admit(c.peer, k); err != nil {
		return nil, err
	}
	x, err := h.find(c.peer, cont, q, k, by)
	if err != nil {
		return nil, err
	}
	p := h.hold(k, x, by)
	p.recover()
	return p, nil
}

// key returns which session a request names. Without a name it is the session default (Session ABI).
func (c *conn) key(q *frames.Request) (placeKey, error) {
	k := placeKey{target: c.target, scope: q.Scope, share: q.Share, session: cmp.Or(q.Session, frames.DefaultSession)}
	var err error
	switch {
	case q.Scope != frames.Shared:
		k.uid = c.peer.uid
	case q.Share == "":
		k.share, err = c.hub.onlyShare(c.peer)
	}
	return k, err
}

// onlyShare returns the share of a request that names none (Session ABI: the scope is all that a request has): the share
// default, else the only one that lets the peer in.
func (h *Hub) onlyShare(p peer) (string, error) {
	entries, err := h.store.Dir().ReadDir("shared")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var open []string
	for _, e := range entries {
		if e.IsDir() && h.may(p, path.Join("shared", e.Name()), unix.R_OK|unix.X_OK) == nil {
			open = append(open, e.Name())
		}
	}
	slices.Sort(open)
	switch {
	case slices.Contains(open, defaultShare):
		return defaultShare, nil
	case len(open) == 1:
		return open[0], nil
	case len(open) == 0:
		return "", frames.Refuse(frames.ENOENT, "there is no share for this user: ctxfs share create makes one")
	}
	return "", frames.Refuse(frames.EINVAL, "name a share in share: %s", strings.Join(open[:min(len(open), maxNamed)], ", "))
}

const (
	defaultShare = "default"
	maxNamed     = 20 // shares that an error lists
)

// admit reports, by an error, that the peer may not use sessions there at all.
func (h *Hub) admit(p peer, k placeKey) error {
	if !h.store.System() && p.uid != h.store.Self() && p.uid != 0 {
		return frames.Refuse(frames.EACCES, "this mount is another user's own")
	}
	if k.share == "" {
		return nil
	}
	if _, err := h.store.Dir().Stat(path.Join("shared", k.share)); err != nil {
		return frames.Refuse(frames.ENOENT, "there is no share %s", k.share)
	}
	return h.may(p, path.Join("shared", k.share), unix.R_OK|unix.X_OK)
}

// reach tells whether a peer may read the place's session, or write there.
func (h *Hub) reach(p peer, pl *place, write bool) error {
	mode := uint32(unix.R_OK | unix.X_OK)
	if write {
		mode |= unix.W_OK
	}
	return h.may(p, pl.key.dir(), mode)
}

// may asks the kernel whether the peer has that access to a share, or to a path in it. Nobody but root may search the
// folder of shares, so the question is asked from inside the share.
func (h *Hub) may(p peer, rel string, mode uint32) error {
	if p.uid == 0 || p.uid == h.store.Self() {
		return nil
	}
	share := session.OwnerRel(rel)
	f, err := h.store.Dir().OpenFile(share, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.mayAccess(int(f.Fd()), cmp.Or(strings.TrimPrefix(strings.TrimPrefix(rel, share), "/"), "."), mode); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return frames.Refuse(frames.EACCES, "the share does not let this user do that")
	}
	return nil
}

// find gives the session's object. Nothing is made before all of the request was checked.
func (h *Hub) find(p peer, cont *session.Container, q *frames.Request, k placeKey, by session.Caller) (*session.Session, error) {
	x, err := cont.Session(k.session)
	there := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	write := q.Op == frames.Send || q.Op == frames.Cancel
	if k.share != "" {
		if err := h.mayShare(p, k, write); err != nil {
			return nil, err
		}
	}
	if !there && q.Op != frames.Send {
		return nil, frames.Refuse(frames.ENOENT, "there is no session %s", k.session)
	}
	cwd, err := h.cwd(cont, q, there, by)
	if err != nil {
		return nil, err
	}
	if !there {
		if x, err = cont.Create(k.session, by); errors.Is(err, fs.ErrExist) {
			x, err = cont.Session(k.session) // another request was first
		}
		if err != nil {
			return nil, err
		}
		describe(x, p, q, by)
	}
	return x, goTo(x, cwd, by)
}

// mayShare asks for the deepest folder of the session's path that is there: in it something would be made.
func (h *Hub) mayShare(p peer, k placeKey, write bool) error {
	mode := uint32(unix.R_OK | unix.X_OK)
	if write {
		mode |= unix.W_OK
	}
	for rel := k.dir(); ; rel = path.Dir(rel) {
		err := h.may(p, rel, mode)
		if !errors.Is(err, fs.ErrNotExist) || rel == "shared" {
			return err
		}
	}
}

// cwd gives the directory that a send's session is to stand in: what the frame says; of a new session, else, what
// agent/<name>.d/cwd says (Session ABI). "" leaves it as it is.
func (h *Hub) cwd(cont *session.Container, q *frames.Request, there bool, by session.Caller) (string, error) {
	if q.Op != frames.Send {
		return "", nil
	}
	cwd := q.CWD
	if cwd == "" && !there {
		kind := "agent"
		if cont.Model {
			kind = "model"
		}
		data, err := h.store.Dir().ReadFile(path.Join(kind, cont.Agent+".d", "cwd"), unix.PathMax)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		cwd = strings.TrimSuffix(string(data), "\n")
	}
	if cwd == "" {
		return "", nil
	}
	return cont.CheckCWD(cwd, by)
}

func goTo(x *session.Session, cwd string, by session.Caller) error {
	if cwd == "" {
		return nil
	}
	now, err := x.ReadControl("cwd")
	if err != nil || strings.TrimSuffix(string(now), "\n") == cwd {
		return err
	}
	return x.WriteControl("cwd", []byte(cwd+"\n"), by)
}

// hold gives the place of a session, known or new.
func (h *Hub) hold(k placeKey, x *session.Session, by session.Caller) *place {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.places[k]
	if p == nil || p.x != x { // it was renamed or deleted meanwhile, and another has its name
		p = newPlace(h, k, journal{x: x, by: by})
		h.places[k] = p
	}
	p.users++
	return p
}

// retain is one use more.
func (p *place) retain() {
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	p.users++
}

// close ends one use of the place.
func (p *place) close() {
	if p.left() && p.j.last() != nil {
		p.x.Release()
	}
}

// left counts one use less, and tells whether it was the last. The places of old sessions are forgotten then, one by one.
func (p *place) left() bool {
	h := p.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	p.users--
	if p.users > 0 || len(h.places) <= keptPlaces {
		return p.users == 0
	}
	for k, old := range h.places {
		if old.users == 0 {
			delete(h.places, k)
			break
		}
	}
	return true
}
