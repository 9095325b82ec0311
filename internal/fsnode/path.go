package fsnode

import (
	"path"

	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// rel gives a node's path in the store, where it has one.
func (f *FS) rel(n node) (string, error) {
	switch n.kind {
	case kRoot:
		return ".", nil
	case kHome, kShared, kAgents, kModels:
		return f.tree.specs[n.kind].name, nil
	case kPlain:
		parent, name, ok := f.table.nameOf(n)
		if !ok {
			return "", unix.ESTALE // the kernel asks for the name again
		}
		return f.join(parent, name)
	case kOwner, kContainer:
		parent, name, _ := f.table.where(n.e)
		return f.join(parent, name)
	case kOwnerAgents, kOwnerModels, kContRoot, kSessions, kTemps:
		base, err := f.rel(node{kind: n.e.kind, num: n.num, e: n.e, id: n.part(n.e.kind)})
		return path.Join(base, f.tree.specs[n.kind].name), err
	}
	if n.e == nil || n.e.kind != kSession {
		return "", unix.ENOENT
	}
	x, err := f.session(n)
	if err != nil {
		return "", err
	}
	return path.Join(x.Rel(), f.tree.specs[n.kind].file), nil
}

// at gives a node's store, and its path there.
func (f *FS) at(n node) (*session.Store, string, error) {
	rel, err := f.rel(n)
	if err != nil || !n.temporary() {
		return f.store, rel, err
	}
	s, err := f.memory(rel)
	return s, rel, err
}

// join gives the path in the store of a name in the folder with node id parent.
func (f *FS) join(parent uint64, name string) (string, error) {
	p, err := f.node(parent)
	if err != nil {
		return "", err
	}
	dir, err := f.rel(p)
	return path.Join(dir, name), err
}

// container gives the agent or model that n is a part of.
func (f *FS) container(n node) (*session.Container, error) {
	if n.e == nil {
		return nil, unix.ENOENT
	}
	if n.kind == kTemps {
		return f.temps(n)
	}
	if c := n.e.cont.Load(); c != nil {
		return c, nil
	}
	rel, err := f.rel(node{kind: kContainer, num: n.num, e: n.e, id: n.part(kContainer)})
	if err != nil {
		return nil, err
	}
	c, err := f.store.Container(rel)
	if err != nil {
		return nil, err
	}
	n.e.cont.Store(c)
	return c, nil
}

// session gives the session that n is a part of, or stands below.
func (f *FS) session(n node) (*session.Session, error) {
	for n.e != nil && n.e.kind != kSession {
		parent, _, _ := f.table.where(n.e)
		up, err := f.node(parent)
		if err != nil {
			return nil, err
		}
		n = up
	}
	if n.e == nil {
		return nil, unix.ENOENT
	}
	if x := n.e.sess.Load(); x != nil {
		return x, nil
	}
	parent, name, _ := f.table.where(n.e)
	up, err := f.node(parent)
	if err != nil {
		return nil, err
	}
	c, err := f.container(up)
	if err != nil {
		return nil, err
	}
	x, err := c.Session(name)
	if err != nil {
		return nil, err
	}
	n.e.sess.Store(x)
	return x, nil
}

// genName gives the name of a generated file relative to its session.
func (f *FS) genName(n node) (string, error) {
	if n.kind != kNamed {
		return f.tree.specs[n.kind].file, nil
	}
	parent, name, _ := f.table.where(n.e)
	p, err := f.node(parent)
	return path.Join(f.tree.specs[p.kind].file, name), err
}
