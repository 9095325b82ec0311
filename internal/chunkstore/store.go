package chunkstore

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
	"lukechampine.com/blake3"
)

// Names of a store's files. After a prefix come 16 hex digits.
const (
	packPrefix = "pack-" // and the pack's number
	tailPrefix = "tail-" // and the first address
	partPrefix = "part-" // and the first address
	gonePrefix = "gone-" // and the number of the pack that replaces others
	badPrefix  = "damaged-"
	lockName   = "lock"
	formatName = "format"
)

const formatLine = "ctxfs chunk store 1\n"

// Options say how a store is used. The zero value is for an ordinary writer.
type Options struct {
	ReadOnly bool
	Owner    beneath.Owner
	// Level compresses frames when they are sealed; zero is zstd.SpeedBetterCompression, three to five times as fast as
	// what a collection uses (see Live.Compress), which leaves 6 % less.
	Level zstd.EncoderLevel
	// CacheBytes bounds the frames kept decompressed for reads; zero is 64 MiB. It fills when cold bytes are read.
	CacheBytes int
	// LockWait is how long a call waits for another writer; then it is EBUSY. Zero is 20 seconds.
	LockWait time.Duration
	// Moving is called before files go whose bytes are in others now, and done after it. Its error lets them stand: they are no harm, and
	// go the next time. Nil: they always may go.
	Moving func() (done func(), err error)
	// Tuning is for measurements; zeros are what is best.
	Tuning Tuning
	// Now is the clock for the age of blobs; nil is time.Now.
	Now func() time.Time
}

// Tuning has sizes in bytes. A store can be written with several, one after another.
type Tuning struct {
	Frame int // at most 2*FrameSize
	// What a match must bring: in the frame that is being filled, in others, after a change that kept the length.
	MinNear, MinFar, MinNext int
}

func (t *Tuning) fill() {
	for _, x := range []struct {
		at  *int
		def int
	}{{&t.Frame, FrameSize}, {&t.MinNear, minNear}, {&t.MinFar, minFar}, {&t.MinNext, minNext}} {
		if *x.at == 0 {
			*x.at = x.def
		}
	}
	t.Frame = min(t.Frame, 2*FrameSize)
	t.MinNext = max(t.MinNext, 8)
}

// Store is one owner's store. It is safe for concurrent use, and several may be open on one folder.
type Store struct {
	dir   *beneath.Dir
	opt   Options
	dec   *zstd.Decoder
	cache *cache
	id    string
	flush func(f *os.File) error // fdatasync(2)

	// queue orders the writers of this process that wait for the lock file; own is held while this process has it.
	// mu guards what follows; readers hold it for a lookup, never for a read of a file.
	queue, own sync.Mutex
	mu         sync.RWMutex
	lock       *os.File
	packs      []*pack    // by name
	pending    []*pending // by base
	space      space
	blobs      map[cas.ID]*blob
	next       int64    // lowest address that was never used
	writer     *matcher // nil until the first write
	stale      bool     // a write failed half way: look at the disk again
}

// Open opens the store in the folder rel below root. A writer makes the folder when it is missing; for a reader that
// is fs.ErrNotExist.
func Open(root *beneath.Dir, rel string, opt Options) (*Store, error) {
	if opt.Level == 0 {
		opt.Level = zstd.SpeedBetterCompression
	}
	if opt.CacheBytes == 0 {
		opt.CacheBytes = 64 << 20
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.Tuning.fill()
	if !opt.ReadOnly {
		if err := root.MkdirAll(rel, 0o700, opt.Owner, func(made string) error { return root.Sync(path.Dir(made)) }); err != nil {
			return nil, fmt.Errorf("chunk store: %w", err)
		}
	}
	dir, err := root.Sub(rel)
	if err != nil {
		return nil, fmt.Errorf("chunk store: %w", err)
	}
	s := &Store{dir: dir, opt: opt, cache: newCache(opt.CacheBytes), blobs: map[cas.ID]*blob{}, flush: fdatasync}
	if err := s.start(); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("chunk store: %w", err)
	}
	return s, nil
}

func (s *Store) start() (err error) {
	if s.dec, err = newDecoder(); err != nil {
		return err
	}
	if s.opt.ReadOnly {
		err := s.readFormat()
		if errors.Is(err, fs.ErrNotExist) && s.unused() {
			return fmt.Errorf("%w: %w", ErrEmpty, err)
		}
		if err != nil {
			return err
		}
		return s.refresh()
	}
	if err := s.takeLock(); err != nil {
		return err
	}
	return s.update(func() error { return nil })
}

// takeLock opens the file that writers lock, and makes it when it is missing.
func (s *Store) takeLock() (err error) {
	const flags = unix.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK
	if s.lock, err = s.dir.OpenFile(lockName, flags, 0); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.dir.NewFile(lockName, 0o600, s.opt.Owner); err != nil {
		return err
	}
	s.lock, err = s.dir.OpenFile(lockName, flags, 0)
	return err
}

// Close ends the use of s. Nobody may be in another call.
func (s *Store) Close() error {
	var errs []error
	for _, p := range s.packs {
		errs = append(errs, p.f.Close())
	}
	for _, p := range s.pending {
		errs = append(errs, p.close())
	}
	if s.dec != nil {
		s.dec.Close()
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(append(errs, s.dir.Close())...)
}

// unused tells that the folder holds nothing of a store but its lock: the format is always written before anything else.
func (s *Store) unused() bool {
	entries, err := s.dir.ReadDir(".")
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() != lockName && !strings.HasPrefix(e.Name(), beneath.TempPrefix)
	})
}

// ID names this store. An archive says which store its addresses are of.
func (s *Store) ID() string { return s.id }

func (s *Store) readFormat() error {
	data, err := s.dir.ReadFile(formatName, 4096)
	if err != nil {
		return err
	}
	if rest, ok := strings.CutPrefix(string(data), formatLine+"id "); ok && len(rest) > 32 && string(data) == formatText(rest[:32]) {
		s.id = rest[:32]
		return nil
	}
	var v int
	if n, _ := fmt.Sscanf(string(data), "ctxfs chunk store %d\n", &v); n == 1 && v > version {
		return fmt.Errorf("%w: %s", ErrFormat, formatName)
	}
	return nil // it is damaged; all that matters stands in the packs too
}

// format makes the file that names the format and the store, unless it is there. The lock is held.
func (s *Store) format() error {
	if s.id != "" {
		return nil
	}
	err := s.readFormat()
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	if err := s.dir.WriteFile(formatName, []byte(formatText(hex.EncodeToString(b[:]))), 0o600, s.opt.Owner); err != nil {
		return err
	}
	return s.readFormat()
}

// formatText is what the file that names the store says, with a checksum.
func formatText(id string) string {
	text := formatLine + "id " + id + "\n"
	return text + fmt.Sprintf("blake3 %x\n", blake3.Sum256([]byte(text)))
}

// update runs fn as the only writer of all processes, on the newest state.
func (s *Store) update(fn func() error) error {
	if s.opt.ReadOnly {
		return ErrReadOnly
	}
	s.queue.Lock()
	defer s.queue.Unlock()
	if err := waitLock(s.lock, cmp.Or(s.opt.LockWait, lockWait)); err != nil {
		return err
	}
	defer func() { _ = flock(s.lock, unix.LOCK_UN) }() // cannot fail on an open file
	s.own.Lock()
	defer s.own.Unlock()
	if err := s.format(); err != nil {
		return err
	}
	if err := s.refresh(); err != nil {
		return err
	}
	err := s.tidy()
	if err == nil {
		err = fn()
	}
	if err != nil {
		s.stale = true
		_ = s.refresh() // else the next call does it: readers are not to see what did not reach the disk
	}
	return err
}

// waitLock takes the writer's lock. The owner of the store can open the lock's file too, and hold it for ever: then it is
// EBUSY after a while, since who waits may be root's gc, or a daemon that serves others.
func waitLock(f *os.File, patience time.Duration) error {
	until := time.Now().Add(patience)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
		if err == unix.EWOULDBLOCK && time.Now().Before(until) {
			time.Sleep(wait)
			continue
		}
		if err == unix.EWOULDBLOCK {
			err = unix.EBUSY
		}
		return wrapLock(err)
	}
}

func wrapLock(err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: "lock", Path: lockName, Err: err}
}

func fdatasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// lockWait is how long a writer waits for another: an archive of a gigabyte takes less.
const lockWait = 20 * time.Second

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

// look refreshes what a reader knows. A writer of this process that is at work knows the newest state already; another
// reader that looks is waited for.
func (s *Store) look() error {
	if s.opt.ReadOnly {
		s.own.Lock()
	} else if !s.own.TryLock() {
		return nil
	}
	defer s.own.Unlock()
	return s.refresh()
}

// openFile opens a file of the store, never a link or something that a read could wait for.
func (s *Store) openFile(name string, flags int) (*os.File, error) {
	return s.dir.OpenFile(name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}
