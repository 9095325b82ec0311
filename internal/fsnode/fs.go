package fsnode

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"ctxfs/internal/keep"
	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Options of a mount.
type Options struct {
	Mountpoint string
	AllowOther bool // users other than the daemon's may use the mount
	Version    string
	Program    string // where this program was started from
	Debug      bool
	Log        *slog.Logger // nil: what goes wrong in the protocol is not told
	// SyncOnClose has close(2) of a log return when what was written to it is on disk, as after fsync(2).
	SyncOnClose bool
	// ReadPast has readers of logs read the file behind, past the daemon, where the kernel can. While write(2) fills that file they
	// may see a part of a line.
	ReadPast   bool
	Sockets    Sockets // nil: no sockets
	Kept       Kept
	Supervisor int // descriptor of the socket to one; 0: none
}

// FS is the file system: every request of the kernel's is a method.
type FS struct {
	fuse.RawFileSystem

	store   *session.Store
	opt     Options
	tree    *tree
	table   *table
	handles *handles
	owners  sync.Map // *sync.RWMutex by number of an owner: see names

	asked    asked
	lastOnes lastOnes
	sockets  *sockets
	dev      atomic.Pointer[device] // nil before the mount
	started  time.Time

	region *keep.Region      // nil: what is open ends with this process
	opened map[uint64]uint64 // file handles by the request that opened them, of the process before this one

	privileged bool // file modes do not stand in the daemon's way

	backMu      sync.Mutex // protects backings and shown; nothing is locked under it
	backings    map[uint64]*backing
	shown       map[uint64]*shown
	passthrough atomic.Bool // the kernel can read files past the daemon
}

var _ fuse.RawFileSystem = (*FS)(nil)

// How long the kernel may keep what only changes through it. What ctxfs itself changes has no time at all, or the
// kernel is told.
const keepFor = time.Hour

// New makes the file system over a store.
func New(store *session.Store, opt Options) (*FS, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	nodes, err := openNodes(store.Dir())
	if err != nil {
		return nil, fmt.Errorf("node table: %w", err)
	}
	table, err := newTable(nodes)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("node table: %w", err), nodes.f.Close())
	}
	fs := &FS{RawFileSystem: fuse.NewDefaultRawFileSystem(), store: store, opt: opt, tree: newTree(), table: table,
		handles: newHandles(), started: time.Now(), backings: map[uint64]*backing{}, shown: map[uint64]*shown{}}
	fs.privileged = os.Geteuid() == 0
	fs.sockets = newSockets(fs)
	table.evict = fs.evict
	if err := fs.inherit(opt.Kept); err != nil {
		return nil, errors.Join(fmt.Errorf("what another process left: %w", err), nodes.f.Close())
	}
	store.Changed, store.Ended, store.Stale, store.Unnamed = fs.changed, fs.ended, fs.stale, fs.unnamed
	return fs, nil
}

// String is the name that mount(8) shows.
func (f *FS) String() string { return "ctxfs" }

// Forget takes back lookups. Ids of generated files found by name, of sockets, of temporary sessions, and of plain files that
// were removed, are forgotten: all others are computed.
func (f *FS) Forget(nodeid, nlookup uint64) {
	if kind(nodeid).counted() || inMemory(nodeid) {
		f.table.forget(nodeid>>8, nlookup)
	}
}

// evict asks the kernel to let a name go that it need not hold: it forgets the node unless that is open.
func (f *FS) evict(parent uint64, name string) {
	if dev := f.dev.Load(); dev != nil {
		_ = dev.entryNotify(parent, name) // ENOENT: it does not hold the name
	}
}

// changed tells the kernel that a session's file changed by the daemon's own hand.
func (f *FS) changed(x *session.Session, name string) {
	k, ok := f.tree.byName[kSession][name]
	if !ok || f.tree.specs[k].class != cLog || f.dev.Load() == nil {
		return // what is not a log is kept for no time
	}
	id, ok := f.sessionID(x)
	if !ok {
		return
	}
	// ENOENT only says that the kernel does not know the node.
	_ = f.dev.Load().inodeNotify(id&^0xff|uint64(k), 0, 0)
}

// node is a decoded node id.
type node struct {
	id   uint64
	kind kind
	num  uint64
	e    *entry // nil for what is fixed under the root
}

// node decodes an id that the kernel sent.
func (f *FS) node(id uint64) (node, error) {
	n := node{id: id, kind: kind(id), num: id >> 8}
	if n.num == 0 {
		return n, nil
	}
	if n.e = f.table.get(n.num); n.e == nil {
		return n, unix.ESTALE // it was a part of a temporary session, which has ended
	}
	if _, _, alias := f.table.where(n.e); alias != 0 {
		return f.node(alias)
	}
	return n, nil
}

// part gives the id of another part of what n is a part of.
func (n node) part(k kind) uint64 { return n.num<<8 | uint64(k) }

func (f *FS) class(n node) class { return f.tree.specs[n.kind].class }

// sessionID gives the node id of a session's directory, when it has one: of others the kernel knows nothing.
func (f *FS) sessionID(x *session.Session) (uint64, bool) {
	return f.table.known(f.sessionsID(x.Container()), x.Name())
}

// sessionsID gives the node id of the folder of a container's sessions.
func (f *FS) sessionsID(c *session.Container) uint64 {
	k := kSessions
	if c.Scope == session.Temp {
		k = kTemps
	}
	return f.containerID(c)&^0xff | uint64(k)
}

func (f *FS) containerID(c *session.Container) uint64 {
	base, kinds := path.Split(path.Dir(c.Rel)) // home/1000/ and agent
	scope, owner := path.Split(path.Clean(base))
	top := uint64(kHome)
	if scope == "shared/" {
		top = uint64(kShared)
	}
	ownerID := f.table.id(kOwner, top, owner)
	sub := kOwnerAgents
	if kinds == "model" {
		sub = kOwnerModels
	}
	return f.table.id(kContainer, ownerID&^0xff|uint64(sub), path.Base(c.Rel))
}
