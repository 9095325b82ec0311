package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"sync/atomic"
	"syscall"
	"time"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/beneath"
	"ctxfs/internal/chunkstore"
	"ctxfs/internal/context/redact"
	"ctxfs/internal/context/token"
	"ctxfs/internal/flock"

	"golang.org/x/sys/unix"
)

// DefaultBudget is the budget of a pack where neither the session nor the mount names one, in tokens.
const DefaultBudget = 32000

// DefaultMemory is the room for one user's temporary sessions, in bytes: 256 MiB.
const DefaultMemory = 256 << 20

// Options of a store.
type Options struct {
	Budget    int              // default budget of a pack in tokens; 0: DefaultBudget
	Tokenizer string           // "": token.Default
	Version   string           // of the program, for records that name their producer
	ReadOnly  bool             // do not lock, do not create: for commands that only look
	Now       func() time.Time // nil: time.Now

	Space Space // what one owner may take of the disk

	MemoryBytes int64 // room for one user's temporary sessions; 0: DefaultMemory

	Lock *os.File // the store's lock, as LockFile gives it, when this process was handed it; nil: it is taken
	Root *os.File // the store's folder, as RootFile returns it, when this process was handed it; nil: it is opened by its path
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	dir    *beneath.Dir
	path   string
	lock   *os.File
	opt    Options
	enc    func() (*token.Encoding, error) // the tokenizer, made at first use: it takes longer than all else that opens a store
	redact func() (*redact.Rules, error)   // ctxfs's own rules for secrets, made at first use
	chown  bool                            // runs as root: files are given to their owner
	Stats  *Stats

	// Changed, when set before use, is told of each file of a session that changed other than by a write of the
	// kernel's: name is relative to the session ("events.jsonl").
	Changed func(s *Session, name string)
	// Stale, when set before use, is told of the first change of a session after each Given.
	Stale func(s *Session)

	// Unflushed remembers of which logs a flush failed. Replaced before use, it does so beyond the end of the process.
	Unflushed appendlog.Unflushed

	// Unnamed, when set, gives the bytes on disk of an owner's ("home/1000") files that are open and have no name.
	Unnamed func(owner string) int64
	// AllGiven, set before use, tells that of each session somebody may keep what another process told.
	AllGiven bool
	// Unfinished, when set, tells that the torn end of a log is of a write that will be made again: it is cut off, and not
	// kept. To be set while nobody else uses the store.
	Unfinished func(s *Session, log string) bool
	// Ended, when set before use, is told of each temporary session that ended, with the name that it had.
	Ended func(c *Container, name string)

	memory   *memory // of a store of temporary sessions
	memMu    sync.Mutex
	memories map[uint32]*Store // by user; memMu protects it, and is a leaf but for their mu

	closing atomic.Bool    // what reads much stops
	later   sync.WaitGroup // what cannot be done under the locks of who asks for it; Close waits

	space *space // nil: no limit

	coldMu sync.Mutex                   // protects colds; a leaf
	colds  map[string]*chunkstore.Store // by owner, open to read archived logs

	mu       sync.Mutex // protects what is below; a session's mu may not be taken under it
	sessions map[string]*Session
	agents   map[string]*Container
	encs     map[string]*token.Encoding // tokenizers other than enc that sessions asked for
	ready    *ready                     // sessions that keep what was made of them
	count    int64                      // sessions in the store; -1 until counted
}

// StateDir is the folder, in a store and in each owner's part of it, of what is not a session.
const StateDir = ".ctxfs"

// Open opens the store at dir, making it when it is not there, and takes its lock. When another process holds the
// lock, the error's Kind is Locked.
func Open(dir string, opt Options) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	if !slices.Contains(token.Names(), opt.Tokenizer) {
		_, err := token.New(opt.Tokenizer)
		return nil, err
	}
	enc := sync.OnceValues(func() (*token.Encoding, error) { return token.New(opt.Tokenizer) })
	s := &Store{path: abs, opt: opt, enc: enc, redact: sync.OnceValues(redact.Default), chown: os.Geteuid() == 0, Stats: &Stats{}, memories: map[uint32]*Store{}, ready: newReady(),
		sessions: map[string]*Session{}, agents: map[string]*Container{}, encs: map[string]*token.Encoding{}, colds: map[string]*chunkstore.Store{}, count: -1, Unflushed: &unflushed{sizes: map[fileID]int64{}}}
	if err := s.open(); err != nil {
		if s.dir != nil {
			_ = s.dir.Close()
		}
		return nil, fmt.Errorf("store %s: %w", abs, err)
	}
	s.space = newSpace(opt.Space, s)
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if o.Tokenizer == "" {
		o.Tokenizer = token.Default
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = DefaultMemory
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// openRoot opens the store's folder. One that was handed over is the store wherever it is now: another folder at its path
// is another store.
func (s *Store) openRoot() (err error) {
	if s.opt.Root != nil {
		s.dir = beneath.At(s.opt.Root)
		return nil
	}
	if !s.opt.ReadOnly {
		if err := os.MkdirAll(s.path, os.FileMode(storeMode(s.chown))); err != nil {
			return err
		}
	}
	s.dir, err = beneath.Open(s.path)
	return err
}

// RootFile opens the store's folder once more: whoever has it can open the store, although it was moved.
func (s *Store) RootFile() (*os.File, error) {
	return s.dir.OpenFile(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// Moved reports whether the store's path leads elsewhere: the store was moved, or its file system was unmounted there.
func (s *Store) Moved() bool {
	there, err := os.Stat(s.path)
	if err != nil {
		return true
	}
	st, err := s.dir.Stat(".")
	sys, ok := there.Sys().(*syscall.Stat_t)
	return err == nil && ok && (sys.Dev != st.Dev || sys.Ino != st.Ino)
}

func (s *Store) open() error {
	if err := s.openRoot(); err != nil {
		return err
	}
	if s.chown {
		s.dir.SetGuard(own)
	}
	if s.opt.ReadOnly {
		return nil
	}
	for _, d := range []string{StateDir, "home", "shared", "agent", "model"} {
		if err := s.dir.MkdirAll(d, storeMode(s.chown && d == "home"), beneath.Owner{}, nil); err != nil {
			return err
		}
		if err := s.shut(d); err != nil {
			return err
		}
	}
	return s.takeLock()
}

// shut keeps users out of what is not their home: where several may write, one could take the place of another's file, or
// history away. An older ctxfs let them in.
func (s *Store) shut(dir string) error {
	if !s.chown || dir == "home" {
		return nil
	}
	st, err := s.dir.Stat(dir)
	if err != nil || st.Mode&0o077 == 0 {
		return err
	}
	return s.dir.Chmod(dir, st.Mode&0o700)
}

// storeMode lets users pass through a system's store to their own home in it, and nobody into a user's own store.
func storeMode(system bool) uint32 {
	if system {
		return 0o711
	}
	return 0o700
}

// LockFile is the file whose lock the store holds: whoever has it too holds the lock beyond this process's end.
func (s *Store) LockFile() *os.File { return s.lock }

func (s *Store) takeLock() error {
	if s.opt.Lock != nil {
		s.lock = s.opt.Lock
		return nil
	}
	f, err := s.dir.OpenFile(path.Join(StateDir, "lock"), unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if err := flock.Take(f); err != nil {
		f.Close()
		if held := (*flock.Held)(nil); errors.As(err, &held) {
			return &Error{Kind: Locked, Msg: "another ctxfs holds this store" + held.By(), Hint: "work through its mount, or end it with: ctxfs umount MOUNTPOINT"}
		}
		return err
	}
	s.lock = f
	return nil
}

// Close closes all logs and gives the lock back.
func (s *Store) Close() error {
	s.closing.Store(true)
	err := s.closeMemories()
	s.later.Wait()
	s.mu.Lock()
	sessions := s.sessions
	s.sessions, s.ready = map[string]*Session{}, newReady()
	s.mu.Unlock()
	for _, x := range sessions {
		x.shut()
	}
	err = errors.Join(err, s.closeColds())
	if s.memory != nil {
		return errors.Join(err, s.memory.dir.Close())
	}
	err = errors.Join(err, s.dir.Close())
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// Path is the store's directory on the host.
func (s *Store) Path() string { return s.path }

// Dir is the store's directory, to work beneath.
func (s *Store) Dir() *beneath.Dir { return s.dir }

// Budget is the default budget of a pack, in tokens.
func (s *Store) Budget() int { return s.opt.Budget }

// Tokens counts text with the store's tokenizer.
func (s *Store) Tokens(text []byte) (int, error) {
	enc, err := s.enc()
	if err != nil {
		return 0, err
	}
	return enc.CountBytes(text), nil
}

// Tokenizer is the name of the store's tokenizer.
func (s *Store) Tokenizer() string { return s.opt.Tokenizer }

// System tells whether the store is one of many users: the daemon runs as root, and files are given to their owners.
func (s *Store) System() bool { return s.chown }

// Self is the uid that the daemon runs as.
func (s *Store) Self() uint32 { return uint32(os.Geteuid()) }

// has tells whether rel is there. Its error says that nobody knows: what is done for a file that is not there, or for one that
// is, must not be done then.
func (s *Store) has(rel string) (bool, error) {
	_, err := s.dir.Stat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// exists tells whether rel may be there, to those for whom nothing hangs on it: what cannot be looked at is.
func (s *Store) exists(rel string) bool {
	there, err := s.has(rel)
	return there || err != nil
}
