package fsnode

import (
	"errors"
	"io/fs"
	"strings"

	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// Temporary sessions stand in memory, in a store of each user's own, and in the tree beside the others: in temp/ of their
// agent or model. They end when no request of the kernel's says so. So the kernel keeps nothing of them, for no time, and
// need not be told: a notice could wait for a request that waits for the daemon.

// temporary tells whether n is in memory, or the folder of what is.
func (n node) temporary() bool { return n.num >= firstTemp || n.kind == kTemps }

// ended is told of each temporary session that ended.
func (f *FS) ended(c *session.Container, name string) {
	if id, ok := f.table.known(f.sessionsID(c), name); ok {
		f.table.end(id >> 8)
	}
}

// memory gives the store in memory of the user whose home a path is in.
func (f *FS) memory(rel string) (*session.Store, error) {
	parts := strings.SplitN(rel, "/", 3)
	if len(parts) > 1 && parts[0] == "home" {
		if uid, ok := homeUID(parts[1]); ok {
			if s := f.store.Memory(uid); s != nil {
				return s, nil
			}
		}
	}
	return nil, unix.ENOENT
}

// temps gives the container of the temporary sessions in the folder n.
func (f *FS) temps(n node) (*session.Container, error) {
	rel, err := f.rel(node{kind: kContainer, num: n.num, e: n.e, id: n.part(kContainer)})
	if err != nil {
		return nil, err
	}
	s, err := f.memory(rel)
	if err != nil {
		return nil, err
	}
	return s.Container(rel)
}

// findTemps finds the folder of an agent's temporary sessions, which is there while there is one.
func (f *FS) findTemps(n node, name string) (uint64, error) {
	if name != f.tree.specs[kTemps].name {
		return 0, unix.ENOENT
	}
	return n.part(kTemps), f.statTemps(n)
}

func (f *FS) statTemps(n node) error {
	s, rel, err := f.at(node{kind: kTemps, num: n.num, e: n.e, id: n.part(kTemps)})
	if err != nil {
		return err
	}
	_, err = s.Dir().Stat(rel)
	return err
}

func (f *FS) listTemps(n node) ([]item, error) {
	err := f.statTemps(n)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return []item{{name: f.tree.specs[kTemps].name, mode: unix.S_IFDIR, id: n.part(kTemps)}}, err
}

// findTemp finds a temporary session. A name that was another's before has another node.
func (f *FS) findTemp(n node, name string) (uint64, error) {
	c, err := f.temps(n)
	if err != nil {
		return 0, err
	}
	if session.CheckSessionName(name) != nil {
		return 0, unix.ENOENT
	}
	for {
		x, err := c.Session(name)
		if err != nil {
			return 0, err
		}
		id := f.table.id(kSession, n.id, name)
		e := f.table.get(id >> 8)
		if e == nil {
			continue // it ended meanwhile
		}
		if e.sess.CompareAndSwap(nil, x); e.sess.Load() == x && !x.Over() {
			return id, nil
		}
		f.table.end(id >> 8)
	}
}

// listTempSessions lists the temporary sessions in the folder n.
func (f *FS) listTempSessions(n node) ([]item, error) {
	entries, err := f.entries(n)
	var items []item
	for _, e := range entries {
		if id, err := f.findTemp(n, e.Name()); err == nil { // else it has ended meanwhile
			items = append(items, item{name: e.Name(), mode: unix.S_IFDIR, id: id})
		}
	}
	return items, err
}

// sameTemp tells whether two things stand in the same temporary session, if the first is in one.
func (f *FS) sameTemp(a, b node) bool {
	if !a.temporary() {
		return true
	}
	x, errX := f.session(a)
	y, errY := f.session(b)
	return errX == nil && errY == nil && x == y
}

// statAbove is stat of a folder above sessions, which is in the store, or only in memory.
func (f *FS) statAbove(rel string) (unix.Stat_t, error) {
	st, err := f.store.Dir().Stat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		if s, merr := f.memory(rel); merr == nil {
			return s.Dir().Stat(rel)
		}
	}
	return st, err
}

// virtual tells whether a home or an agent is in the tree for its temporary sessions alone.
func (f *FS) virtual(n node) bool {
	if n.kind != kOwner && n.kind != kContainer {
		return false
	}
	rel, err := f.rel(n)
	if err != nil {
		return false
	}
	if _, err = f.memory(rel); err != nil {
		return false
	}
	_, err = f.store.Dir().Stat(rel)
	return errors.Is(err, fs.ErrNotExist)
}

// withVirtual adds to a folder's entries those agents that are in memory alone.
func (f *FS) withVirtual(n node, rel string, entries []fs.DirEntry) []fs.DirEntry {
	if n.kind != kOwnerAgents && n.kind != kOwnerModels {
		return entries
	}
	s, err := f.memory(rel)
	if err != nil {
		return entries
	}
	more, err := s.Dir().ReadDir(rel)
	if err != nil {
		return entries
	}
	have := map[string]bool{}
	for _, e := range entries {
		have[e.Name()] = true
	}
	for _, e := range more {
		if !have[e.Name()] {
			entries = append(entries, e)
		}
	}
	return entries
}
