package fsnode

import (
	"errors"
	"net"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Sockets serves the sockets of the tree, agent/<name>.sock and model/<name>.sock.
type Sockets interface {
	// Serve takes connections until the listener is closed.
	Serve(l *net.UnixListener, model bool, name string)
	// Conns is the number of connections.
	Conns() int
	// Drop ends all connections that there are.
	Drop()
}

// A socket is bound when its name is looked up, and closed again when nobody looked for a while: connections stay, and
// the next lookup binds a new one. The kernel connects by inode, so a socket that the daemon binds under one name, in a
// folder that only it finds, is connected to under another, in agent/ or model/.
//
// A bound socket keeps the mount busy, as an open file does; idleSocket is how long after its last lookup.
const (
	socketsName = ".ctxfs-sockets" // below the root
	idleSocket  = time.Second
	maxSockets  = 1024            // bound at a time
	quietFor    = 3 * time.Second // after Quiet: long enough to unmount
)

// sockets are those that are bound now.
type sockets struct {
	fs     *FS
	binder atomic.Uint32 // thread id of the one bind(2) that is going on

	mu    sync.Mutex // held over a bind. The requests that a bind causes do not take it
	bound map[socketKey]*bound
	count int
	until time.Time // nothing is bound before
	sweep *time.Timer
}

type socketKey struct {
	model bool
	name  string
}

type bound struct {
	id     uint64 // node
	l      *net.UnixListener
	looked time.Time
}

func newSockets(fs *FS) *sockets { return &sockets{fs: fs, bound: map[socketKey]*bound{}} }

// findSocket is the part of Lookup that is about sockets. ok tells that the name is one.
func (f *FS) findSocket(h *fuse.InHeader, name string) (id uint64, ok bool, err error) {
	switch kind(h.NodeId) {
	case kRoot:
		if name == socketsName && f.sockets.binding(h.Pid) {
			return uint64(kSockets), true, nil
		}
	case kSockets:
		return 0, true, unix.ENOENT // each bind takes a new name
	case kAgents, kModels:
		stem, is := strings.CutSuffix(name, ".sock")
		if !is || f.opt.Sockets == nil {
			return 0, false, nil
		}
		if !f.hasSocket(kind(h.NodeId), stem, caller(h)) {
			return 0, true, unix.ENOENT
		}
		id, err = f.sockets.get(socketKey{kind(h.NodeId) == kModels, stem})
		return id, true, err
	}
	return 0, false, nil
}

// hasSocket tells whether the caller finds a socket of that name: of an agent that is registered, by agent/<name>.d, or
// that is in the caller's own home.
func (f *FS) hasSocket(k kind, name string, by session.Caller) bool {
	if session.CheckName(name) != nil {
		return false
	}
	kinds := f.tree.specs[k].name
	dir := name
	if k == kModels {
		dir += ".d"
	}
	for _, rel := range []string{path.Join(kinds, name+".d"), path.Join("home", strconv.FormatUint(uint64(by.UID), 10), kinds, dir)} {
		if st, err := f.store.Dir().Stat(rel); err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return true
		}
	}
	return false
}

// listSockets lists the sockets that the caller finds in agent/ or model/.
func (f *FS) listSockets(n node, by session.Caller) []item {
	if n.kind != kAgents && n.kind != kModels || f.opt.Sockets == nil {
		return nil
	}
	kinds := f.tree.specs[n.kind].name
	var items []item
	seen := map[string]bool{}
	for _, rel := range []string{kinds, path.Join("home", strconv.FormatUint(uint64(by.UID), 10), kinds)} {
		entries, err := f.store.Dir().ReadDir(rel)
		if err != nil {
			continue // what is not there has no sockets
		}
		for _, e := range entries {
			name := e.Name()
			if rel == kinds || n.kind == kModels {
				name = strings.TrimSuffix(name, ".d")
			}
			if !seen[name] && f.hasSocket(n.kind, name, by) {
				seen[name] = true
				items = append(items, item{name: name + ".sock", mode: unix.S_IFSOCK})
			}
		}
	}
	return items
}

// get gives the node of a socket, bound now if it is not.
func (s *sockets) get(k socketKey) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bound[k]; b != nil {
		b.looked = time.Now()
		return b.id, nil
	}
	if time.Now().Before(s.until) || len(s.bound) >= maxSockets && !s.closeIdle(idleSocket/4) {
		return 0, unix.EAGAIN
	}
	s.count++
	name := k.name + "." + strconv.Itoa(s.count)
	l, err := s.bind(name)
	if err != nil {
		return 0, err
	}
	b := &bound{id: s.fs.table.id(kSocket, uint64(kSockets), name), l: l, looked: time.Now()}
	s.bound[k] = b
	go s.fs.opt.Sockets.Serve(l, k.model, k.name)
	if s.sweep == nil {
		s.sweep = time.AfterFunc(idleSocket, s.sweepIdle)
	}
	return b.id, nil
}

// closeIdle closes the sockets that nobody looked up for so long; mu is held.
func (s *sockets) closeIdle(idle time.Duration) bool {
	some := false
	for k, b := range s.bound {
		if time.Since(b.looked) >= idle {
			_ = b.l.Close() // nothing is buffered in it
			delete(s.bound, k)
			some = true
		}
	}
	return some
}

func (s *sockets) sweepIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeIdle(idleSocket)
	if s.sweep = nil; len(s.bound) > 0 {
		s.sweep = time.AfterFunc(idleSocket/4, s.sweepIdle)
	}
}

// Quiet ends all sockets and connections, and binds none for a moment, so that the mount can be taken away.
func (f *FS) Quiet() {
	s := f.sockets
	s.mu.Lock()
	s.until = time.Now().Add(quietFor)
	s.closeIdle(0)
	s.mu.Unlock()
	if f.opt.Sockets != nil {
		f.opt.Sockets.Drop()
	}
}

// binding tells whether the thread is the one that binds a socket just now.
func (s *sockets) binding(tid uint32) bool { return tid != 0 && s.binder.Load() == tid }

// binds tells whether a MKNOD is the daemon's own bind(2).
func (s *sockets) binds(in *fuse.MknodIn) bool {
	return kind(in.NodeId) == kSockets && in.Mode&unix.S_IFMT == unix.S_IFSOCK && s.binding(in.Pid)
}

// errNotOurs: the mountpoint leads elsewhere, since the mount was taken away or covered.
var errNotOurs = errors.New("the mountpoint leads to another file system")

// listenerOf makes a listener of a listening socket, which it takes over.
func listenerOf(fd int) (*net.UnixListener, error) {
	file := os.NewFile(uintptr(fd), "socket")
	defer file.Close()
	l, err := net.FileListener(file)
	if err != nil {
		return nil, err
	}
	u, ok := l.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(errNotOurs, l.Close())
	}
	u.SetUnlinkOnClose(false)
	return u, nil
}
