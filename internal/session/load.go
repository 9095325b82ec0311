package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ctxfs/internal/beneath"

	"golang.org/x/sys/unix"
)

// load reads all sessions; mu is held.
func (ix *index) load() error {
	ix.watch() // before the names are read: what changes while they are is read again
	names, err := ix.c.names()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries := make([]entry, len(names))
	found, err := ix.c.readEntries(names, entries)
	if err != nil {
		return err
	}
	ix.all, ix.order = make(map[string]*entry, len(names)), make([]*entry, 0, len(names))
	for i := range entries {
		if e := &entries[i]; found[i] {
			ix.all[e.name] = e
			ix.order = append(ix.order, e)
		}
	}
	slices.SortFunc(ix.order, byTime)
	ix.changed()
	ix.loaded = true
	return nil
}

// readers is how many threads read the sessions of an index while somebody waits for it: on a disk that must be waited for,
// more than processors. While nobody does, one reads, and leaves the rest of the machine to others.
const readers = 8

// loading is the reading of many sessions.
type loading struct {
	c       *Container
	names   []string
	entries []entry
	found   []bool
	next    atomic.Int64
	wg      sync.WaitGroup
	errs    [readers]error
}

// readEntries reads the sessions of those names, and tells which are there.
func (c *Container) readEntries(names []string, entries []entry) (found []bool, err error) {
	l := &loading{c: c, names: names, entries: entries, found: make([]bool, len(names))}
	l.read(0)
	l.wg.Wait()
	return l.found, errors.Join(l.errs[:]...)
}

// read is one reader. The first calls the others when somebody waits.
func (l *loading) read(r int) {
	const share = 64 // of the names, that one reader takes at a time
	var buf [unix.PathMax + 1]byte
	alone := r == 0
	for {
		from := int(l.next.Add(share)) - share
		for i := from; i < min(from+share, len(l.names)); i++ {
			if l.found[i], l.errs[r] = l.c.readEntry(l.names[i], &l.entries[i], buf[:]); l.errs[r] != nil {
				return
			}
		}
		if from+share >= len(l.names) {
			return
		}
		if alone && l.c.idx.waiting.Load() > 0 {
			alone = false
			for other := 1; other < readers; other++ {
				l.wg.Go(func() { l.read(other) })
			}
		}
	}
}

// errClosed ends what reads a whole store when the store is closed.
var errClosed = errors.New("the store is being closed")

// readEntry reads one session into e, unless it is not there.
func (c *Container) readEntry(name string, e *entry, buf []byte) (found bool, err error) {
	if c.store.closing.Load() {
		return false, errClosed
	}
	rel := path.Join(c.SessionsRel(), name)
	err = c.store.dir.Look(rel, func(f beneath.Folder) error {
		updated, err := c.store.updatedIn(f, rel)
		if err != nil {
			return err
		}
		e.name = name
		e.set(updated)
		cwd := "/"
		// A cwd that is not there, or was damaged past ctxfs, is the default: it must not hide other sessions.
		if data, err := f.ReadAll("cwd", buf); err == nil {
			cwd = strings.TrimSuffix(string(data), "\n")
		}
		e.key, e.host = cwdKey(cwd), hostKey(f, buf)
		return nil
	})
	for _, none := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV, unix.EACCES} {
		if errors.Is(err, none) {
			return false, nil // it went away; or what a user planted there is none, and must not hide other sessions
		}
	}
	return err == nil, err
}

// hostKey returns the by-cwd key of the host_cwd in a session's meta.json, 0 when there is none.
func hostKey(f beneath.Folder, buf []byte) uint64 {
	data, err := f.ReadAll("meta.json", buf)
	if errors.Is(err, beneath.ErrTooLarge) {
		data, err = f.ReadAll("meta.json", make([]byte, maxMeta+1))
	}
	if err != nil || !bytes.Contains(data, []byte(`"host_cwd"`)) { // most have none: they are not parsed
		return 0
	}
	var meta struct {
		HostCWD string `json:"host_cwd"`
	}
	if json.Unmarshal(data, &meta) != nil || meta.HostCWD == "" {
		return 0
	}
	return cwdKey(meta.HostCWD)
}

// entry reads one session; nil: it is not there.
func (c *Container) entry(name string) (*entry, error) {
	if CheckSessionName(name) != nil {
		return nil, nil
	}
	var e entry
	found, err := c.readEntry(name, &e, make([]byte, unix.PathMax+1))
	if !found {
		return nil, err
	}
	return &e, nil
}

// updated is when the session at rel last changed: the newest of its history and its own files.
func (s *Store) updated(rel string) (t time.Time, err error) {
	err = s.dir.Look(rel, func(f beneath.Folder) error { t, err = s.updatedIn(f, rel); return err })
	return t, err
}

func (s *Store) updatedIn(f beneath.Folder, rel string) (time.Time, error) {
	st, err := f.Stat()
	if err != nil {
		return time.Time{}, err
	}
	newest := timeOf(st.Mtim) // files that are replaced by rename show here too
	for _, log := range []string{Messages, Events} {
		st, err := f.StatAt(log)
		t := timeOf(st.Mtim)
		if err == unix.ENOENT { // it may be archived
			_, t, err = s.logStat(rel, log)
		}
		if err == nil && t.After(newest) {
			newest = t
		}
	}
	return newest, nil
}

// warm loads the index if it is not, and takes what it has from left.
func (ix *index) warm(left *int) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.refresh() == nil {
		*left -= len(ix.order)
	}
}

// maxWarm is how many sessions Warm reads at most: they take memory, about 100 bytes each, whether anybody asks or not.
const maxWarm = 300_000

// Warm begins to read the indexes of the store's agents, in the background, so that the first question need not wait for
// it. What it could not read is read, and its error told, when somebody asks.
func (s *Store) Warm() {
	s.later.Go(func() {
		left := maxWarm
		_ = s.EachContainer(func(c *Container) error {
			if c.idx.warm(&left); left <= 0 || s.closing.Load() {
				return errClosed
			}
			return nil
		})
	})
}
