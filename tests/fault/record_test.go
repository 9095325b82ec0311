//go:build linux && amd64

package fault

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"

	"ctxfs/tests/fault/ptrace"

	"golang.org/x/sys/unix"
)

// kind is what an operation does.
type kind int

const (
	opCreate kind = iota
	opMkdir
	opWrite
	opTruncate
	opRename
	opRemove
	opSync
)

// op is one operation on the store that was done. Paths are relative to the store; "" is the store.
type op struct {
	Kind  kind
	Path  string
	To    string // of a rename
	Off   int64  // of a write; -1: at the end
	Data  []byte
	Size  int64 // of a truncate
	Empty bool  // a create that cuts off what is there
	Since int   // of a sync: how many operations were done when it began
}

func (o op) String() string {
	name := []string{"create", "mkdir", "write", "truncate", "rename", "remove", "sync"}[o.Kind]
	switch o.Kind {
	case opWrite:
		return fmt.Sprintf("%s %s +%d at %d", name, o.Path, len(o.Data), o.Off)
	case opRename:
		return fmt.Sprintf("%s %s to %s", name, o.Path, o.To)
	case opTruncate:
		return fmt.Sprintf("%s %s to %d", name, o.Path, o.Size)
	}
	return name + " " + o.Path
}

// recorder writes down what is done to a store, in the order in which it was done.
type recorder struct {
	top string

	mu   sync.Mutex
	ops  []op
	open map[*ptrace.Call]op // begun, not done
	odd  []string            // what it does not understand
}

func newRecorder(top string) *recorder {
	return &recorder{top: top, open: map[*ptrace.Call]op{}}
}

// recorded lists the calls that change files.
func recorded() []string {
	return []string{"write", "pwrite64", "writev", "copy_file_range", "sendfile", "openat", "openat2", "fsync", "fdatasync", "ftruncate",
		"fallocate", "renameat", "renameat2", "linkat", "symlinkat", "unlinkat", "mkdirat"}
}

// done is how many operations there were until now.
func (r *recorder) done() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops)
}

// rel gives a path below the store.
func (r *recorder) rel(p string) string { return strings.TrimPrefix(strings.TrimPrefix(p, r.top), "/") }

// Enter is ptrace.Handler's.
func (r *recorder) Enter(c *ptrace.Call) ptrace.Verdict {
	if c.Gone || !below(c.Path, r.top) {
		return ptrace.Verdict{}
	}
	o, ok := r.begin(c)
	if !ok {
		return ptrace.Verdict{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Since = len(r.ops)
	r.open[c] = o
	return ptrace.Verdict{Watch: true}
}

// begin reads what a call is about to do.
func (r *recorder) begin(c *ptrace.Call) (op, bool) {
	o := op{Path: r.rel(c.Path), To: r.rel(c.To), Off: -1}
	switch c.Name {
	case "openat", "openat2":
		flags := c.Args[2]
		if c.Name == "openat2" {
			how := c.Memory(c.Args[2], 8)
			if len(how) < 8 {
				return o, false
			}
			flags = binary.LittleEndian.Uint64(how)
		}
		o.Kind, o.Empty = opCreate, flags&unix.O_TRUNC != 0
		return o, flags&unix.O_CREAT != 0 || o.Empty
	case "write", "pwrite64":
		o.Kind, o.Data = opWrite, c.Memory(c.Args[1], int(c.Size))
		if c.Name == "pwrite64" {
			o.Off = int64(c.Args[3])
		}
	case "ftruncate":
		o.Kind, o.Size = opTruncate, int64(c.Args[1])
	case "renameat", "renameat2":
		o.Kind = opRename
	case "unlinkat":
		o.Kind = opRemove
	case "mkdirat":
		o.Kind = opMkdir
	case "fsync", "fdatasync":
		o.Kind = opSync
	default:
		r.strange(c.Name + " of " + o.Path)
		return o, false
	}
	return o, true
}

func (r *recorder) strange(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.odd = append(r.odd, what)
}

// Exit is ptrace.Handler's.
func (r *recorder) Exit(c *ptrace.Call, ret int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.open[c]
	delete(r.open, c)
	if ret < 0 {
		return
	}
	if o.Kind == opWrite {
		if int64(len(o.Data)) < ret {
			r.odd = append(r.odd, fmt.Sprintf("%v of %d bytes: not all can be read", o, ret))
		}
		if o.Data = o.Data[:min(int64(len(o.Data)), ret)]; ret == 0 {
			return
		}
	}
	r.ops = append(r.ops, o)
}
