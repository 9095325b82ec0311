package session

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// index knows a container's sessions by time and by cwd. It is read from the store when it is first asked, and kept
// up by touch afterwards.
type index struct {
	c *Container

	mu     sync.Mutex // protects what is below
	loaded bool
	all    map[string]*entry
	dirty  map[string]bool // to be read from the store again
}

type entry struct {
	updated time.Time
	cwd     string
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
	delete(ix.all, oldName)
	delete(ix.dirty, oldName)
	ix.dirty[newName] = ix.loaded
}

// refresh reads what changed; mu is held.
func (ix *index) refresh() error {
	names := make([]string, 0, len(ix.dirty))
	for n := range ix.dirty {
		names = append(names, n)
	}
	if !ix.loaded {
		var err error
		if names, err = ix.c.Names(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, n := range names {
		e, err := ix.c.entry(n)
		if errors.Is(err, fs.ErrNotExist) {
			delete(ix.all, n)
			continue
		}
		if err != nil {
			return err
		}
		ix.all[n] = e
	}
	clear(ix.dirty)
	ix.loaded = true
	return nil
}

// entry reads one session's time and cwd.
func (c *Container) entry(name string) (*entry, error) {
	rel := path.Join(c.SessionsRel(), name)
	updated, err := c.store.updated(rel)
	if err != nil {
		return nil, err
	}
	e := &entry{updated: updated, cwd: "/"}
	data, err := c.store.dir.ReadFile(path.Join(rel, "cwd"), unix.PathMax)
	if err == nil { // one that is not there, or was damaged past ctxfs, is the default: it must not hide other sessions
		e.cwd = strings.TrimSuffix(string(data), "\n")
	}
	return e, nil
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

// sorted gives the names, newest first; equal times in name order.
func (ix *index) sorted(keep func(*entry) bool) ([]string, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if err := ix.refresh(); err != nil {
		return nil, err
	}
	var names []string
	for n, e := range ix.all {
		if keep(e) {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := ix.all[b].updated.Compare(ix.all[a].updated); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names, nil
}

// List gives the session names, newest updated_at first (Session ABI, index/list).
func (c *Container) List() ([]string, error) { return c.idx.sorted(func(*entry) bool { return true }) }

// Current is the session that was updated last, "" when there is none (Session ABI, index/current).
func (c *Container) Current() (string, error) {
	names, err := c.List()
	if err != nil || len(names) == 0 {
		return "", err
	}
	return names[0], nil
}

// ByCWD gives the session of a by-cwd key that was updated last.
func (c *Container) ByCWD(key string) (string, error) {
	names, err := c.idx.sorted(func(e *entry) bool { return CWDKey(e.cwd) == key })
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", refuse(NotFound, "no session has the cwd of %s", key)
	}
	return names[0], nil
}

// CWDKeys lists the by-cwd keys, sorted.
func (c *Container) CWDKeys() ([]string, error) {
	keys := map[string]bool{}
	_, err := c.idx.sorted(func(e *entry) bool { keys[CWDKey(e.cwd)] = true; return false })
	var out []string
	for k := range keys {
		out = append(out, k)
	}
	slices.Sort(out)
	return out, err
}

// CWDKey names a cwd in index/by-cwd: the FNV-1a 64-bit hash of its bytes (design: section 7).
func CWDKey(cwd string) string {
	h := fnv.New64a()
	h.Write([]byte(cwd)) // never fails (hash.Hash)
	return fmt.Sprintf("cwd-%016x", h.Sum64())
}
