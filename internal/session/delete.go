package session

import (
	"path"
)

// Trash is the folder, in an owner's StateDir, where a session goes on its way out: a crash leaves it there for gc.
const Trash = "trash"

// Delete removes a session for good, history and all: the explicit policy that the Context Runtime ABI (Context GC)
// asks for. A session that somebody has open is Busy.
func (c *Container) Delete(name string) error {
	if c.Scope == Temp {
		return refuse(NotPermitted, "a temporary session ends with its connection")
	}
	x, err := c.Session(name)
	if err != nil {
		return err
	}
	defer x.still()()
	if x.refs > 0 {
		return &Error{Kind: Busy, Msg: "session " + name + " is open", Hint: "close what reads or writes it, then try again"}
	}
	own, _, err := x.owner()
	if err != nil {
		return err
	}
	trash := path.Join(OwnerRel(x.rel()), StateDir, Trash)
	if err := c.store.MakeDirs(trash, Caller{UID: uint32(own.UID), GID: uint32(own.GID)}); err != nil {
		return err
	}
	gone := path.Join(trash, c.Agent+"."+name+"."+newID()[:8])
	if err := c.store.dir.Rename(x.rel(), gone, renameNoReplace); err != nil {
		return err
	}
	x.drop()
	c.store.removed(x)
	// Whoever still holds x finds nothing under a name that no session can have.
	nowhere := ".deleted-" + newID()
	x.name.Store(&nowhere)
	c.idx.touch(name)
	if err := c.store.dir.Sync(c.SessionsRel()); err != nil {
		return err
	}
	return c.store.dir.RemoveAll(gone)
}

// removed forgets a session that is gone.
func (s *Store) removed(x *Session) {
	s.mu.Lock()
	delete(s.sessions, x.rel())
	if s.count > 0 {
		s.count--
	}
	s.mu.Unlock()
	s = s.host() // which has the queue
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready.forget(x)
}
