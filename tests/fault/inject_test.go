//go:build linux && amd64

package fault

import (
	"strings"
	"sync"
	"syscall"

	"ctxfs/tests/fault/ptrace"
)

// site is a place in the program that makes a system call.
type site struct {
	Call   string
	Frames string // of this program, innermost first
}

// plan is a fault: what is done to the calls of a site.
type plan struct {
	Site    site
	Errno   syscall.Errno // 0: the call moves less than it asks for
	Persist bool          // each time; else once
}

func (p plan) String() string {
	what, often := "short", "once"
	if p.Errno != 0 {
		what = errnoName(p.Errno)
	}
	if p.Persist {
		often = "on"
	}
	return p.Site.Call + " " + what + " " + often + " at " + p.Site.Frames
}

// injector is told of every call below top, counts them by site, and does what its plan says.
type injector struct {
	top     string // folder of the store
	symbols *ptrace.Symbols

	mu    sync.Mutex // processes are traced by threads of their own
	sites map[site]int
	plan  *plan
	armed bool
	hits  int
}

func newInjector(top string, symbols *ptrace.Symbols, p *plan) *injector {
	return &injector{top: top, symbols: symbols, sites: map[site]int{}, plan: p, armed: true}
}

// injected lists the calls that can fail; those that only look (stat) fail elsewhere first.
func injected() []string {
	return []string{"read", "pread64", "write", "pwrite64", "writev", "copy_file_range", "sendfile", "openat", "openat2", "fsync", "fdatasync",
		"sync_file_range", "ftruncate", "fallocate", "renameat", "renameat2", "linkat", "symlinkat", "unlinkat", "mkdirat", "fchmod", "fchmodat",
		"fchown", "fchownat", "utimensat", "getdents64", "flock", "fstat", "newfstatat", "mmap"}
}

// Enter is ptrace.Handler's.
func (in *injector) Enter(c *ptrace.Call) ptrace.Verdict {
	if !below(c.Path, in.top) && !below(c.To, in.top) {
		return ptrace.Verdict{}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	s := site{c.Name, callers(in.symbols.Frames(c.PCs(), "ctxfs/"))}
	if s.Frames == "" {
		return ptrace.Verdict{}
	}
	in.sites[s]++
	p := in.plan
	if p == nil || !in.armed || s != p.Site || in.hits > 0 && !p.Persist {
		return ptrace.Verdict{}
	}
	if p.Errno == 0 {
		if c.Size < 2 {
			return ptrace.Verdict{}
		}
		in.hits++
		return ptrace.Verdict{Count: c.Size / 2}
	}
	in.hits++
	return ptrace.Verdict{Errno: p.Errno}
}

// Exit is ptrace.Handler's.
func (in *injector) Exit(*ptrace.Call, int64) {}

// disarm ends the fault, and tells how often it was met.
func (in *injector) disarm() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.armed = false
	return in.hits
}

func below(file, top string) bool { return file == top || strings.HasPrefix(file, top+"/") }

// callers reduces a stack to what tells one site from another: the frames of the rooms that any file goes through, and
// the three above them.
func callers(frames []string) string {
	n := 0
	for n < len(frames) && (strings.HasPrefix(frames[n], "beneath.") || strings.HasPrefix(frames[n], "thread.") || strings.Contains(frames[n], ".(*Dir).")) {
		n++
	}
	return strings.Join(frames[:min(n+3, len(frames))], " < ")
}

// faults gives the errors that fit a call.
func faults(call string) []syscall.Errno {
	switch call {
	case "write", "pwrite64", "writev", "copy_file_range", "sendfile":
		return []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EDQUOT, 0}
	case "read", "pread64":
		return []syscall.Errno{syscall.EIO, 0}
	case "openat", "openat2":
		return []syscall.Errno{syscall.EMFILE, syscall.EIO, syscall.ENOSPC}
	case "mkdirat", "renameat", "renameat2", "linkat", "symlinkat":
		return []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EDQUOT}
	case "fsync", "fdatasync":
		return []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT}
	case "fallocate":
		return []syscall.Errno{syscall.ENOSPC}
	case "flock":
		return []syscall.Errno{syscall.ENOLCK}
	}
	return []syscall.Errno{syscall.EIO}
}

func errnoName(no syscall.Errno) string {
	for name, n := range map[string]syscall.Errno{"ENOSPC": syscall.ENOSPC, "EIO": syscall.EIO, "EDQUOT": syscall.EDQUOT, "EMFILE": syscall.EMFILE, "ENOLCK": syscall.ENOLCK} {
		if n == no {
			return name
		}
	}
	return no.Error()
}
