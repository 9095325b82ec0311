package fsnode

import (
	"os"
	"sync"
	"sync/atomic"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/beneath"
	"ctxfs/internal/keep"
	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// handle is an open file or folder.
type handle struct {
	node  node
	uid   uint32       // who opened it
	held  int64        // bytes that count as the user's; what changes them holds mu
	items []item       // a folder as it was when it was last read from its beginning
	dir   *beneath.Dir // of sessions: their folder in the store

	// A generated or control file: the bytes that this open file shows. A control file that is open for writing
	// changes them; mu protects that.
	mu     sync.Mutex
	data   []byte
	write  bool
	dirty  bool // data is to become the file's content
	add    bool // O_APPEND on a control file: what is written is added, line by line
	failed bool // the last commit was refused; its error was given

	shown *shown // of a generated file: what the kernel reads

	file   *os.File    // a plain file, or this program
	orphan atomic.Bool // the file is kept, since no name leads to it
	owner  uint32      // the plain file's

	log      *appendlog.Log
	sess     *session.Session
	writers  map[uint64]*logWriter // by lock owner; mu protects them
	backed   bool                  // counts among the users of the log's backing
	unsynced bool                  // something was written since the last sync at a close; mu protects it
	direct   bool                  // and is open for reading and writing, or beside who is
	read     bool                  // and reads it through the daemon

	slot    *keep.Handle // nil: not kept for the next process
	request uint64       // the one that changes the control file now
}

// plainHandle is that of a plain file, which it takes over.
func plainHandle(n node, file *os.File, write bool) (*handle, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		file.Close()
		return nil, err
	}
	return &handle{node: n, file: file, owner: st.Uid, write: write}, nil
}

// endedAttr is for an open log of a temporary session that has ended: as the file has it, which is in no folder any more.
func (h *handle) endedAttr(a *fuse.Attr) error {
	var st unix.Stat_t
	file := h.log.File()
	if file == nil {
		return unix.ESTALE
	}
	err := unix.Fstat(int(file.Fd()), &st)
	ino := a.Ino
	fromStat(a, &st)
	a.Ino = ino
	setSize(a, h.log.Size())
	return err
}

// handles numbers what is open.
type handles struct {
	quotas *quotas
	region *keep.Region // gives the numbers; nil: next does

	mu   sync.RWMutex // protects what is below; nothing is locked under it
	next uint64
	open map[uint64]*handle
}

func newHandles() *handles { return &handles{quotas: newQuotas(), next: 1, open: map[uint64]*handle{}} }

// add numbers a new handle of the user's. What the user may not have is an error.
func (hs *handles) add(uid uint32, h *handle) (uint64, error) {
	h.uid, h.held = uid, int64(len(h.data)+itemBytes*len(h.items))
	if err := hs.quotas.open(uid, h.held); err != nil {
		return 0, err
	}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	fh := hs.next
	if hs.next++; hs.region != nil {
		fh = hs.region.NextFh()
	}
	hs.open[fh] = h
	return fh, nil
}

// hold says how many bytes an open file holds from now on; h's lock is taken. What the user may not have is an error, and
// changes nothing.
func (hs *handles) hold(h *handle, bytes int64) error {
	err := hs.quotas.grow(h.uid, bytes-h.held)
	if err == nil {
		h.held = bytes
	}
	return err
}

func (hs *handles) get(fh uint64) *handle {
	hs.mu.RLock()
	defer hs.mu.RUnlock()
	return hs.open[fh]
}

func (hs *handles) remove(fh uint64) *handle {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.open[fh]
	delete(hs.open, fh)
	return h
}

// closed gives back what a removed handle held.
func (hs *handles) closed(h *handle) {
	h.mu.Lock()
	held := h.held
	h.held = 0
	h.mu.Unlock()
	hs.quotas.close(h.uid, held)
}

func (hs *handles) count() int {
	hs.mu.RLock()
	defer hs.mu.RUnlock()
	return len(hs.open)
}
