package session

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"time"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/archive"
	"ctxfs/internal/beneath"
	"ctxfs/internal/chunkstore"

	"golang.org/x/sys/unix"
)

// ColdDir is the folder of a session with what was archived of its logs. The log NAME is one of
//
//	NAME                        the plain file, whole: while it is there, nothing else counts
//	.archive/NAME               the index of what is archived, S bytes; and
//	.archive/NAME.S             the plain file of what came after those, when there is any
//
// so that each change from one to the other is one rename or unlink.
const ColdDir = ".archive"

// OpenCold opens the store of an owner's cold bytes (archived logs and blobs); owner is "home/<uid>" or
// "shared/<name>". For a reader, one that is not there is fs.ErrNotExist.
func OpenCold(dir *beneath.Dir, owner string, opt chunkstore.Options) (*chunkstore.Store, error) {
	opt.Moving = func() (func(), error) { return Moving(dir) }
	return chunkstore.Open(dir, path.Join(owner, StateDir, "chunk"), opt)
}

// coldOwner is who the cold store of an owner belongs to: whom the owner's folder belongs to.
func (s *Store) coldOwner(owner string) (beneath.Owner, error) {
	st, err := s.dir.Stat(owner)
	return beneath.Owner{UID: int(st.Uid), GID: int(st.Gid), Chown: s.chown}, err
}

// writeCold opens an owner's cold store to add to it; the caller closes it.
func (s *Store) writeCold(owner string) (*chunkstore.Store, error) {
	own, err := s.coldOwner(owner)
	if err != nil {
		return nil, err
	}
	return OpenCold(s.dir, owner, chunkstore.Options{Owner: own})
}

// cold gives an owner's cold store to read from. It stays open as long as s.
func (s *Store) cold(owner string) (*chunkstore.Store, error) {
	s.coldMu.Lock()
	defer s.coldMu.Unlock()
	if c := s.colds[owner]; c != nil {
		return c, nil
	}
	c, err := OpenCold(s.dir, owner, chunkstore.Options{ReadOnly: true})
	if err == nil {
		s.colds[owner] = c
	}
	return c, err
}

func (s *Store) closeColds() (err error) {
	s.coldMu.Lock()
	defer s.coldMu.Unlock()
	for owner, c := range s.colds {
		err = errors.Join(err, c.Close())
		delete(s.colds, owner)
	}
	return err
}

// coldIndex is the path of a log's index, and coldTail that of the file with what follows the first size bytes.
func (x *Session) coldIndex(name string) string { return x.file(path.Join(ColdDir, name)) }

func coldTail(index string, size int64) string { return index + "." + strconv.FormatInt(size, 10) }

// archived reads the index of a log of which no plain file is there; nil when it is not archived.
func (x *Session) archived(name string) (*archive.Index, error) {
	if plain, err := x.store.has(x.file(name)); plain || err != nil {
		return nil, err
	}
	ix, err := archive.Load(x.store.dir, x.coldIndex(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return ix, err
}

// parts says where a log's bytes are: the plain file, and what is archived before it, which may be nil.
func (x *Session) parts(name string) (rel string, prefix appendlog.Prefix, err error) {
	ix, err := x.archived(name)
	if err != nil || ix == nil {
		return x.file(name), nil, err
	}
	prefix, err = x.prefix(name, ix)
	return coldTail(x.coldIndex(name), ix.Size), prefix, err
}

// IsArchived tells whether a part of a log is archived.
func (x *Session) IsArchived(name string) bool {
	return !x.store.exists(x.file(name)) && x.store.exists(x.coldIndex(name))
}

// Extents gives those of a log in its owner's cold store; none when it is not archived. An index beside a plain file
// counts: a crash may have left it, or it is about to count.
func (x *Session) Extents(name string) ([]chunkstore.Extent, error) {
	ix, err := archive.Load(x.store.dir, x.coldIndex(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return ix.Extents, nil
}

// PlainBytes is how many bytes of the session's logs are not archived.
func (x *Session) PlainBytes() (sum int64, err error) {
	for _, name := range []string{Messages, Events} {
		size, _, err := x.LogStat(name)
		if err != nil {
			return 0, err
		}
		ix, err := x.archived(name)
		if err != nil {
			return 0, err
		}
		if ix != nil {
			size -= ix.Size
		}
		sum += size
	}
	return sum, nil
}

// prefix reads what is archived of a log.
func (x *Session) prefix(name string, ix *archive.Index) (appendlog.Prefix, error) {
	cold, err := x.store.cold(OwnerRel(x.rel()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Kind: Damaged, Msg: x.file(name) + " is archived, and its store is not there"}
	}
	if err != nil {
		return nil, err
	}
	r, err := archive.NewReader(cold, ix)
	if err != nil {
		return nil, err
	}
	return &coldLog{Reader: r, x: x, name: name}, nil
}

// coldLog is an archived log as the beginning of a plain one. The store that it reads from stays open.
type coldLog struct {
	*archive.Reader
	x    *Session
	name string
}

func (c *coldLog) Close() error { return nil }

// ReadAt reads archived bytes. Damage is never given as bytes.
func (c *coldLog) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.Reader.ReadAt(p, off)
	c.x.tellDamage(c.name, off, err)
	return n, err
}

// tellDamage says by an event, once, that a log's archived bytes are damaged, when that is what err says.
func (x *Session) tellDamage(name string, off int64, err error) {
	var rule *Error
	damaged := errors.Is(err, chunkstore.ErrCorrupt) || errors.Is(err, archive.ErrCorrupt) || errors.As(err, &rule) && rule.Kind == Damaged
	if !damaged || x.store.opt.ReadOnly || !x.damaged.CompareAndSwap(false, true) {
		return
	}
	// Who reads may hold the locks that this needs. It may be events.jsonl itself that is damaged: then nothing is told.
	x.store.later.Go(func() {
		_ = x.Event("ctxfs.store.corrupt", map[string]any{"log": name, "offset": off, "error": err.Error()})
	})
}

// coldStat gives the length of an archived log of the session at rel, and when it last grew. Only the head of the index
// is read.
func (s *Store) coldStat(rel, name string) (int64, time.Time, error) {
	index := path.Join(rel, ColdDir, name)
	head, err := s.dir.OpenFile(index, unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, time.Time{}, err
	}
	defer head.Close()
	size, err := archive.SizeOf(head)
	if err != nil {
		return 0, time.Time{}, err
	}
	tail, err := s.dir.Stat(coldTail(index, size))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, time.Time{}, err
	}
	if tail.Size > 0 {
		return size + tail.Size, timeOf(tail.Mtim), nil
	}
	st, err := s.dir.Stat(index) // it has the time of the plain file that it stands for
	return size, timeOf(st.Mtim), err
}
