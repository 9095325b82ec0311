package fsnode

import (
	"path"
	"slices"

	"ctxfs/internal/keep"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// surviving is FS for a kernel that sends requests again when a process dies that did not answer them. What one process may
// have carried out, the next must not do twice; what it opened, the next goes on with.
type surviving struct{ *FS }

// once runs a request that changes names. known tells whether a status is what the first process's success looks like to the second:
// what was to be made is there, what was to go is gone. was tells that the request was carried out before, with success.
func (a surviving) once(unique uint64, do func() fuse.Status, known func(fuse.Status) bool) (st fuse.Status, was bool) {
	if a.region == nil {
		return do(), false
	}
	begun, done, errno := a.region.Begin(unique)
	if done {
		return fuse.Status(errno), errno == 0
	}
	if st = do(); begun && known(st) {
		st, was = fuse.OK, true
	}
	a.region.End(unique, int32(st))
	return st, was
}

// gone is for once what takes a name away.
func gone(also ...fuse.Status) func(fuse.Status) bool {
	return func(st fuse.Status) bool { return st == fuse.ENOENT || slices.Contains(also, st) }
}

// mine is for once what makes a name: what has the name is not older than the request.
func (a surviving) mine(h *fuse.InHeader, name string) func(fuse.Status) bool {
	return func(st fuse.Status) bool {
		if st != fuse.Status(unix.EEXIST) {
			return false
		}
		n, err := a.node(h.NodeId)
		if err != nil {
			return false
		}
		defer a.steady(n)()
		s, rel, err := a.at(n)
		if err != nil {
			return false
		}
		born, err := s.Dir().Born(path.Join(rel, name))
		return err == nil && !born.Before(a.region.Since(h.Unique))
	}
}

// made is once for what makes a name.
func (a surviving) made(h *fuse.InHeader, name string, out *fuse.EntryOut, do func() fuse.Status) fuse.Status {
	st, was := a.once(h.Unique, do, a.mine(h, name))
	if was {
		if err := a.settle(h.NodeId); err != nil {
			return errno(err)
		}
		return a.FS.Lookup(nil, h, name, out)
	}
	return st
}

// settle makes the names in a folder durable, which the first process may not have come to.
func (a surviving) settle(folder uint64) error {
	n, err := a.node(folder)
	if err != nil {
		return err
	}
	defer a.steady(n)()
	s, rel, err := a.at(n)
	if err != nil {
		return nil // of sockets, which are in no store
	}
	return s.Dir().Sync(rel)
}

func (a surviving) Mkdir(c <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return a.made(&in.InHeader, name, out, func() fuse.Status { return a.FS.Mkdir(c, in, name, out) })
}

func (a surviving) Mknod(c <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	return a.made(&in.InHeader, name, out, func() fuse.Status { return a.FS.Mknod(c, in, name, out) })
}

func (a surviving) Symlink(c <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	return a.made(h, name, out, func() fuse.Status { return a.FS.Symlink(c, h, target, name, out) })
}

func (a surviving) Unlink(c <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	st, _ := a.once(h.Unique, func() fuse.Status { return a.forget(h, name, a.FS.Unlink(c, h, name)) }, gone())
	return st
}

func (a surviving) Rmdir(c <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	st, _ := a.once(h.Unique, func() fuse.Status { return a.forget(h, name, a.FS.Rmdir(c, h, name)) }, gone())
	return st
}

// forget takes the number from a name that was removed by a process which could not note that. What is made by that name is another thing.
func (a surviving) forget(h *fuse.InHeader, name string, st fuse.Status) fuse.Status {
	if st == fuse.ENOENT && a.resent(h.Unique) {
		a.table.remove(h.NodeId, name)
	}
	return st
}

// resent tells that a request was sent again, and that a process before this one may have carried it out.
func (f *FS) resent(unique uint64) bool { return f.region != nil && f.region.Begun(unique) }

func (a surviving) Rename(c <-chan struct{}, in *fuse.RenameIn, oldName, newName string) fuse.Status {
	st, _ := a.once(in.Unique, func() fuse.Status { return a.FS.Rename(c, in, oldName, newName) }, gone())
	return st
}

func (a surviving) SetXAttr(c <-chan struct{}, in *fuse.SetXAttrIn, attr string, data []byte) fuse.Status {
	if attr != doAttr {
		return a.FS.SetXAttr(c, in, attr, data)
	}
	st, _ := a.once(in.Unique, func() fuse.Status { return a.FS.SetXAttr(c, in, attr, data) }, gone(fuse.Status(unix.ESTALE))) // it was deleted
	return st
}

func (a surviving) Open(c <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if a.reopened(in.Unique, out) {
		return fuse.OK
	}
	st := a.FS.Open(c, in, out)
	if st.Ok() {
		a.publish(&in.InHeader, in.Flags, out, false)
	}
	return st
}

func (a surviving) Create(c <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	if a.reopened(in.Unique, &out.OpenOut) {
		return a.FS.Lookup(c, &in.InHeader, name, &out.EntryOut)
	}
	st, was := a.once(in.Unique, func() fuse.Status { return a.FS.Create(c, in, name, out) }, a.mine(&in.InHeader, name))
	if was {
		if st = a.FS.Lookup(c, &in.InHeader, name, &out.EntryOut); st.Ok() {
			st = a.openMade(c, in, out)
		}
	}
	if st.Ok() {
		a.publish(&in.InHeader, in.Flags, &out.OpenOut, false)
	}
	return st
}

// openMade opens the file that a process before this one made for the same request. Its mode may forbid that.
func (a surviving) openMade(c <-chan struct{}, in *fuse.CreateIn, out *fuse.CreateOut) fuse.Status {
	open := fuse.OpenIn{InHeader: in.InHeader, Flags: in.Flags}
	open.NodeId = out.NodeId
	st := a.FS.Open(c, &open, &out.OpenOut)
	if st != fuse.EACCES || a.privileged {
		return st
	}
	n, err := a.node(out.NodeId)
	if err != nil {
		return errno(err)
	}
	defer a.steady(n)()
	s, rel, err := a.at(n)
	if err == nil {
		err = s.Dir().Chmod(rel, in.Mode&0o7777|0o600)
	}
	if err == nil {
		err = a.open(n, in.Uid, in.Flags, &out.OpenOut)
	}
	if err == nil {
		err = s.Dir().Chmod(rel, in.Mode&0o7777) // a kill before it: the next process is here again
	}
	return errno(err)
}

// reopened gives what a process before this one opened for the same request.
func (a surviving) reopened(unique uint64, out *fuse.OpenOut) bool {
	if unique&keep.Resent == 0 {
		return false
	}
	h := a.handles.get(a.opened[unique&^keep.Resent])
	if h == nil {
		return false
	}
	out.Fh, out.OpenFlags, out.BackingID = h.slot.Fh, h.slot.Mode, h.slot.Backing
	return true
}

func (a surviving) Release(c <-chan struct{}, in *fuse.ReleaseIn) {
	h := a.handles.get(in.Fh)
	a.FS.Release(c, in)
	a.closed(h)
}

// closed forgets what was noted of an open file.
func (a surviving) closed(h *handle) {
	if h == nil || h.slot == nil {
		return
	}
	for _, w := range h.writers {
		if w.slot != nil {
			a.region.DropWriter(w.slot)
		}
	}
	if h.orphan.Load() {
		_ = a.opt.Kept.Files.Drop(orphanName(h.slot.Fh)) // the supervisor is gone, or drops it
	}
	a.region.Drop(h.slot)
}

func (a surviving) OpenDir(c <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if a.reopened(in.Unique, out) {
		return fuse.OK
	}
	st := a.FS.OpenDir(c, in, out)
	if st.Ok() {
		a.publish(&in.InHeader, in.Flags, out, true)
	}
	return st
}

func (a surviving) ReleaseDir(in *fuse.ReleaseIn) {
	h := a.handles.get(in.Fh)
	a.FS.ReleaseDir(in)
	a.closed(h)
}

func (a surviving) ReadDir(c <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	st := a.FS.ReadDir(c, in, out)
	a.noteListed(in.Fh, out.Offset)
	return st
}

func (a surviving) ReadDirPlus(c <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	st := a.FS.ReadDirPlus(c, in, out)
	a.noteListed(in.Fh, out.Offset)
	return st
}

// SetAttr: ftruncate(2) changes what an open control file holds.
func (a surviving) SetAttr(c <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	st := a.FS.SetAttr(c, in, out)
	if fh, ok := in.GetFh(); ok {
		if h := a.handles.get(fh); h != nil && h.control() {
			h.mu.Lock()
			a.noteControl(h, in.Unique, 0, st)
			h.mu.Unlock()
		}
	}
	return st
}

// Flush and Fsync commit what was written to a control file.
func (a surviving) Flush(c <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	return a.commits(in.Fh, in.Unique, func() fuse.Status { return a.FS.Flush(c, in) })
}

// Fsync: see Flush.
func (a surviving) Fsync(c <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return a.commits(in.Fh, in.Unique, func() fuse.Status { return a.FS.Fsync(c, in) })
}

func (a surviving) commits(fh, unique uint64, do func() fuse.Status) fuse.Status {
	h := a.handles.get(fh)
	if h == nil || h.slot == nil || !h.control() {
		return do()
	}
	if st, done := h.carried(unique); done {
		return st
	}
	h.mu.Lock()
	h.request = unique
	committed := h.committed()
	h.mu.Unlock()
	if committed {
		return fuse.OK // a write(2) of another process is under way, and changed the file
	}
	st := do()
	h.mu.Lock()
	defer h.mu.Unlock()
	a.noteControl(h, unique, 0, st)
	return st
}
