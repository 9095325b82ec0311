package fsnode

import (
	"sync/atomic"

	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Figures are what a mount has and did, of all users together.
type Figures struct {
	Workers      uint64 // processes that have served it
	OpenFiles    int    // and folders
	OpenSessions int    // sessions of which a log is open
	HeldBytes    int64  // in memory, for what is open
	Connections  int    // to sockets
	Passthrough  bool   // readers of logs go past the daemon
	Operations   []Operation
}

// Operation is a kind of request of the kernel's, of which there was one at least.
type Operation struct {
	Name     string // as FUSE names it, in small letters: write
	Requests uint64
	Errors   map[string]uint64 // by name of the errno: ENOENT
}

// Figures gives the figures as they are now.
func (f *FS) Figures() Figures {
	g := Figures{Workers: f.workers(), HeldBytes: f.handles.quotas.sum(), Passthrough: f.readPast(), Operations: f.asked.operations()}
	g.OpenFiles, g.OpenSessions = f.handles.inUse()
	if f.opt.Sockets != nil {
		g.Connections = f.opt.Sockets.Conns()
	}
	return g
}

// inUse counts open files, and the sessions whose logs are among them.
func (hs *handles) inUse() (files, sessions int) {
	hs.mu.RLock()
	defer hs.mu.RUnlock()
	of := map[*session.Session]bool{}
	for _, h := range hs.open {
		if h.sess != nil {
			of[h.sess] = true
		}
	}
	return len(hs.open), len(of)
}

// sum is what all users hold, in bytes.
func (q *quotas) sum() (n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, h := range q.held {
		n += h.bytes
	}
	return n
}

const (
	maxOp    = 64  // over those of linux/fuse.h
	maxErrno = 134 // over those of Linux
)

// asked counts requests by operation, and those that failed by errno. What is over the bounds counts as 0.
type asked struct {
	requests [maxOp]atomic.Uint64
	errors   [maxOp][maxErrno]atomic.Uint64
}

// count counts a request.
func (a *asked) count(op uint32) { a.requests[bounded(op, maxOp)].Add(1) }

// failed counts one that is answered with an error.
func (a *asked) failed(op uint32, errno fuse.Status) {
	a.errors[bounded(op, maxOp)][bounded(uint32(errno), maxErrno)].Add(1)
}

func bounded(n, under uint32) uint32 {
	if n < under {
		return n
	}
	return 0
}

// operations gives what was counted, in the order of their numbers.
func (a *asked) operations() (list []Operation) {
	for op := range a.requests {
		o := Operation{Name: opName(uint32(op)), Requests: a.requests[op].Load(), Errors: map[string]uint64{}}
		if o.Requests == 0 {
			continue
		}
		for no := range a.errors[op] {
			if n := a.errors[op][no].Load(); n > 0 {
				o.Errors[errnoName(no)] += n
			}
		}
		list = append(list, o)
	}
	return list
}

func errnoName(no int) string {
	if name := unix.ErrnoName(unix.Errno(no)); name != "" {
		return name
	}
	return "other"
}

// opName is the name of an operation (enum fuse_opcode of linux/fuse.h).
func opName(op uint32) string {
	names := [...]string{1: "lookup", 2: "forget", 3: "getattr", 4: "setattr", 5: "readlink", 6: "symlink", 8: "mknod", 9: "mkdir", 10: "unlink",
		11: "rmdir", 12: "rename", 13: "link", 14: "open", 15: "read", 16: "write", 17: "statfs", 18: "release", 20: "fsync", 21: "setxattr",
		22: "getxattr", 23: "listxattr", 24: "removexattr", 25: "flush", 26: "init", 27: "opendir", 28: "readdir", 29: "releasedir", 30: "fsyncdir",
		31: "getlk", 32: "setlk", 33: "setlkw", 34: "access", 35: "create", 36: "interrupt", 37: "bmap", 38: "destroy", 39: "ioctl", 40: "poll",
		41: "notify_reply", 42: "batch_forget", 43: "fallocate", 44: "readdirplus", 45: "rename2", 46: "lseek", 47: "copy_file_range",
		48: "setupmapping", 49: "removemapping", 50: "syncfs", 51: "tmpfile", 52: "statx"}
	if int(op) < len(names) && names[op] != "" {
		return names[op]
	}
	return "other"
}
