package session

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// index knows a container's sessions by time and by cwd. It is read from the store when it is first asked, and kept
// up by touch afterwards: what a question costs does not grow with the number of sessions, but for the bytes of a list.
type index struct {
	c *Container

	mu     sync.Mutex // protects what is below
	loaded bool
	all    map[string]*entry
	order  []*entry        // newest first; equal times in name order
	list   []byte          // index/list; nil: to be made from order
	dirty  map[string]bool // to be read from the store again
}

type entry struct {
	name    string
	updated time.Time
	key     string // of its cwd, as in index/by-cwd
}

// byTime orders entries newest first.
func byTime(a, b *entry) int {
	if d := b.updated.Compare(a.updated); d != 0 {
		return d
	}
	return strings.Compare(a.name, b.name)
}

func (ix *index) init(c *Container) {
	ix.c, ix.all, ix.dirty = c, map[string]*entry{}, map[string]bool{}
}

// touch says that a session changed or came.
func (ix *index) touch(name string) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.loaded {
		ix.dirty[name] = true
	}
}

func (ix *index) rename(oldName, newName string) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.loaded {
		ix.dirty[oldName], ix.dirty[newName] = true, true
	}
}

// refresh reads what changed; mu is held.
func (ix *index) refresh() error {
	if !ix.loaded {
		return ix.load()
	}
	for n := range ix.dirty {
		e, err := ix.c.entry(n)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		ix.put(n, e)
		delete(ix.dirty, n)
	}
	return nil
}

// load reads all sessions.
func (ix *index) load() error {
	names, err := ix.c.Names()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, n := range names {
		e, err := ix.c.entry(n)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			clear(ix.all)
			return err
		}
		ix.all[n] = e
	}
	ix.order = slices.SortedFunc(maps.Values(ix.all), byTime)
	ix.list, ix.loaded = nil, true
	clear(ix.dirty)
	return nil
}

// put gives the session called name the entry e; nil takes it out.
func (ix *index) put(name string, e *entry) {
	if old := ix.all[name]; old != nil {
		if i, ok := slices.BinarySearchFunc(ix.order, old, byTime); ok {
			ix.order = slices.Delete(ix.order, i, i+1)
		}
		delete(ix.all, name)
	}
	if e != nil {
		i, _ := slices.BinarySearchFunc(ix.order, e, byTime)
		ix.order = slices.Insert(ix.order, i, e)
		ix.all[name] = e
	}
	ix.list = nil
}

// entry reads one session's time and cwd.
func (c *Container) entry(name string) (*entry, error) {
	rel := path.Join(c.SessionsRel(), name)
	updated, err := c.store.updated(rel)
	if err != nil {
		return nil, err
	}
	cwd := "/"
	data, err := c.store.dir.ReadFile(path.Join(rel, "cwd"), unix.PathMax)
	if err == nil { // one that is not there, or was damaged past ctxfs, is the default: it must not hide other sessions
		cwd = strings.TrimSuffix(string(data), "\n")
	}
	return &entry{name: name, updated: updated, key: CWDKey(cwd)}, nil
}

// updated is when the session at rel last changed: the newest of its history and its own files.
func (s *Store) updated(rel string) (time.Time, error) {
	st, err := s.dir.Stat(rel)
	if err != nil {
		return time.Time{}, err
	}
	newest := timeOf(st.Mtim) // files that are replaced by rename show here too
	for _, f := range []string{Messages, Events} {
		if _, t, err := s.logStat(rel, f); err == nil && t.After(newest) {
			newest = t
		}
	}
	return newest, nil
}

// look calls fn with the sessions, newest first.
func (c *Container) look(fn func(order []*entry)) error {
	c.idx.mu.Lock()
	defer c.idx.mu.Unlock()
	err := c.idx.refresh()
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

// ByCWD gives the session of a by-cwd key that was updated last.
func (c *Container) ByCWD(key string) (name string, err error) {
	err = c.look(func(order []*entry) {
		if i := slices.IndexFunc(order, func(e *entry) bool { return e.key == key }); i >= 0 {
			name = order[i].name
		}
	})
	if err == nil && name == "" {
		err = refuse(NotFound, "no session has the cwd of %s", key)
	}
	return name, err
}

// CWDKeys lists the by-cwd keys, sorted.
func (c *Container) CWDKeys() ([]string, error) {
	keys := map[string]bool{}
	err := c.look(func(order []*entry) {
		for _, e := range order {
			keys[e.key] = true
		}
	})
	return slices.Sorted(maps.Keys(keys)), err
}

// CWDKey names a cwd in index/by-cwd: the FNV-1a 64-bit hash of its bytes (design: section 7).
func CWDKey(cwd string) string {
	h := fnv.New64a()
	h.Write([]byte(cwd)) // never fails (hash.Hash)
	return fmt.Sprintf("cwd-%016x", h.Sum64())
}
