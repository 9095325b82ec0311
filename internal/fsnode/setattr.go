package fsnode

import (
	"os"

	"ctxfs/internal/beneath"
	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// SetAttr is chmod(2), chown(2), utimensat(2) and truncate(2). The kernel has checked that the caller may.
func (f *FS) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, err := f.node(in.NodeId)
	if err != nil {
		return errno(err)
	}
	defer f.steady(n)()
	var h *handle
	if fh, ok := in.GetFh(); ok {
		h = f.handles.get(fh)
	}
	if err := f.setAttr(n, h, in); err != nil {
		return errno(err)
	}
	valid, err := f.attr(n, h, true, &out.Attr)
	out.SetTimeout(valid)
	return errno(err)
}

const (
	anyMode  = fuse.FATTR_MODE | fuse.FATTR_UID | fuse.FATTR_GID
	setTimes = fuse.FATTR_ATIME | fuse.FATTR_MTIME
	nowTimes = fuse.FATTR_ATIME_NOW | fuse.FATTR_MTIME_NOW
)

func (f *FS) setAttr(n node, h *handle, in *fuse.SetAttrIn) error {
	switch f.class(n) {
	case cPlain:
		return f.setPlain(n, h, in)
	case cControl:
		if err := f.keepsOwner(n, in); err != nil {
			return err
		}
		if size, ok := in.GetSize(); ok {
			return f.setSizeControl(n, h, size, caller(&in.InHeader))
		}
		return nil // a mode or time that an editor carries over: the session's rule
	case cLog:
		return f.setLog(n, in)
	}
	if f.isShare(n) {
		return f.setShare(n, in)
	}
	return unix.EPERM
}

// keepsOwner refuses to give a control file to another owner or group than the session has: tools that copy carry those over, too.
func (f *FS) keepsOwner(n node, in *fuse.SetAttrIn) error {
	var a fuse.Attr
	if _, err := f.sessionFile(n, true, &a); err != nil {
		return err
	}
	if uid, ok := in.GetUID(); ok && uid != a.Uid {
		return unix.EPERM
	}
	if gid, ok := in.GetGID(); ok && gid != a.Gid {
		return unix.EPERM
	}
	return nil
}

// isShare tells whether n is a folder shared/<name>: its group and mode say who may use it.
func (f *FS) isShare(n node) bool {
	parent, _, _ := f.table.where(n.e)
	return n.kind == kOwner && parent == uint64(kShared)
}

// setShare is chmod(2) and chgrp(1) on a share. The kernel has checked that the caller may.
func (f *FS) setShare(n node, in *fuse.SetAttrIn) error {
	if uid, ok := in.GetUID(); ok && in.InHeader.Uid != 0 && uid != in.InHeader.Uid {
		return unix.EPERM
	}
	return f.setPlain(n, nil, in)
}

// setLog follows chattr +a: no truncation, no change of mode or owner, no time but the present one.
func (f *FS) setLog(n node, in *fuse.SetAttrIn) error {
	explicit := in.Valid&fuse.FATTR_ATIME != 0 && in.Valid&fuse.FATTR_ATIME_NOW == 0 ||
		in.Valid&fuse.FATTR_MTIME != 0 && in.Valid&fuse.FATTR_MTIME_NOW == 0
	if in.Valid&(anyMode|fuse.FATTR_SIZE) != 0 || explicit {
		return unix.EPERM
	}
	if in.Valid&setTimes == 0 {
		return nil
	}
	s, rel, err := f.at(n)
	if err != nil {
		return err
	}
	x, err := f.session(n)
	if err != nil {
		return err
	}
	err = s.Dir().Utimes(rel, timesOf(in))
	x.Appended(f.tree.specs[n.kind].name)
	return err
}

func timesOf(in *fuse.SetAttrIn) [2]unix.Timespec {
	one := func(set, now uint32, sec uint64, nsec uint32) unix.Timespec {
		switch {
		case in.Valid&set == 0:
			return unix.Timespec{Nsec: unix.UTIME_OMIT}
		case in.Valid&now != 0:
			return unix.Timespec{Nsec: unix.UTIME_NOW}
		}
		return unix.Timespec{Sec: int64(sec), Nsec: int64(nsec)}
	}
	return [2]unix.Timespec{one(fuse.FATTR_ATIME, fuse.FATTR_ATIME_NOW, in.Atime, in.Atimensec),
		one(fuse.FATTR_MTIME, fuse.FATTR_MTIME_NOW, in.Mtime, in.Mtimensec)}
}

func (f *FS) setPlain(n node, h *handle, in *fuse.SetAttrIn) error {
	if f.nameless(n) {
		return f.setLeft(n, h, in)
	}
	s, rel, err := f.at(n)
	if err != nil {
		return err
	}
	if n.kind != kPlain && n.kind != kOwner {
		if in.Valid&(anyMode|fuse.FATTR_SIZE) != 0 {
			return unix.EPERM // a folder of the tree
		}
		if err := s.MakeDirs(rel, session.Caller{UID: in.InHeader.Uid, GID: in.InHeader.Gid}); err != nil {
			return err
		}
		f.touch(n)
	}
	dir := s.Dir()
	if size, ok := in.GetSize(); ok {
		if err := truncatePlain(dir, rel, h, int64(size), in.InHeader.Uid); err != nil {
			return err
		}
		f.touch(n)
	}
	if mode, ok := in.GetMode(); ok {
		if err := dir.Chmod(rel, mode); err != nil {
			return err
		}
	}
	if in.Valid&(fuse.FATTR_UID|fuse.FATTR_GID) != 0 {
		uid, gid := -1, -1
		if v, ok := in.GetUID(); ok {
			uid = int(v)
		}
		if v, ok := in.GetGID(); ok {
			gid = int(v)
		}
		if own, ok := session.HomeOf(rel); ok && uid >= 0 && uid != own {
			return unix.EPERM // what is in a home belongs to its user
		}
		if err := dir.Chown(rel, uid, gid); err != nil {
			return err
		}
	}
	if in.Valid&setTimes == 0 {
		return nil
	}
	return dir.Utimes(rel, timesOf(in))
}

func truncatePlain(dir *beneath.Dir, rel string, h *handle, size int64, by uint32) error {
	if h != nil && h.file != nil {
		return cut(h.file, size, by)
	}
	file, err := dir.OpenFile(rel, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	return cut(file, size, by)
}

// cut sets a plain file's length, as the caller would.
func cut(file *os.File, size int64, by uint32) error {
	if by != 0 {
		if err := killPriv(file); err != nil {
			return err
		}
	}
	return file.Truncate(size)
}
