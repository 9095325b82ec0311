package fsnode

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"ctxfs/internal/beneath"
	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// item is one name of a folder that is being read.
type item struct {
	name string
	mode uint32 // S_IFDIR, S_IFREG, ...
	id   uint64 // node id; 0: numbered when the kernel is given it
	ino  uint64 // d_ino where there is no node id yet; 0: not known
}

// inode is what readdir(3) tells as d_ino: the st_ino that stat(2) will tell.
func (it *item) inode() uint64 {
	if it.id != 0 {
		return it.id
	}
	return it.ino
}

// sessionIno makes an inode number for a session of its folder's in the store: it is known before the session has a node
// id, and the same after a restart. No node id ends so.
func sessionIno(ino uint64) uint64 { return ino<<8 | 0xff }

// OpenDir opens a folder. Its names are looked up when they are asked for.
func (f *FS) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n, err := f.node(in.NodeId)
	if err != nil {
		return errno(err)
	}
	h := &handle{node: n}
	if n.kind == kSessions {
		if h.dir, err = f.folder(n); err != nil {
			return errno(err)
		}
	}
	if out.Fh, err = f.handles.add(in.Uid, h); err != nil && h.dir != nil {
		_ = h.dir.Close() // it was only looked at
	}
	return errno(err)
}

// folder opens the folder of the store behind n, to look at many names in it; nil when it is not made yet.
func (f *FS) folder(n node) (*beneath.Dir, error) {
	rel, err := f.rel(n)
	if err != nil {
		return nil, err
	}
	dir, err := f.store.Dir().Sub(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return dir, err
}

// ReleaseDir ends the reading of a folder.
func (f *FS) ReleaseDir(in *fuse.ReleaseIn) {
	h := f.handles.remove(in.Fh)
	if h == nil {
		return
	}
	f.handles.closed(h)
	if h.dir != nil {
		_ = h.dir.Close() // it was only looked at
	}
}

// FsyncDir returns when the names of a folder are on disk. Folders that are made when they are read have nothing there.
func (f *FS) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	n, err := f.node(in.NodeId)
	if err != nil {
		return errno(err)
	}
	s, rel, err := f.at(n)
	if err == nil {
		err = s.Dir().Sync(rel)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fuse.OK
	}
	return errno(err)
}

// listing gives the open folder whose names are asked for. Who asks from the beginning on is shown it as it is now, once more
// too (rewinddir(3)); who goes on, as it was then: nobody misses a name or sees one twice.
func (f *FS) listing(in *fuse.ReadIn) (*handle, error) {
	h := f.handles.get(in.Fh)
	if h == nil {
		return nil, unix.EBADF
	}
	if in.Offset > 0 {
		return h, nil
	}
	n, err := f.node(h.node.id)
	if err != nil {
		return nil, err
	}
	switch n.kind {
	case kByCWD, kSwapChunk, kDedupBlob:
		defer f.handles.quotas.build(in.Uid)()
	}
	if n.kind == kSessions && h.dir == nil {
		if h.dir, err = f.folder(n); err != nil { // it was not made yet
			return nil, err
		}
	}
	items, err := f.list(n, caller(&in.InHeader))
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := f.handles.hold(h, int64(itemBytes*len(items))); err != nil {
		return nil, err
	}
	h.items = items
	f.forgetListed(h)
	return h, nil
}

// ReadDir gives names from an offset on.
func (f *FS) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	h, err := f.listing(in)
	if err != nil {
		return errno(err)
	}
	for i := in.Offset; i < uint64(len(h.items)); i++ {
		it := &h.items[i]
		if !out.AddDirEntry(fuse.DirEntry{Name: it.name, Mode: it.mode, Ino: it.inode(), Off: i + 1}) {
			break
		}
	}
	return fuse.OK
}

// ReadDirPlus gives names with attributes, each counting as a lookup.
func (f *FS) ReadDirPlus(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	h, err := f.listing(in)
	if err != nil {
		return errno(err)
	}
	defer f.table.hold()()
	for i := in.Offset; i < uint64(len(h.items)); i++ {
		it := &h.items[i]
		e := out.AddDirLookupEntry(fuse.DirEntry{Name: it.name, Mode: it.mode, Ino: it.inode(), Off: i + 1})
		if e == nil {
			break
		}
		if it.name == "." || it.name == ".." || it.mode == unix.S_IFSOCK {
			continue // node id 0 is no lookup; a socket is bound when it is looked up
		}
		if err := f.listed(h, it, e); err != nil {
			*e = fuse.EntryOut{} // it went away meanwhile: node id 0 is no lookup
		}
	}
	return fuse.OK
}

// listed is entry for a name of a folder that is being read.
func (f *FS) listed(h *handle, it *item, e *fuse.EntryOut) error {
	switch {
	case it.id != 0:
		return f.entry(it.id, e)
	case h.node.kind != kSessions || h.dir == nil:
		return f.entry(f.table.id(kNamed, h.node.id, it.name), e)
	}
	at, err := session.AttrIn(h.dir, it.name)
	if err != nil {
		return err
	}
	f.sessionEntry(f.table.id(kSession, h.node.id, it.name), at, e)
	return nil
}

// list gives a folder's names.
func (f *FS) list(n node, by session.Caller) ([]item, error) {
	items := []item{{name: ".", mode: unix.S_IFDIR, id: n.id}, {name: "..", mode: unix.S_IFDIR, id: f.up(n)}}
	for _, k := range f.tree.children[n.kind] {
		mode := uint32(unix.S_IFREG)
		if s := f.tree.specs[k]; s.class == cDir || s.class == cPlain {
			mode = unix.S_IFDIR
		}
		items = append(items, item{name: f.tree.specs[k].name, mode: mode, id: n.part(k)})
	}
	more, err := f.listMore(n, by)
	return append(items, more...), err
}

// up gives the id of the folder above.
func (f *FS) up(n node) uint64 {
	if n.kind == kRoot {
		return n.id
	}
	if n.e != nil && n.kind == n.e.kind {
		parent, _, _ := f.table.where(n.e)
		return parent
	}
	return n.part(f.tree.specs[n.kind].parent)
}

// listMore gives the names that are not fixed.
func (f *FS) listMore(n node, by session.Caller) ([]item, error) {
	switch n.kind {
	case kHome:
		return f.listHomes(n, by)
	case kShared:
		return f.listDirs(n, kOwner, session.CheckName)
	case kOwnerAgents, kOwnerModels:
		return f.listDirs(n, kContainer, func(name string) error { return containerName(n.kind, name) })
	case kContainer:
		return f.listTemps(n)
	case kTemps:
		return f.listTempSessions(n)
	case kSessions:
		return f.listSessions(n)
	case kByCWD:
		return f.listNamed(n, func() ([]string, error) {
			c, err := f.container(n)
			if err != nil {
				return nil, err
			}
			return c.CWDKeys()
		})
	case kTrace:
		return f.listNamed(n, func() ([]string, error) { return session.TraceNames(), nil })
	case kChannels:
		return f.listNamed(n, func() ([]string, error) { return session.ChannelNames(), nil })
	case kBundle:
		return f.listNamed(n, func() ([]string, error) { return session.BundleNames(), nil })
	case kImported:
		x, err := f.session(n)
		if err != nil {
			return nil, err
		}
		return f.listNamed(n, x.ImportedNames)
	case kSwapChunk, kDedupBlob:
		x, err := f.session(n)
		if err != nil {
			return nil, err
		}
		if n.kind == kSwapChunk {
			return f.listNamed(n, x.SwapIDs)
		}
		return f.listNamed(n, x.DedupIDs)
	}
	if !f.holdsPlain(n) || f.nameless(n) {
		return nil, nil
	}
	items, err := f.listPlain(n)
	return append(items, f.listSockets(n, by)...), err
}

// entries reads the folder of the store behind n; one that is not made yet is empty.
func (f *FS) entries(n node) ([]fs.DirEntry, error) {
	s, rel, err := f.at(n)
	if err != nil {
		return nil, err
	}
	entries, err := s.Dir().ReadDir(rel)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return f.withVirtual(n, rel, entries), err
}

func (f *FS) listDirs(n node, k kind, check func(string) error) ([]item, error) {
	entries, err := f.entries(n)
	var items []item
	for _, e := range entries {
		if e.IsDir() && check(e.Name()) == nil {
			items = append(items, item{name: e.Name(), mode: unix.S_IFDIR, id: f.table.id(k, n.id, e.Name())})
		}
	}
	return items, err
}

// listSessions numbers nothing: there may be very many, and whoever lists them may want their names only.
func (f *FS) listSessions(n node) (items []item, err error) {
	rel, err := f.rel(n)
	if err != nil {
		return nil, err
	}
	err = f.store.Dir().Scan(rel, func(e beneath.Found) {
		if e.Type == unix.DT_DIR && session.CheckSessionName(e.Name) == nil {
			items = append(items, item{name: e.Name, mode: unix.S_IFDIR, ino: sessionIno(e.Ino)})
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it is not made yet
	}
	return items, err
}

// listHomes shows the caller's own home, and root all of them.
func (f *FS) listHomes(n node, by session.Caller) ([]item, error) {
	own := strconv.FormatUint(uint64(by.UID), 10)
	items := []item{{name: own, mode: unix.S_IFDIR, id: f.table.id(kOwner, n.id, own)}}
	if by.UID != 0 {
		return items, nil
	}
	entries, err := f.entries(n)
	for _, e := range entries {
		if _, ok := homeUID(e.Name()); ok && e.IsDir() && e.Name() != own {
			items = append(items, item{name: e.Name(), mode: unix.S_IFDIR, id: f.table.id(kOwner, n.id, e.Name())})
		}
	}
	return items, err
}

func (f *FS) listNamed(n node, names func() ([]string, error)) ([]item, error) {
	list, err := names()
	var items []item
	for _, name := range list {
		items = append(items, item{name: name, mode: unix.S_IFREG})
	}
	return items, err
}

func (f *FS) listPlain(n node) ([]item, error) {
	entries, err := f.entries(n)
	var items []item
	for _, e := range entries {
		if f.hidden(n, e.Name()) {
			continue
		}
		mode := uint32(unix.S_IFREG)
		switch {
		case e.IsDir():
			mode = unix.S_IFDIR
		case e.Type()&fs.ModeSymlink != 0:
			mode = unix.S_IFLNK
		}
		items = append(items, item{name: e.Name(), mode: mode, id: f.table.id(kPlain, n.id, e.Name())})
	}
	return items, err
}

// hidden tells whether a name of the store's folder is not shown as a plain file: it is part of the tree, or ctxfs's own.
func (f *FS) hidden(n node, name string) bool {
	if strings.HasPrefix(name, tempPrefix) || private(n, name) {
		return true
	}
	if n.kind != kSession && n.kind != kContext {
		return false
	}
	if _, fixed := f.tree.byName[n.kind][name]; fixed {
		return true
	}
	_, packed := session.PackName(path.Base(name))
	return packed
}
