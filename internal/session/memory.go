package session

import (
	"ctxfs/internal/beneath"
	"errors"
	"path"
	"strings"
	"sync"

	"ctxfs/internal/chunkstore"
	"ctxfs/internal/context/token"
	"ctxfs/internal/memdir"

	"golang.org/x/sys/unix"
)

// memory is what a store of temporary sessions has beside that of other stores. It is one user's, below the store of
// the mount, which checks their cwd and counts for both.
type memory struct {
	base *Store
	dir  *memdir.Dir

	tree sync.RWMutex // held to read where a folder is made, and to write where a session is taken out
}

// OpenMemory gives the store of a user's temporary sessions, in memory, and makes it when there is none. It lasts until s
// is closed.
// It is a file system of its own, with room for MemoryBytes: who fills it, or opens files in it, is in nobody's way.
// A daemon that is not root's serves one user, and keeps a folder in a file system in memory that is there.
func (s *Store) OpenMemory(uid uint32) (*Store, error) {
	s.memMu.Lock()
	defer s.memMu.Unlock()
	if m := s.memories[uid]; m != nil {
		return m, nil
	}
	var dir *memdir.Dir
	var err error
	if s.chown {
		dir, err = memdir.Detached(memdir.Limits{Bytes: s.opt.MemoryBytes, Inodes: int(s.opt.MemoryBytes >> 14)})
	} else {
		dir, err = memdir.Folder(memdir.Places())
	}
	if errors.Is(err, memdir.ErrNone) {
		return nil, refuse(Unsupported, "there is no file system in memory for temporary sessions: %v", err)
	}
	if err != nil {
		return nil, err
	}
	if err := dir.MkdirAll(tempTrash, 0o700, beneath.Owner{}, nil); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	m := &Store{path: s.path, dir: dir.Dir, opt: s.opt, enc: s.enc, redact: s.redact, chown: s.chown, Stats: s.Stats, memory: &memory{base: s, dir: dir},
		sessions: map[string]*Session{}, agents: map[string]*Container{}, encs: map[string]*token.Encoding{}, colds: map[string]*chunkstore.Store{}}
	s.memories[uid] = m
	return m, nil
}

// Memory gives the store of a user's temporary sessions; nil when there is none.
func (s *Store) Memory(uid uint32) *Store {
	s.memMu.Lock()
	defer s.memMu.Unlock()
	return s.memories[uid]
}

// Temporary is the number of temporary sessions, of all users.
func (s *Store) Temporary() (n int64) {
	s.memMu.Lock()
	defer s.memMu.Unlock()
	for _, m := range s.memories {
		m.mu.Lock()
		n += m.count
		m.mu.Unlock()
	}
	return n
}

// SweepMemory removes what a daemon of this user left in memory when it was killed.
func SweepMemory() error { return memdir.Sweep(memdir.Places()) }

// closeMemories ends all temporary sessions.
func (s *Store) closeMemories() (err error) {
	s.memMu.Lock()
	defer s.memMu.Unlock()
	for _, m := range s.memories {
		err = errors.Join(err, m.Close())
	}
	s.memories = nil
	return err
}

// InMemory tells whether the store is one of temporary sessions.
func (s *Store) InMemory() bool { return s.memory != nil }

// host is the store that has the agents' roots, and keeps the queue of idle sessions.
func (s *Store) host() *Store {
	if s.memory != nil {
		return s.memory.base
	}
	return s
}

// tempSessionOf gives the path of the temporary session in which rel stands, and the folders above it alone.
func tempSessionOf(rel string) (string, bool) {
	parts := strings.SplitN(rel, "/", 7) // home/1000/agent/coder/temp/NAME/...
	if len(parts) < 6 {
		return "", false
	}
	return path.Join(parts[:6]...), true
}

// hasPlace tells whether a folder may be made in memory: above sessions, or in one that there is. It must not bring
// back one that has ended.
func (m *memory) hasPlace(rel string) error {
	at, in := tempSessionOf(rel)
	if !in {
		return nil
	}
	_, err := m.dir.Stat(at)
	return err
}

// End ends a temporary session: its files are gone. Files of it that are open still give what they have, and take
// nothing more.
func (x *Session) End() error {
	if x.store.memory == nil {
		return refuse(NotPermitted, "session %s is no temporary one", x.Name())
	}
	name, gone, err := x.takeOut()
	if err != nil {
		return err
	}
	if ended := x.store.memory.base.Ended; ended != nil {
		ended(x.c, name)
	}
	for range 10 { // whoever was on the way into one of its folders may still have made a file there
		if err = x.store.dir.RemoveAll(gone); !errors.Is(err, unix.ENOTEMPTY) {
			break
		}
	}
	return err
}

// tempTrash is where sessions go when they end. It is there from the start: a store that is full can be emptied.
const tempTrash = StateDir + "/" + Trash

// takeOut moves an ending session to where nobody looks, and gives the name that it had.
func (x *Session) takeOut() (name, gone string, err error) {
	defer x.still()()
	tree := &x.store.memory.tree
	tree.Lock()
	defer tree.Unlock()
	if x.over {
		return "", "", refuse(NotFound, "the temporary session has ended")
	}
	name, gone = x.Name(), path.Join(tempTrash, newID())
	if err := x.store.dir.Rename(x.rel(), gone, renameNoReplace); err != nil {
		return "", "", err
	}
	x.over = true
	x.store.removed(x)
	nowhere := ".ended-" + newID()
	x.name.Store(&nowhere)
	if x.refs == 0 {
		x.drop()
	}
	x.light()
	x.store.prune(x.c.SessionsRel())
	return name, gone, nil
}

// prune removes the folders above sessions that are empty now.
func (s *Store) prune(rel string) {
	for ; rel != "." && s.dir.Rmdir(rel) == nil; rel = path.Dir(rel) {
	}
}

// Over tells whether the session was a temporary one that has ended.
func (x *Session) Over() bool {
	x.logMu.Lock()
	defer x.logMu.Unlock()
	return x.over
}
