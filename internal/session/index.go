package session

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// index knows a container's sessions by time and by cwd. It is read from the store when it is first asked, and kept
// up by touch afterwards: what a question costs does not grow with the number of sessions, but for the bytes of a list.
// Nothing of it is stored: whatever happened to the store while no daemon held it, the index is what the files say.
type index struct {
	c *Container

	touched sync.Mutex      // protects the next two; a leaf, so that nobody who appends waits for a load
	watched bool            // a load has begun: from now on changes must be known
	dirty   map[string]bool // to be read from the store again

	waiting atomic.Int32 // questions that are not answered yet

	mu     sync.Mutex // protects what is below; held over reads of the store
	loaded bool
	all    map[string]*entry
	order  []*entry          // newest first; equal times in name order
	list   []byte            // index/list; nil: to be made from order
	asked  int               // questions about a cwd since the last change
	newest map[uint64]*entry // by key; nil: to be made when many ask
}

// entry is small: an agent may have very many sessions.
type entry struct {
	name string
	sec  int64  // when it was updated
	key  uint64 // of its cwd, as in index/by-cwd
	host uint64 // of the host's directory that meta.json names; 0: it names none
	nsec int32
}

// byTime orders entries newest first.
func byTime(a, b *entry) int {
	return cmp.Or(cmp.Compare(b.sec, a.sec), cmp.Compare(b.nsec, a.nsec), strings.Compare(a.name, b.name))
}

func (e *entry) set(updated time.Time) { e.sec, e.nsec = updated.Unix(), int32(updated.Nanosecond()) }

func (ix *index) init(c *Container) { ix.c = c }

// touch says that sessions changed, came or went: once it is so, not before.
func (ix *index) touch(names ...string) {
	ix.touched.Lock()
	defer ix.touched.Unlock()
	if !ix.watched {
		return
	}
	for _, n := range names {
		ix.dirty[n] = true
	}
}

// watch has changes noted from now on.
func (ix *index) watch() {
	ix.touched.Lock()
	defer ix.touched.Unlock()
	ix.watched, ix.dirty = true, map[string]bool{}
}

// take gives the names of what changed since the last time.
func (ix *index) take() []string {
	ix.touched.Lock()
	defer ix.touched.Unlock()
	if len(ix.dirty) == 0 {
		return nil
	}
	names := slices.Collect(maps.Keys(ix.dirty))
	clear(ix.dirty)
	return names
}

// few is how many changes are entered one by one: each moves a part of the order. More are sorted in.
const few = 32

// refresh reads what changed; mu is held.
func (ix *index) refresh() error {
	if !ix.loaded {
		if err := ix.load(); err != nil {
			return err
		}
	}
	names := ix.take()
	for i, n := range names {
		e, err := ix.c.entry(n)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			ix.touch(names[i:]...)
			if i > few {
				ix.sort()
			}
			return err
		}
		ix.put(n, e, len(names) <= few)
	}
	if len(names) > few {
		ix.sort()
	}
	return nil
}

// put gives the session called name the entry e; nil takes it out. Unless inOrder, the caller sorts afterwards.
func (ix *index) put(name string, e *entry, inOrder bool) {
	old := ix.all[name]
	if old != nil && e != nil && *old == *e {
		return
	}
	ix.changed()
	if old != nil && inOrder {
		if i, ok := slices.BinarySearchFunc(ix.order, old, byTime); ok {
			ix.order = slices.Delete(ix.order, i, i+1)
		}
	}
	if e == nil {
		delete(ix.all, name)
		return
	}
	ix.all[name] = e
	if inOrder {
		i, _ := slices.BinarySearchFunc(ix.order, e, byTime)
		ix.order = slices.Insert(ix.order, i, e)
	}
}

// sort makes the order anew.
func (ix *index) sort() {
	ix.order = slices.AppendSeq(ix.order[:0], maps.Values(ix.all))
	slices.SortFunc(ix.order, byTime)
	ix.changed()
}

// changed drops what was made from the order.
func (ix *index) changed() { ix.list, ix.newest, ix.asked = nil, nil, 0 }

// at gives the newest session with a cwd's key, nil when there is none; mu is held. One question is answered by a look along
// the order; for many, as of ls -l of by-cwd, there is a map.
func (ix *index) at(key uint64) *entry {
	if ix.asked++; ix.asked > few && ix.newest == nil {
		ix.newest = map[uint64]*entry{}
		for _, e := range slices.Backward(ix.order) {
			ix.newest[e.key] = e
			if e.host != 0 {
				ix.newest[e.host] = e
			}
		}
	}
	if ix.newest != nil {
		return ix.newest[key]
	}
	if i := slices.IndexFunc(ix.order, func(e *entry) bool { return e.key == key || e.host != 0 && e.host == key }); i >= 0 {
		return ix.order[i]
	}
	return nil
}

// look calls fn with the sessions, newest first.
func (c *Container) look(fn func(order []*entry)) error {
	c.idx.waiting.Add(1)
	c.idx.mu.Lock()
	defer c.idx.mu.Unlock()
	err := c.idx.refresh()
	c.idx.waiting.Add(-1)
	if err == nil {
		fn(c.idx.order)
	}
	return err
}

// List gives the session names, newest updated_at first.
func (c *Container) List() (names []string, err error) {
	err = c.look(func(order []*entry) {
		for _, e := range order {
			names = append(names, e.name)
		}
	})
	return names, err
}

// ListFile gives index/list: List, one name a line (Session ABI). The caller must not change it.
func (c *Container) ListFile() (data []byte, err error) {
	err = c.look(func(order []*entry) {
		if c.idx.list == nil {
			size := 0
			for _, e := range order {
				size += len(e.name) + 1
			}
			c.idx.list = make([]byte, 0, size)
			for _, e := range order {
				c.idx.list = append(append(c.idx.list, e.name...), '\n')
			}
		}
		data = c.idx.list
	})
	return data, err
}

// Current is the session that was updated last, "" when there is none (Session ABI, index/current).
func (c *Container) Current() (name string, err error) {
	err = c.look(func(order []*entry) {
		if len(order) > 0 {
			name = order[0].name
		}
	})
	return name, err
}

// ByCWD returns the session of a by-cwd key that was updated last: its cwd, or the host_cwd in its meta.json, has that key.
// Two directories may share a key, so a caller that looks for a directory compares these.
func (c *Container) ByCWD(key string) (name string, err error) {
	want, ok := parseKey(key)
	err = c.look(func([]*entry) {
		if e := c.idx.at(want); ok && e != nil {
			name = e.name
		}
	})
	if err == nil && name == "" {
		err = refuse(NotFound, "no session has the cwd of %s", key)
	}
	return name, err
}

// CWDKeys returns the by-cwd keys of all sessions, sorted: each has one of its cwd, and one of its host_cwd if it has that.
func (c *Container) CWDKeys() (keys []string, err error) {
	all := map[uint64]bool{}
	err = c.look(func(order []*entry) {
		for _, e := range order {
			all[e.key] = true
			if e.host != 0 {
				all[e.host] = true
			}
		}
	})
	for _, k := range slices.Sorted(maps.Keys(all)) {
		keys = append(keys, showKey(k))
	}
	return keys, err
}

// CWDKey names a cwd in index/by-cwd: the FNV-1a 64-bit hash of its bytes (design: section 7).
func CWDKey(cwd string) string { return showKey(cwdKey(cwd)) }

func cwdKey(cwd string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(cwd)) // never fails (hash.Hash)
	return h.Sum64()
}

func showKey(k uint64) string { return fmt.Sprintf("cwd-%016x", k) }

// parseKey reads a key as showKey writes it, and in no other form.
func parseKey(key string) (k uint64, ok bool) {
	n, err := fmt.Sscanf(key, "cwd-%016x", &k)
	return k, n == 1 && err == nil && showKey(k) == key
}
