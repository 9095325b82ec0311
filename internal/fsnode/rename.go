package fsnode

import (
	"errors"

	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Rename gives a thing another name: a session within its agent, plain files, and a plain file over a control file,
// which is how editors write.
func (f *FS) Rename(_ <-chan struct{}, in *fuse.RenameIn, oldName, newName string) fuse.Status {
	from, err := f.node(in.NodeId)
	if err != nil {
		return errno(err)
	}
	to, err := f.node(in.Newdir)
	if err != nil {
		return errno(err)
	}
	if in.Flags&^unix.RENAME_NOREPLACE != 0 {
		return fuse.EINVAL
	}
	return errno(f.rename(from, oldName, to, newName, in.Flags, f.resent(in.Unique), caller(&in.InHeader)))
}

func (f *FS) rename(from node, oldName string, to node, newName string, flags uint32, resent bool, by session.Caller) error {
	n, err := f.findNode(from, oldName, by)
	if err != nil {
		return err
	}
	if n.kind == kSession {
		return f.renameSession(n, from, oldName, to, newName)
	}
	over, fixed := f.tree.byName[to.kind][newName]
	switch {
	case fixed && flags&unix.RENAME_NOREPLACE != 0:
		return unix.EEXIST
	case f.class(n) == cControl && !fixed && f.holdsPlain(to):
		return f.setAside(n, to, newName, resent, by)
	case f.class(n) != cPlain || n.kind != kPlain:
		return unix.EPERM
	case fixed:
		return f.replaceControl(n, from, oldName, to.part(over), by)
	}
	return f.renamePlain(n, from, oldName, to, newName, flags)
}

func (f *FS) findNode(dir node, name string, by session.Caller) (node, error) {
	defer f.steady(dir)()
	id, err := f.find(dir, name, by)
	if err != nil {
		return node{}, err
	}
	return f.node(id)
}

func (f *FS) renameSession(n, from node, oldName string, to node, newName string) error {
	if to.id != from.id {
		return unix.EPERM // a session keeps its agent and its owner
	}
	c, err := f.container(from)
	if err != nil {
		return err
	}
	if _, err := f.session(n); err != nil { // who asks for its attributes meanwhile finds it by its object
		return err
	}
	mu := f.names(from) // what is in it has another path then
	mu.Lock()
	defer mu.Unlock()
	f.table.moving(from.id, oldName, to.id, newName)
	if err := c.Rename(oldName, newName); err != nil {
		return errors.Join(err, f.moved(from, oldName, to, newName))
	}
	f.table.move(from.id, oldName, to.id, newName)
	return nil
}

// moved tells the table which name a thing has, after a rename that failed, or that nobody saw end: it may be done all the same,
// when the folder could not be made durable, or who did it has died.
func (f *FS) moved(from node, oldName string, to node, newName string) error {
	there := func(dir node, name string) (bool, error) {
		rel, err := f.join(dir.id, name)
		if err != nil {
			return false, err
		}
		_, err = f.store.Dir().Stat(rel)
		if errors.Is(err, unix.ENOENT) {
			return false, nil
		}
		return err == nil, err
	}
	old, err1 := there(from, oldName)
	now, err2 := there(to, newName)
	if err1 == nil && err2 == nil && !old && now {
		f.table.move(from.id, oldName, to.id, newName)
	} else {
		f.table.stays(from.id, oldName)
	}
	return errors.Join(err1, err2)
}

// finishMoves ends the renames that a process before this one began. What was renamed is found by its new name then.
func (f *FS) finishMoves() {
	for num, to := range f.table.unfinished() {
		e := f.table.get(num)
		if e == nil {
			continue
		}
		from, err1 := f.node(e.parent)
		dir, err2 := f.node(to.parent)
		if errors.Join(err1, err2) == nil {
			_ = f.moved(from, e.name, dir, to.name) // what cannot be looked at keeps its name
		}
	}
}

// replaceControl makes a plain file's bytes the content of a control file. The kernel goes on to use the plain file's
// node under the control file's name, so that node becomes the control file.
func (f *FS) replaceControl(n, from node, oldName string, target uint64, by session.Caller) error {
	t, err := f.node(target)
	if err != nil {
		return err
	}
	if f.class(t) != cControl {
		return unix.EPERM
	}
	x, err := f.session(t)
	if err != nil {
		return err
	}
	s, rel, err := f.at(n)
	if err != nil {
		return err
	}
	data, err := s.Dir().ReadFile(rel, session.MaxControl)
	if err != nil {
		return err
	}
	if err := x.WriteControl(f.tree.specs[t.kind].file, data, by); err != nil {
		return err
	}
	defer f.touch(from)
	mu := f.names(from)
	mu.Lock()
	defer mu.Unlock()
	f.orphan(n.id)
	f.table.become(from.id, oldName, target)
	return s.Dir().Unlink(rel)
}

// setAside is an editor's backup: a control file's content becomes a plain file, and the control file is as if it had
// not been written. Those that every session has keep their content. resent tells that a process before this one may have done it.
func (f *FS) setAside(n, to node, newName string, resent bool, by session.Caller) error {
	x, name, data, err := f.readControl(n)
	if err != nil {
		return err
	}
	s, rel, err := f.place(to, newName, by)
	if err != nil {
		return err
	}
	if _, err := s.Dir().Stat(rel); err == nil && resent && !x.Written(name) {
		return nil // a copy of what the file is now would take the place of what it was
	}
	if err := x.PutPlain(rel, data); err != nil {
		return err
	}
	if err := x.RemoveControl(name); err != nil && errno(err) != fuse.EPERM {
		return err
	}
	// The kernel now shows the control file under the new name too. It asks again, since such names are not kept;
	// the notice is for descriptors of the folder that it holds, and must not wait for the rename that holds it.
	go f.dev.Load().entryNotify(to.id, newName)
	return nil
}

func (f *FS) renamePlain(n, from node, oldName string, to node, newName string, flags uint32) error {
	if err := f.held(n); err != nil {
		return err
	}
	if !f.holdsPlain(to) || f.hidden(to, newName) || to.kind == kAgents || to.kind == kModels {
		return unix.EPERM
	}
	if err := f.movePlain(n, from, oldName, to, newName, flags); err != nil {
		return err
	}
	f.touch(from)
	f.touch(to)
	return nil
}

// movePlain gives a plain file another name, and takes it from what has it.
func (f *FS) movePlain(n, from node, oldName string, to node, newName string, flags uint32) error {
	mu := f.names(from)
	mu.Lock()
	defer mu.Unlock()
	s, oldRel, err := f.at(n)
	if err != nil {
		return err
	}
	ns, newRel, err := f.place(to, newName, session.Caller{})
	if err != nil {
		return err
	}
	if s != ns || session.OwnerRel(oldRel) != session.OwnerRel(newRel) || !f.sameTemp(n, to) {
		return errOtherOwner // or another temporary session: mv(1) copies, and the copy belongs there
	}
	if _, err := s.Dir().Stat(newRel); err == nil {
		over, err := f.node(f.table.id(kPlain, to.id, newName))
		if err != nil {
			return err
		}
		if err := f.held(over); err != nil {
			return err
		}
		if err := f.leave(over, s.Dir(), newRel); err != nil {
			return err
		}
	}
	if !n.temporary() {
		f.table.moving(from.id, oldName, to.id, newName)
	}
	if err := s.Dir().Rename(oldRel, newRel, uint(flags)); err != nil {
		f.table.stays(from.id, oldName)
		return err
	}
	f.table.move(from.id, oldName, to.id, newName)
	return nil
}
