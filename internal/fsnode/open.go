package fsnode

import (
	"os"

	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Open opens a file.
func (f *FS) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n, err := f.node(in.NodeId)
	if err != nil {
		return errno(err)
	}
	defer f.steady(n)()
	return errno(f.open(n, in.Uid, in.Flags, out))
}

// writes tells whether open(2) flags ask to change the file.
func writes(flags uint32) bool {
	return flags&unix.O_ACCMODE != unix.O_RDONLY || flags&unix.O_TRUNC != 0
}

func (f *FS) open(n node, uid, flags uint32, out *fuse.OpenOut) error {
	switch f.class(n) {
	case cLog:
		return f.openLog(n, uid, flags, out)
	case cControl:
		return f.openControl(n, uid, flags, out)
	case cGen:
		return f.openGenerated(n, uid, flags, out)
	case cPlain:
		return f.openPlain(n, uid, flags, out)
	case cProgram:
		return f.openProgram(n, uid, flags, out)
	}
	return unix.EISDIR
}

// openGenerated freezes what the file holds: this open file shows these bytes, whatever is appended meanwhile.
func (f *FS) openGenerated(n node, uid, flags uint32, out *fuse.OpenOut) error {
	if writes(flags) {
		return unix.EACCES // root too: there is nothing to write to
	}
	data, err := f.contentFor(uid, n)
	if err != nil {
		return err
	}
	h := &handle{node: n, data: data}
	mode, backing := f.show(h)
	if out.Fh, err = f.handles.add(uid, h); err != nil {
		f.unshow(h)
		return err
	}
	out.OpenFlags, out.BackingID = mode|fuse.FOPEN_NOFLUSH, backing
	return nil
}

func (f *FS) openControl(n node, uid, flags uint32, out *fuse.OpenOut) (err error) {
	h := &handle{node: n, write: writes(flags), add: flags&unix.O_APPEND != 0}
	if flags&unix.O_TRUNC == 0 && !h.add {
		data, err := f.contentFor(uid, n)
		if err != nil {
			return err
		}
		h.data = append([]byte(nil), data...)
	}
	h.dirty = flags&unix.O_TRUNC != 0
	if h.dirty {
		h.add = false
	}
	out.Fh, err = f.handles.add(uid, h)
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	return err
}

// openLog opens a log as under chattr +a: writing needs O_APPEND, and nothing may be cut off.
func (f *FS) openLog(n node, uid, flags uint32, out *fuse.OpenOut) error {
	if writes(flags) && (flags&unix.O_APPEND == 0 || flags&unix.O_TRUNC != 0) {
		return unix.EPERM
	}
	x, err := f.session(n)
	if err != nil {
		return err
	}
	log, err := x.Log(f.tree.specs[n.kind].name)
	if err != nil {
		return err
	}
	h := &handle{node: n, sess: x, log: log, write: writes(flags)}
	out.OpenFlags, out.BackingID, err = f.logMode(h, flags)
	if err != nil {
		x.Release()
		return err
	}
	if !h.write {
		out.OpenFlags |= fuse.FOPEN_NOFLUSH // close(2) of a reader has nothing to tell
	}
	if out.Fh, err = f.handles.add(uid, h); err != nil {
		f.unback(h)
		x.Release()
	}
	return err
}

// Plain files are opened with these of the caller's flags; O_CREAT and O_EXCL are Create's.
const plainFlags = unix.O_ACCMODE | unix.O_APPEND | unix.O_TRUNC | unix.O_SYNC | unix.O_DSYNC

func (f *FS) openPlain(n node, uid, flags uint32, out *fuse.OpenOut) error {
	file, err := f.plainFile(n, flags)
	if err != nil {
		return err
	}
	h, err := plainHandle(n, file, writes(flags))
	if err != nil {
		return err
	}
	if flags&unix.O_TRUNC != 0 {
		if uid != 0 {
			err = killPriv(file)
		}
		f.touch(n)
	}
	if err != nil {
		file.Close()
		return err
	}
	if out.Fh, err = f.handles.add(uid, h); err != nil {
		file.Close()
	}
	if f.nameless(n) {
		f.orphan(n.id)
	}
	return err
}

func (f *FS) plainFile(n node, flags uint32) (*os.File, error) {
	// The kernel reads around what it writes, and knows where the end is: it asks at offsets, never to append.
	open := int(flags&plainFlags) &^ unix.O_APPEND
	if f.nameless(n) {
		return f.reopen(n, open)
	}
	s, rel, err := f.at(n)
	if err != nil {
		return nil, err
	}
	return s.Dir().OpenFile(rel, open|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// touch says that a plain file changed, which packs may be built from.
func (f *FS) touch(n node) {
	if x, err := f.session(n); err == nil {
		x.Touch()
	}
}

// Create makes a plain file and opens it.
func (f *FS) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	n, err := f.node(in.NodeId)
	if err != nil {
		return errno(err)
	}
	defer f.steady(n)()
	return errno(f.create(n, in, name, out))
}

func (f *FS) create(n node, in *fuse.CreateIn, name string, out *fuse.CreateOut) error {
	if k, ok := f.tree.byName[n.kind][name]; ok { // a race with the first lookup of a fixed name
		if in.Flags&unix.O_EXCL != 0 {
			return unix.EEXIST
		}
		if err := f.entry(n.part(k), &out.EntryOut); err != nil {
			return err
		}
		m, err := f.node(n.part(k))
		if err != nil {
			return err
		}
		return f.open(m, in.Uid, in.Flags, &out.OpenOut)
	}
	s, rel, err := f.place(n, name, caller(&in.InHeader))
	if err != nil {
		return err
	}
	if err := s.Room(rel, 0, 1); err != nil {
		return err
	}
	open := int(in.Flags&plainFlags) &^ unix.O_APPEND
	file, err := s.Create(rel, open, in.Mode&0o7777, caller(&in.InHeader))
	if err != nil {
		return err
	}
	f.touch(n)
	id := f.table.id(kPlain, n.id, name)
	if err := f.entry(id, &out.EntryOut); err != nil {
		file.Close()
		return err
	}
	m, err := f.node(id)
	if err != nil {
		file.Close()
		return err
	}
	h, err := plainHandle(m, file, true)
	if err != nil {
		return err
	}
	if out.Fh, err = f.handles.add(in.Uid, h); err != nil {
		file.Close()
	}
	return err
}

// place gives the store, and the path there, for a new plain file or folder in n, whose folder is made when it is not there
// yet.
func (f *FS) place(n node, name string, by session.Caller) (*session.Store, string, error) {
	if !f.holdsPlain(n) || f.hidden(n, name) {
		return nil, "", unix.EPERM
	}
	if n.kind == kAgents || n.kind == kModels {
		return nil, "", unix.EPERM // only <name>.d folders, by mkdir
	}
	s, rel, err := f.at(n)
	if err != nil {
		return nil, "", err
	}
	if err := s.MakeDirs(rel, by); err != nil {
		return nil, "", err
	}
	return s, rel + "/" + name, nil
}

func (f *FS) programAttr(a *fuse.Attr) error {
	st, err := os.Stat("/proc/self/exe")
	if err != nil {
		return err
	}
	a.Mode, a.Owner = unix.S_IFREG|0o555, f.self()
	setSize(a, st.Size())
	setTime(a, f.started)
	return nil
}

func (f *FS) openProgram(n node, uid, flags uint32, out *fuse.OpenOut) error {
	if writes(flags) {
		return unix.EACCES
	}
	file, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	if out.Fh, err = f.handles.add(uid, &handle{node: n, file: file}); err != nil {
		file.Close()
	}
	return err
}
