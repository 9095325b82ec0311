package fsnode

import (
	"path"
	"strings"

	"ctxfs/internal/beneath"
	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// held tells, by an error, that a plain file must stay: a child's result to which the parent's context refers.
func (f *FS) held(n node) error {
	x, err := f.session(n)
	if err != nil {
		return nil // not in a session
	}
	rel, err := f.rel(n)
	if err != nil {
		return err
	}
	parts := strings.Split(strings.TrimPrefix(rel, x.Rel()+"/"), "/")
	if len(parts) < 4 || parts[1] != "child" || parts[3] != "result.md" {
		return nil
	}
	is, err := x.ChildHeld(parts[2])
	if err == nil && is {
		return &session.Error{Kind: session.Busy, Msg: "the parent's context refers to this result"}
	}
	return err
}

func (f *FS) unlinkPlain(dir, n node, name string) error {
	if err := f.held(n); err != nil {
		return err
	}
	if err := f.removePlain(dir, n, name, (*beneath.Dir).Unlink); err != nil {
		return err
	}
	f.touch(dir)
	return nil
}

// removePlain takes the name of a plain file or folder away, by remove.
func (f *FS) removePlain(dir, n node, name string, remove func(*beneath.Dir, string) error) error {
	mu := f.names(dir)
	mu.Lock()
	defer mu.Unlock()
	s, rel, err := f.at(n)
	if err != nil {
		return err
	}
	if err := f.leave(n, s.Dir(), rel); err != nil {
		return err
	}
	if err := remove(s.Dir(), rel); err != nil {
		return err
	}
	f.table.remove(dir.id, name)
	return nil
}

// Rmdir removes an empty plain folder. Sessions, agents and homes are kept by policy, never removed by rm.
func (f *FS) Rmdir(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	dir, n, err := f.child(header, name)
	if err != nil {
		return errno(err)
	}
	if n.kind != kPlain {
		return fuse.EPERM
	}
	if err := f.removePlain(dir, n, name, (*beneath.Dir).Rmdir); err != nil {
		return errno(err)
	}
	f.touch(dir)
	return fuse.OK
}

// Mkdir makes a home, an agent, a session or a plain folder, as the place says.
func (f *FS) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	n, err := f.node(in.NodeId)
	if err != nil {
		return errno(err)
	}
	defer f.steady(n)()
	id, err := f.mkdir(n, name, in.Mode, caller(&in.InHeader))
	if err != nil {
		return errno(err)
	}
	return errno(f.entry(id, out))
}

func (f *FS) mkdir(n node, name string, mode uint32, by session.Caller) (uint64, error) {
	switch n.kind {
	case kHome:
		uid, ok := homeUID(name)
		if !ok {
			return 0, unix.EINVAL
		}
		if uid != by.UID && by.UID != 0 {
			return 0, unix.EPERM
		}
		return f.makeDir(kOwner, n, name, by)
	case kShared:
		if err := session.CheckName(name); err != nil {
			return 0, err
		}
		return f.makeDir(kOwner, n, name, by)
	case kOwnerAgents, kOwnerModels:
		if err := containerName(n.kind, name); err != nil {
			return 0, err
		}
		return f.makeDir(kContainer, n, name, by)
	case kSessions:
		c, err := f.container(n)
		if err != nil {
			return 0, err
		}
		if _, err := c.Create(name, by); err != nil {
			return 0, err
		}
		return f.table.id(kSession, n.id, name), nil
	}
	return f.mkdirPlain(n, name, mode, by)
}

func (f *FS) makeDir(k kind, n node, name string, by session.Caller) (uint64, error) {
	rel, err := f.join(n.id, name)
	if err != nil {
		return 0, err
	}
	if _, err := f.store.Dir().Stat(rel); err == nil {
		return 0, unix.EEXIST
	}
	if err := f.store.Room(rel, 0, 1); err != nil {
		return 0, err
	}
	return f.table.id(k, n.id, name), f.store.MakeDirs(rel, by)
}

func (f *FS) mkdirPlain(n node, name string, mode uint32, by session.Caller) (uint64, error) {
	switch n.kind {
	case kAgents, kModels:
		stem, ok := strings.CutSuffix(name, ".d")
		if err := session.CheckName(stem); !ok || err != nil {
			return 0, unix.EINVAL
		}
	case kChild:
		if err := session.CheckName(name); err != nil {
			return 0, err
		}
	case kSession, kContext:
		return 0, unix.EPERM
	}
	if f.class(n) != cPlain || f.hidden(n, name) {
		return 0, unix.EPERM
	}
	s, rel, err := f.at(n)
	if err != nil {
		return 0, err
	}
	if err := s.MakeDirs(rel, by); err != nil {
		return 0, err
	}
	rel = path.Join(rel, name)
	if err := s.Room(rel, 0, 1); err != nil {
		return 0, err
	}
	if err := s.Mkdir(rel, mode&0o7777, by); err != nil {
		return 0, err
	}
	f.touch(n)
	return f.table.id(kPlain, n.id, name), nil
}

// Symlink makes a link in an agent's root. Links lead nowhere in ctxfs itself: nothing in it follows one.
func (f *FS) Symlink(_ <-chan struct{}, header *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	n, err := f.node(header.NodeId)
	if err != nil {
		return errno(err)
	}
	if _, err := f.session(n); err == nil || f.class(n) != cPlain || n.kind == kAgents || n.kind == kModels {
		return fuse.EPERM
	}
	defer f.steady(n)()
	s, rel, err := f.place(n, name, caller(header))
	if err != nil {
		return errno(err)
	}
	if err := s.Room(rel, 0, 1); err != nil {
		return errno(err)
	}
	if err := s.Symlink(target, rel, caller(header)); err != nil {
		return errno(err)
	}
	return errno(f.entry(f.table.id(kPlain, n.id, name), out))
}

// Readlink gives a link's target.
func (f *FS) Readlink(_ <-chan struct{}, header *fuse.InHeader) ([]byte, fuse.Status) {
	n, err := f.node(header.NodeId)
	if err != nil {
		return nil, errno(err)
	}
	if f.class(n) != cPlain {
		return nil, fuse.EINVAL
	}
	defer f.steady(n)()
	if f.nameless(n) {
		target, err := f.readLeft(n)
		return []byte(target), errno(err)
	}
	s, rel, err := f.at(n)
	if err != nil {
		return nil, errno(err)
	}
	target, err := s.Dir().Readlink(rel)
	return []byte(target), errno(err)
}

// Link is refused: a second name of a log would be a way around its rules, and node ids stand for one name.
func (f *FS) Link(_ <-chan struct{}, _ *fuse.LinkIn, _ string, _ *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}

// Mknod makes plain regular files, and for the daemon itself the sockets that it binds.
func (f *FS) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	if f.sockets.binds(in) {
		return errno(f.entry(f.table.id(kSocket, uint64(kSockets), name), out))
	}
	if in.Mode&unix.S_IFMT != unix.S_IFREG {
		return fuse.EPERM
	}
	var created fuse.CreateOut
	n, err := f.node(in.NodeId)
	if err != nil {
		return errno(err)
	}
	defer f.steady(n)()
	create := &fuse.CreateIn{InHeader: in.InHeader, Flags: unix.O_WRONLY | unix.O_EXCL, Mode: in.Mode}
	if err := f.create(n, create, name, &created); err != nil {
		return errno(err)
	}
	f.Release(nil, &fuse.ReleaseIn{Fh: created.Fh})
	*out = created.EntryOut
	return fuse.OK
}
