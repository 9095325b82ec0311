package session

import (
	"errors"
	"io/fs"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Space is what one owner, a user or a share, may take of the disk; 0: no limit of ctxfs's own. Root's home has none.
type Space struct{ Bytes, Files int64 }

// newFile is what an empty file counts for in bytes until it is counted on disk.
const newFile = 4096

// sessionFiles is about how many files and folders a new session takes.
const sessionFiles = 8

func newSpace(limit Space, s *Store) *space {
	if limit == (Space{}) {
		return nil
	}
	return &space{limit: limit, count: s.countSpace, owners: map[string]*taken{}}
}

func (s *Store) countSpace(owner string) (bytes, files int64, err error) {
	bytes, files, err = s.dir.Usage(owner)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it is about to be made
	}
	if s.Unnamed != nil {
		bytes += s.Unnamed(owner)
	}
	return bytes, files, err
}

// space holds owners to what they may take. What is there is counted on disk when somebody first writes, and again when it would
// be too much: files go away too, also past the daemon. In between, what is written is added.
type space struct {
	limit Space
	count func(owner string) (bytes, files int64, err error)

	mu     sync.Mutex
	owners map[string]*taken
}

// taken is what one owner has.
type taken struct {
	mu           sync.Mutex
	known        bool
	bytes, files int64
	next         time.Time // not counted again before: counting takes a tenth of the time at most
}

func (sp *space) of(owner string) *taken {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	t := sp.owners[owner]
	if t == nil {
		t = &taken{}
		sp.owners[owner] = t
	}
	return t
}

// take notes more of an owner's, or says EDQUOT.
func (sp *space) take(owner string, bytes, files int64) error {
	t := sp.of(owner)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.known || !t.fits(sp.limit, bytes, files) {
		if err := sp.recount(owner, t); err != nil {
			return err
		}
	}
	if !t.fits(sp.limit, bytes, files) {
		return unix.EDQUOT
	}
	t.bytes += bytes
	t.files += files
	return nil
}

func (t *taken) fits(limit Space, bytes, files int64) bool {
	return (limit.Bytes == 0 || bytes == 0 || t.bytes+bytes <= limit.Bytes) && (limit.Files == 0 || files == 0 || t.files+files <= limit.Files)
}

// recount asks the disk; t's lock is held. What cannot be counted is as it was.
func (sp *space) recount(owner string, t *taken) error {
	if start := time.Now(); start.After(t.next) {
		bytes, files, err := sp.count(owner)
		if err != nil && !t.known {
			return err
		}
		if err == nil {
			t.known, t.bytes, t.files = true, bytes, files
		}
		t.next = time.Now().Add(10 * time.Since(start))
	}
	return nil
}

// Room notes that what stands at rel, a path in the store, is about to grow by so many bytes and files: EDQUOT when its owner may
// not have more.
func (s *Store) Room(rel string, bytes, files int64) error {
	owner, limited := s.limited(rel)
	if !limited {
		return nil
	}
	return s.space.take(owner, bytes+files*newFile, files)
}

// Taken gives what the owner of rel takes, by a count of a moment ago, and what they may take.
func (s *Store) Taken(rel string) (has, limit Space) {
	owner, limited := s.limited(rel)
	if !limited {
		return Space{}, Space{}
	}
	t := s.space.of(owner)
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = s.space.recount(owner, t) // then it is as it was
	return Space{t.bytes, t.files}, s.space.limit
}

// limited gives whose part of the store rel is in, and whether they have a limit.
func (s *Store) limited(rel string) (owner string, is bool) {
	if s.space == nil || s.memory != nil {
		return "", false
	}
	owner = OwnerRel(rel)
	return owner, owner != "." && owner != "home/0"
}
