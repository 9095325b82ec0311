package fsnode

import (
	"os"
	"time"

	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// GetAttr answers stat(2). A file that is open is as large as it was when it was opened.
func (f *FS) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, err := f.node(in.NodeId)
	if err != nil {
		return errno(err)
	}
	defer f.steady(n)()
	var h *handle
	if in.Flags()&fuse.FUSE_GETATTR_FH != 0 {
		h = f.handles.get(in.Fh())
	}
	if h == nil && f.builds(n) {
		defer f.handles.quotas.build(in.Uid)()
	}
	valid, err := f.attr(n, h, true, &out.Attr)
	out.SetTimeout(valid)
	return errno(err)
}

// builds tells whether a question about n may cost a build.
func (f *FS) builds(n node) bool {
	switch f.class(n) {
	case cGen:
		return n.kind != kCreatedAt && n.kind != kUpdatedAt && !f.made(n)
	case cControl:
		return session.Derived(f.tree.specs[n.kind].file)
	}
	return false
}

// made tells that a generated file of a session stands ready. It waits for nobody.
func (f *FS) made(n node) bool {
	if n.e == nil || n.e.kind != kSession {
		return false
	}
	x := n.e.sess.Load()
	if x == nil {
		return false
	}
	_, ok := x.Current(f.tree.specs[n.kind].file)
	return ok
}

// attr fills in a node's attributes and gives how long they hold. The size of a generated file costs a build; where
// size is false it is left out, and the attributes hold for no time, so that the kernel asks again.
func (f *FS) attr(n node, h *handle, size bool, a *fuse.Attr) (time.Duration, error) {
	a.Ino, a.Nlink, a.Blksize = n.id, 1, 4096
	keep := keepFor
	if n.temporary() || f.virtual(n) {
		keep = 0 // it can be gone at any time
	}
	switch f.class(n) {
	case cDir:
		return keep, f.dirAttr(n, a)
	case cPlain:
		return keep, f.plainAttr(n, h, a)
	case cLog:
		return keep, f.logAttr(n, h, a)
	case cProgram:
		return keepFor, f.programAttr(a)
	case cControl:
		return 0, f.controlAttr(n, h, size, a)
	case cSocket:
		// Everybody may connect; who it is, the socket's server asks the kernel.
		a.Mode, a.Owner = unix.S_IFSOCK|0o666, f.self()
		setTime(a, f.started)
		return keepFor, nil
	default:
		if h != nil || !size || !f.keepable(n) {
			keep = 0
		}
		return keep, f.genAttr(n, h, size, a)
	}
}

func setSize(a *fuse.Attr, n int64) {
	a.Size, a.Blocks = uint64(n), uint64(n+511)/512
}

func setTime(a *fuse.Attr, t time.Time) { a.SetTimes(&t, &t, &t) }

// dirAttr is for folders that ctxfs makes up, and those of the store that stand behind some of them.
func (f *FS) dirAttr(n node, a *fuse.Attr) error {
	a.Nlink = 2
	if n.kind == kSession && !n.temporary() {
		at, err := f.sessionStat(n)
		sessionAttr(at, a)
		return err
	}
	if x, err := f.session(n); err == nil {
		at, err := x.Attr()
		a.Mode, a.Uid, a.Gid = unix.S_IFDIR|at.Mode, at.UID, at.GID
		setTime(a, at.Mtime)
		return err
	}
	a.Mode, a.Owner = unix.S_IFDIR|0o755, f.self()
	setTime(a, f.started)
	switch n.kind {
	case kHome, kShared:
		a.Mode = unix.S_IFDIR | f.openMode()
		return nil
	case kSockets:
		a.Mode = unix.S_IFDIR | 0o700
		return nil
	}
	if n.e == nil {
		return nil
	}
	return f.ownedAttr(n, a)
}

func sessionAttr(at session.Attr, a *fuse.Attr) {
	a.Ino, a.Nlink, a.Blksize = sessionIno(at.Ino), 2, 4096
	a.Mode, a.Uid, a.Gid = unix.S_IFDIR|at.Mode, at.UID, at.GID
	setTime(a, at.Mtime)
}

// sessionStat gives the attributes of a session's folder. A session that nobody uses is only looked at: no object is made
// of it, since a listing may ask for very many.
func (f *FS) sessionStat(n node) (session.Attr, error) {
	if x := n.e.sess.Load(); x != nil {
		return x.Attr()
	}
	parent, name, _ := f.table.where(n.e)
	up, err := f.node(parent)
	if err != nil {
		return session.Attr{}, err
	}
	c, err := f.container(up)
	if err != nil {
		return session.Attr{}, err
	}
	at, err := c.Has(name)
	if x := n.e.sess.Load(); err != nil && x != nil {
		return x.Attr() // it was being renamed
	}
	return at, err
}

// ownedAttr is for what stands between home and a session: as the owner's folder in the store has it, and where that is
// not made yet, as it would be made.
func (f *FS) ownedAttr(n node, a *fuse.Attr) error {
	for _, k := range []kind{n.kind, n.e.kind} {
		rel, err := f.rel(node{kind: k, num: n.num, e: n.e, id: n.part(k)})
		if err != nil {
			continue // a folder without one of its own in the store
		}
		if st, err := f.statAbove(rel); err == nil {
			fromStat(a, &st)
			a.Nlink = 2
			return nil
		}
	}
	_, name, _ := f.table.where(n.e)
	uid, ok := homeUID(name)
	if n.e.kind != kOwner || !ok {
		return unix.ENOENT
	}
	a.Mode, a.Uid, a.Gid = unix.S_IFDIR|0o700, uid, uid
	return nil
}

// self is who the daemon runs as.
func (f *FS) self() fuse.Owner {
	return fuse.Owner{Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid())}
}

// openMode is the mode of a folder where every user who can use the mount may make something of their own.
func (f *FS) openMode() uint32 {
	if f.opt.AllowOther {
		return 0o1777
	}
	return 0o755
}

func fromStat(a *fuse.Attr, st *unix.Stat_t) {
	a.Mode, a.Uid, a.Gid, a.Nlink = st.Mode, st.Uid, st.Gid, uint32(st.Nlink)
	a.Size, a.Blocks = uint64(st.Size), uint64(st.Blocks)
	at, mt, ct := unixTime(st.Atim), unixTime(st.Mtim), unixTime(st.Ctim)
	a.SetTimes(&at, &mt, &ct)
}

func unixTime(t unix.Timespec) time.Time { return time.Unix(t.Sec, t.Nsec) }

// sessionFile fills in what all files of a session share.
func (f *FS) sessionFile(n node, writable bool, a *fuse.Attr) (*session.Session, error) {
	x, err := f.session(n)
	if err != nil {
		return nil, err
	}
	at, err := x.Attr()
	a.Mode, a.Uid, a.Gid = unix.S_IFREG|session.FileMode(at.Mode, writable), at.UID, at.GID
	setTime(a, at.Mtime)
	return x, err
}

// keepable tells whether the kernel may keep the attributes of a generated file until it is told, and sees to it that it is.
func (f *FS) keepable(n node) bool {
	if n.e == nil || n.e.kind != kSession || n.kind == kNamed {
		return false
	}
	x, err := f.session(n)
	if err == nil {
		f.watch(n, x)
	}
	return err == nil
}

// genAttr is for generated files: of a session, of an index, or status.
func (f *FS) genAttr(n node, h *handle, size bool, a *fuse.Attr) error {
	if x, err := f.sessionFile(n, false, a); err == nil {
		t, err := x.Updated()
		if err != nil {
			return err
		}
		setTime(a, t)
	} else {
		a.Mode, a.Owner = unix.S_IFREG|0o444, f.self()
		setTime(a, f.started)
		if n.e != nil {
			if err := f.indexFileAttr(n, a); err != nil {
				return err
			}
		}
	}
	return f.contentSize(n, h, size, a)
}

// indexFileAttr makes an index file as private as the folder that it indexes.
func (f *FS) indexFileAttr(n node, a *fuse.Attr) error {
	var dir fuse.Attr
	c, err := f.upToContainer(n)
	if err != nil {
		return err
	}
	if err := f.dirAttr(c, &dir); err != nil {
		return err
	}
	a.Mode, a.Owner = unix.S_IFREG|session.FileMode(dir.Mode, false), dir.Owner
	return nil
}

// upToContainer gives the agent or model that n stands in.
func (f *FS) upToContainer(n node) (node, error) {
	for n.e != nil && n.e.kind != kContainer {
		parent, _, _ := f.table.where(n.e)
		up, err := f.node(parent)
		if err != nil {
			return n, err
		}
		n = up
	}
	if n.e == nil {
		return n, unix.ENOENT
	}
	return f.node(n.part(kContainer))
}

func (f *FS) controlAttr(n node, h *handle, size bool, a *fuse.Attr) error {
	if _, err := f.sessionFile(n, true, a); err != nil {
		return err
	}
	return f.contentSize(n, h, size, a)
}

// contentSize gives the true size of what would be read: as opened, else as it is now.
func (f *FS) contentSize(n node, h *handle, size bool, a *fuse.Attr) error {
	if h != nil {
		n, err := f.sizeOf(h)
		setSize(a, n)
		return err
	}
	if !size {
		return nil
	}
	data, err := f.content(n)
	setSize(a, int64(len(data)))
	return err
}

func (f *FS) logAttr(n node, h *handle, a *fuse.Attr) error {
	x, err := f.sessionFile(n, true, a)
	if err != nil && h != nil && h.log != nil && h.sess.Over() {
		return h.endedAttr(a) // the kernel asks before it reads
	}
	if err != nil {
		return err
	}
	size, mtime, err := x.LogStat(f.tree.specs[n.kind].name)
	setSize(a, size)
	setTime(a, mtime)
	return err
}

func (f *FS) plainAttr(n node, h *handle, a *fuse.Attr) error {
	if h != nil && h.file != nil {
		var st unix.Stat_t
		err := unix.Fstat(int(h.file.Fd()), &st)
		fromStat(a, &st)
		return err
	}
	if f.nameless(n) {
		return f.leftAttr(n, a)
	}
	s, rel, err := f.at(n)
	if err != nil {
		return err
	}
	st, err := s.Dir().Stat(rel)
	if err == nil {
		fromStat(a, &st)
		f.openFolder(n, a)
		return nil
	}
	// pinned, child and root are there before anybody put anything into them.
	if n.kind == kPlain {
		return err
	}
	if _, serr := f.session(n); serr == nil {
		return f.sessionDir(n, a)
	}
	return f.ownedAttr(n, a)
}

// openFolder lets every user make the control folder of an agent of theirs.
func (f *FS) openFolder(n node, a *fuse.Attr) {
	if n.kind == kAgents || n.kind == kModels {
		a.Mode = unix.S_IFDIR | f.openMode()
	}
}

func (f *FS) sessionDir(n node, a *fuse.Attr) error {
	x, err := f.session(n)
	if err != nil {
		return err
	}
	at, err := x.Attr()
	a.Mode, a.Uid, a.Gid, a.Nlink = unix.S_IFDIR|at.Mode, at.UID, at.GID, 2
	setTime(a, at.Mtime)
	return err
}
