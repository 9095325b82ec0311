package fsnode

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// What one user may have of the daemon at a time. Root has no limit.
const (
	// maxHeld is how many bytes the daemon keeps in memory for the open files of a user: packs and other generated
	// files as they were opened, control files that are being written, unfinished lines. 256 MiB.
	maxHeld = 256 << 20
	// openShare is the part of the daemon's file descriptors that a user's open files may take: a quarter.
	openShare = 4
	// itemBytes is about what a name of a folder that is being read takes.
	itemBytes = 64
)

// quotas holds each user to what one may have, so that others find the daemon with memory, descriptors and time left.
type quotas struct {
	maxOpen int

	mu   sync.Mutex // protects what is below; a leaf
	held map[uint32]*holding
}

// holding is what a user has now.
type holding struct {
	open   int
	bytes  int64
	builds chan struct{} // a slot for each build that is going on
	users  int           // that wait for a slot or have one
}

// newQuotas asks how many files the daemon may have open.
func newQuotas() *quotas {
	q := &quotas{maxOpen: 4096, held: map[uint32]*holding{}}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil {
		q.maxOpen = int(min(limit.Cur, 1<<20)) / openShare
	}
	return q
}

// of gives a user's holding; mu is held.
func (q *quotas) of(uid uint32) *holding {
	h := q.held[uid]
	if h == nil {
		h = &holding{builds: make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))}
		q.held[uid] = h
	}
	return h
}

// settle forgets a user who has nothing; mu is held.
func (q *quotas) settle(uid uint32, h *holding) {
	if h.open == 0 && h.users == 0 {
		delete(q.held, uid)
	}
}

// open counts an open file with so many bytes: EMFILE when the user has too many, ENOBUFS when they would hold too much.
// One file is always allowed, however large.
func (q *quotas) open(uid uint32, bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.of(uid)
	if uid != 0 && h.open >= q.maxOpen {
		return unix.EMFILE
	}
	if uid != 0 && h.bytes > 0 && h.bytes+bytes > maxHeld {
		q.settle(uid, h)
		return unix.ENOBUFS
	}
	h.open++
	h.bytes += bytes
	return nil
}

// restore counts a file that was open before this process: it stays open.
func (q *quotas) restore(uid uint32, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.of(uid)
	h.open++
	h.bytes += bytes
}

// grow counts more bytes of an open file, or fewer. What the user cannot have is ENOBUFS.
func (q *quotas) grow(uid uint32, bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.of(uid)
	if uid != 0 && bytes > 0 && h.bytes+bytes > maxHeld {
		return unix.ENOBUFS
	}
	h.bytes += bytes
	return nil
}

// close takes an open file back.
func (q *quotas) close(uid uint32, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.of(uid)
	h.open--
	h.bytes -= bytes
	q.settle(uid, h)
}

// build waits for its turn to compute a generated file for a user, and gives the function that ends it. A user who asks
// for thousands of packs at a time gets them a few at a time, and others share the processors with those few.
func (q *quotas) build(uid uint32) (done func()) {
	q.mu.Lock()
	h := q.of(uid)
	h.users++
	q.mu.Unlock()
	h.builds <- struct{}{}
	return func() {
		<-h.builds
		q.mu.Lock()
		defer q.mu.Unlock()
		h.users--
		q.settle(uid, h)
	}
}
