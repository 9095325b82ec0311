package keep

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// States of a request.
const (
	reqNone uint32 = iota
	reqBegun
	reqDone
)

// Resent is the bit of a request's number that says that the kernel sends it again (linux/fuse.h, FUSE_UNIQUE_RESEND).
const Resent = 1 << 63

// request notes one that must not be carried out twice.
type request struct {
	unique atomic.Uint64
	state  atomic.Uint32
	errno  int32
	since  int64 // when it was begun, by the clock of file systems, in nanoseconds since the epoch; 0: by a ctxfs that did not note it
}

// ring holds the last ones. A number takes the place of one that is ringSlots older, which was answered long ago.
func (r *Region) request(unique uint64) *request {
	i := int(unique>>1) & (ringSlots - 1) // the kernel counts by two
	return (*request)(unsafe.Pointer(&r.mem[ringAt+i*ringSize]))
}

// Begin notes that a request is being carried out. Of one that was sent again, begun tells that a process before began it,
// and done that it was carried out, with errno.
func (r *Region) Begin(unique uint64) (begun, done bool, errno int32) {
	q := r.request(unique &^ Resent)
	if unique&Resent != 0 && q.unique.Load() == unique&^Resent {
		return true, q.state.Load() == reqDone, q.errno
	}
	q.state.Store(reqNone)
	q.since = coarse()
	q.unique.Store(unique &^ Resent)
	q.state.Store(reqBegun)
	return false, false, 0
}

// Begun tells that a request was sent again, and that a process before this one began it.
func (r *Region) Begun(unique uint64) bool {
	return unique&Resent != 0 && r.request(unique&^Resent).unique.Load() == unique&^Resent
}

// Since tells when a request was begun: what it made is not older. Zero: nobody knows.
func (r *Region) Since(unique uint64) time.Time {
	q := r.request(unique &^ Resent)
	if q.unique.Load() != unique&^Resent || q.since == 0 {
		return time.Time{}
	}
	return time.Unix(0, q.since)
}

// coarse is the time as file systems take it for new files, which is behind time.Now by up to a tick.
func coarse() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &t) // never fails
	return t.Nano()
}

// End notes that a request was carried out.
func (r *Region) End(unique uint64, errno int32) {
	q := r.request(unique &^ Resent)
	if q.unique.Load() != unique&^Resent {
		return // it took so long that its place was taken
	}
	q.errno = errno
	q.state.Store(reqDone)
}
