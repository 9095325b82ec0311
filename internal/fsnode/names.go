package fsnode

import "sync"

// A plain file is known by its number and found by its path, which a rename can give to another file between two steps of a
// request. So who looks for a plain file and who changes names wait for each other, among the files of one owner.

// names gives the lock of the names of what belongs to n's owner.
func (f *FS) names(n node) *sync.RWMutex {
	owner := uint64(0)
	for n.e != nil {
		if owner = n.num; n.e.kind == kOwner {
			break
		}
		parent, _, _ := f.table.where(n.e)
		up, err := f.node(parent)
		if err != nil {
			break
		}
		n = up
	}
	if mu, ok := f.owners.Load(owner); ok {
		return mu.(*sync.RWMutex)
	}
	mu, _ := f.owners.LoadOrStore(owner, &sync.RWMutex{})
	return mu.(*sync.RWMutex)
}

// steady keeps names as they are, where n is a plain file or holds some, until the function that it gives is called.
func (f *FS) steady(n node) (done func()) {
	if !f.holdsPlain(n) {
		return func() {}
	}
	mu := f.names(n)
	mu.RLock()
	return mu.RUnlock
}

// nameOf gives the folder and name of a plain file, if it still has one.
func (t *table) nameOf(n node) (parent uint64, name string, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return n.e.parent, n.e.name, t.ids[tableKey{n.e.parent, n.e.name}] == n.num
}

// nameless tells that n is a plain file, or folder, which has no name any more. What is open of it goes on.
func (f *FS) nameless(n node) bool {
	if n.kind != kPlain {
		return false
	}
	_, _, ok := f.table.nameOf(n)
	return !ok
}
