package fsnode

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Lookup finds a name in a folder.
func (f *FS) Lookup(_ <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if id, ok, err := f.findSocket(header, name); ok || err != nil {
		if err != nil {
			return errno(err)
		}
		return errno(f.entry(id, out))
	}
	switch kind(header.NodeId) {
	case kByCWD, kSwapChunk, kSwapOpen, kDedupBlob: // whether the name is there, a build tells
		defer f.handles.quotas.build(header.Uid)()
	}
	dir, err := f.node(header.NodeId)
	if err != nil {
		return errno(err)
	}
	if _, fixed := f.tree.byName[dir.kind][name]; dir.kind == kSessions && !fixed {
		return errno(f.lookupSession(dir, name, out))
	}
	defer f.steady(dir)()
	id, err := f.find(dir, name, caller(header))
	if err != nil {
		return errno(err)
	}
	return errno(f.entry(id, out))
}

func (f *FS) lookupSession(dir node, name string, out *fuse.EntryOut) error {
	c, err := f.container(dir)
	if err != nil {
		return err
	}
	at, err := c.Has(name)
	if err != nil {
		return unix.ENOENT // whatever else the name may be
	}
	f.sessionEntry(f.table.id(kSession, dir.id, name), at, out)
	return nil
}

// child gives the folder that a request is about, and what has the name in it.
func (f *FS) child(header *fuse.InHeader, name string) (dir, n node, err error) {
	if dir, err = f.node(header.NodeId); err != nil {
		return dir, n, err
	}
	defer f.steady(dir)()
	id, err := f.find(dir, name, caller(header))
	if err != nil {
		return dir, n, err
	}
	n, err = f.node(id)
	return dir, n, err
}

func caller(h *fuse.InHeader) session.Caller { return session.Caller{UID: h.Uid, GID: h.Gid} }

// entry fills in what the kernel keeps of a name, and counts the lookup.
func (f *FS) entry(id uint64, out *fuse.EntryOut) error {
	n, err := f.node(id)
	if err != nil {
		return err
	}
	valid, err := f.attr(n, nil, false, &out.Attr)
	if err != nil {
		return err
	}
	out.NodeId, out.Generation = id, 1
	out.SetAttrTimeout(valid)
	out.SetEntryTimeout(f.nameFor(n))
	if kind(id).counted() || inMemory(id) {
		f.table.looked(id >> 8)
	}
	return nil
}

// sessionEntry is entry for a session's folder whose attributes are known.
func (f *FS) sessionEntry(id uint64, at session.Attr, out *fuse.EntryOut) {
	sessionAttr(at, &out.Attr)
	out.NodeId, out.Generation = id, 1
	out.SetAttrTimeout(keepFor)
	out.SetEntryTimeout(keepFor)
}

// nameFor is how long the kernel may keep a name. Names that a rename can give to another node are asked for each time.
func (f *FS) nameFor(n node) time.Duration {
	if n.temporary() || f.virtual(n) {
		return 0
	}
	switch f.class(n) {
	case cControl, cSocket:
		return 0
	case cDir:
		if n.kind == kSockets {
			return 0
		}
	case cPlain:
		if _, err := f.session(n); err == nil && n.kind == kPlain {
			return 0
		}
	case cGen:
		if n.kind == kNamed {
			return 0
		}
	}
	return keepFor
}

// find gives the node id of a name in folder n.
func (f *FS) find(n node, name string, by session.Caller) (uint64, error) {
	if k, ok := f.tree.byName[n.kind][name]; ok {
		return n.part(k), nil
	}
	switch n.kind {
	case kHome:
		return f.findHome(n, name, by)
	case kShared:
		return f.findDir(kOwner, n, name)
	case kOwnerAgents, kOwnerModels:
		if err := containerName(n.kind, name); err != nil {
			return 0, unix.ENOENT
		}
		return f.findDir(kContainer, n, name)
	case kContainer:
		return f.findTemps(n, name)
	case kSessions:
		return f.findSession(n, name)
	case kTemps:
		return f.findTemp(n, name)
	case kByCWD, kSwapChunk, kSwapOpen, kDedupBlob, kRecall, kTrace, kChannels, kBundle, kImported:
		return f.findNamed(n, name)
	case kContext:
		if _, ok := session.PackName(name); ok {
			return f.table.id(kNamed, n.id, name), nil
		}
	}
	return f.findPlain(n, name)
}

// homeUID reads the name of a home: a uid as the kernel writes it.
func homeUID(name string) (uint32, bool) {
	uid, err := strconv.ParseUint(name, 10, 32)
	return uint32(uid), err == nil && strconv.FormatUint(uid, 10) == name
}

// findHome finds a user's home. The caller's own is there before anything is in it.
func (f *FS) findHome(n node, name string, by session.Caller) (uint64, error) {
	uid, ok := homeUID(name)
	if !ok {
		return 0, unix.ENOENT
	}
	if uid == by.UID {
		return f.table.id(kOwner, n.id, name), nil
	}
	return f.findDir(kOwner, n, name)
}

// findDir finds a folder of the store that is a node of kind k.
func (f *FS) findDir(k kind, n node, name string) (uint64, error) {
	if strings.HasPrefix(name, ".") {
		return 0, unix.ENOENT // the store's own
	}
	rel, err := f.rel(n)
	if err != nil {
		return 0, err
	}
	st, err := f.statAbove(path.Join(rel, name))
	if err != nil {
		return 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return 0, unix.ENOENT
	}
	return f.table.id(k, n.id, name), nil
}

// containerName checks an agent's folder name, or a model's, which ends in ".d".
func containerName(k kind, name string) error {
	if k == kOwnerModels {
		stem, ok := strings.CutSuffix(name, ".d")
		if !ok {
			return &session.Error{Kind: session.Invalid, Msg: "a model's folder is named <model>.d"}
		}
		name = stem
	}
	return session.CheckName(name)
}

func (f *FS) findSession(n node, name string) (uint64, error) {
	c, err := f.container(n)
	if err != nil {
		return 0, err
	}
	if _, err := c.Has(name); err != nil {
		return 0, unix.ENOENT // whatever else the name may be
	}
	return f.table.id(kSession, n.id, name), nil
}

// findNamed finds a generated file by name. A recall is there for every query; the others must be there now.
func (f *FS) findNamed(n node, name string) (uint64, error) {
	id := f.table.id(kNamed, n.id, name)
	if n.kind == kRecall {
		return id, nil
	}
	g, err := f.node(id)
	if err != nil {
		return 0, err
	}
	if _, err := f.content(g); err != nil {
		f.table.forget(id>>8, 0) // not given to the kernel
		return 0, err
	}
	return id, nil
}

// findPlain finds a plain file or folder of the store.
func (f *FS) findPlain(n node, name string) (uint64, error) {
	if !f.holdsPlain(n) || private(n, name) {
		return 0, unix.ENOENT
	}
	s, rel, err := f.at(n)
	if err != nil {
		return 0, err
	}
	if _, err := s.Dir().Stat(path.Join(rel, name)); err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENAMETOOLONG) {
			return 0, err
		}
		return 0, err
	}
	return f.table.id(kPlain, n.id, name), nil
}

// private tells whether a name of the store is ctxfs's own: it is in no folder of the tree, and nobody can make it there.
func private(n node, name string) bool {
	return name == session.StateDir || n.kind == kSession && name == session.ColdDir
}

// holdsPlain tells whether plain files can stand in n. In a session's folders these are editors' temporary files.
func (f *FS) holdsPlain(n node) bool {
	return f.class(n) == cPlain || n.kind == kSession || n.kind == kContext
}
