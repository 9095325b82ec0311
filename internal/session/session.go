package session

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/beneath"

	"golang.org/x/sys/unix"
)

const renameNoReplace = unix.RENAME_NOREPLACE

// The logs of a session.
const (
	Messages = "messages.jsonl"
	Events   = "events.jsonl"
)

// Session is one session directory. It is safe for concurrent use.
type Session struct {
	store *Store
	c     *Container
	name  atomic.Pointer[string] // changes when the session is renamed

	logMu sync.Mutex // protects logs, refs and over; taken alone or as the last. A move of the session holds ctlMu, mu and logMu
	logs  map[string]*appendlog.Log
	refs  int   // users of the logs: open handles and running builds
	over  bool  // it was a temporary session, and has ended
	added int64 // records appended through logs that are closed by now

	damaged atomic.Bool // an event told of damage in archived bytes

	ctlMu sync.Mutex // held over a change of a control file; taken before mu and logMu
	told  bool       // what is being written tells of things that events told of when they happened; protected by ctlMu

	watchMu  sync.Mutex // protects watchers; a leaf
	watchers map[chan<- struct{}]bool

	countMu sync.Mutex // protects counts; taken before logMu
	counts  map[string]*counter

	mu     sync.Mutex // protects the fold and what is built from it
	fold   *fold
	cache  map[string]view
	cached int64                // bytes in cache
	past   past                 // of events.jsonl
	weight atomic.Int64         // bytes of history in fold, and those of cache
	given  atomic.Bool          // somebody keeps what they were told: see Given
	newest atomic.Pointer[made] // the pack of pack.md that was made last
	ctl    atomic.Uint64        // counts changes of the files beside the logs that packs are built from
}

// Session gives the session of that name, which must exist.
func (c *Container) Session(name string) (*Session, error) {
	if err := CheckSessionName(name); err != nil {
		return nil, err
	}
	rel := path.Join(c.SessionsRel(), name)
	c.store.mu.Lock()
	x := c.store.sessions[rel]
	c.store.mu.Unlock()
	if x != nil {
		return x, nil
	}
	if m := c.store.memory; m != nil { // none is made for what ends just now
		m.tree.RLock()
		defer m.tree.RUnlock()
	}
	if _, err := c.Has(name); err != nil {
		return nil, err
	}
	return c.store.keep(c, name), nil
}

// keep makes the session's object, or gives the one that another caller made first.
func (s *Store) keep(c *Container, name string) *Session {
	x := &Session{store: s, c: c}
	x.given.Store(s.AllGiven)
	x.name.Store(&name)
	s.mu.Lock()
	defer s.mu.Unlock()
	rel := x.rel()
	if have := s.sessions[rel]; have != nil {
		return have
	}
	s.sessions[rel] = x
	return x
}

func (s *Store) rekey(x *Session, newName string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, x.rel())
	x.name.Store(&newName)
	s.sessions[x.rel()] = x
}

// Name is the session's name now, and Container where it stands.
func (x *Session) Name() string { return *x.name.Load() }

// Store is the store that the session stands in.
func (x *Session) Store() *Store { return x.store }

// Container is where the session stands.
func (x *Session) Container() *Container { return x.c }

func (x *Session) rel() string { return path.Join(x.c.SessionsRel(), x.Name()) }

// file gives the path in the store of a file of the session.
func (x *Session) file(name string) string { return path.Join(x.rel(), name) }

// Rel is the session's directory in the store.
func (x *Session) Rel() string { return x.rel() }

// Attr is what all files of a session share: its directory's owner and mode.
type Attr struct {
	UID, GID uint32
	Mode     uint32 // permission bits of the directory
	Mtime    time.Time
	Ino      uint64 // in the store's file system
}

// Attr reads the session directory's attributes.
func (x *Session) Attr() (a Attr, err error) {
	err = x.steady(func() error { a, err = x.attr(); return err })
	return a, err
}

// still keeps everybody from x's files until the function that it gives is called: x is about to move.
func (x *Session) still() func() {
	x.ctlMu.Lock()
	x.mu.Lock()
	x.logMu.Lock()
	return func() {
		x.logMu.Unlock()
		x.mu.Unlock()
		x.ctlMu.Unlock()
	}
}

// steady does what looks at x's files without a lock, and does it again when x moved meanwhile: what was not found then
// is elsewhere now. logMu is not held.
func (x *Session) steady(look func() error) error {
	for {
		name := x.name.Load()
		err := look()
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		x.logMu.Lock() // a move that has begun ends first
		moved := x.name.Load() != name
		x.logMu.Unlock()
		if !moved {
			return err
		}
	}
}

func (x *Session) attr() (Attr, error) {
	st, err := x.store.dir.Stat(x.rel())
	if err != nil {
		return Attr{}, err
	}
	return attrOf(&st), nil
}

func attrOf(st *unix.Stat_t) Attr {
	return Attr{UID: st.Uid, GID: st.Gid, Mode: st.Mode & 0o7777, Mtime: timeOf(st.Mtim), Ino: st.Ino}
}

func timeOf(t unix.Timespec) time.Time { return time.Unix(t.Sec, t.Nsec).UTC() }

// FileMode gives a file's permission bits in a directory with mode dir: as private or as shared as that is.
func FileMode(dir uint32, writable bool) uint32 {
	m := uint32(0o600) | dir&0o060 | dir&0o004
	if !writable {
		m &= 0o444
	}
	return m
}

// owner is who new files of the session belong to, and with which mode.
func (x *Session) owner() (beneath.Owner, uint32, error) { return x.store.ownerIn(x.rel()) }

// ownerIn is who new files of a session at rel belong to, and with which mode.
func (s *Store) ownerIn(rel string) (beneath.Owner, uint32, error) {
	st, err := s.dir.Stat(rel)
	own := beneath.Owner{UID: int(st.Uid), GID: int(st.Gid), Chown: s.chown}
	if uid, ok := HomeOf(rel); ok && uid != own.UID { // a session that root made by hand
		own.UID, own.GID = uid, primaryGroup(uid)
	}
	return own, FileMode(st.Mode, true), err
}

// lay puts the files of a new session in its folder at rel.
func (s *Store) lay(rel string, by Caller) error {
	own, perm, err := s.ownerIn(rel)
	if err != nil {
		return err
	}
	for _, log := range []string{Messages, Events} {
		if err := s.dir.NewFile(path.Join(rel, log), perm, own); err != nil {
			return err
		}
	}
	meta, err := json.Marshal(map[string]any{"id": newID(), "created_at": stamp(s.opt.Now().UTC()), "created_by_uid": by.UID})
	if err != nil {
		return err
	}
	return s.dir.WriteFile(path.Join(rel, "meta.json"), append(meta, '\n'), perm, own)
}

// stamp writes a time as the session's files do: RFC 3339 in UTC.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// newID makes a random id of 128 bits.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// Touch says that a file that packs are built from (pinned, child) changed, or a name in the session's folder.
func (x *Session) Touch() {
	x.ctl.Add(1)
	x.c.idx.touch(x.Name())
	x.stale()
}

// Given says that somebody keeps what they are about to be told of the session: its next change is told (Store.Stale).
func (x *Session) Given() { x.given.Store(true) }

// stale tells of a change.
func (x *Session) stale() {
	if !x.given.Load() || !x.given.CompareAndSwap(true, false) {
		return
	}
	if stale := x.store.host().Stale; stale != nil {
		stale(x)
	}
}

// changed tells the kernel's side of a change that the kernel did not make.
func (x *Session) changed(name string) {
	x.stale()
	if changed := x.store.host().Changed; changed != nil {
		changed(x, name)
	}
}
