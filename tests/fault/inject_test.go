//go:build linux && amd64

package fault

import (
	"regexp"
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
	Errno   syscall.Errno // 0: none
	Half    bool          // the call moves half of what it asks for, and has no error; the thread's next one has Errno
	Persist bool          // each time; else once
}

func (p plan) String() string {
	what, often := "half", "once"
	if p.Errno != 0 {
		what = errnoName(p.Errno)
	}
	if p.Half && p.Errno != 0 {
		what = "half, then " + what
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

	mu     sync.Mutex // processes are traced by threads of their own
	sites  map[site]int
	plan   *plan
	armed  bool
	hits   int
	halved map[int]bool // threads whose next call is to fail
}

func newInjector(top string, symbols *ptrace.Symbols, p *plan) *injector {
	return &injector{top: top, symbols: symbols, sites: map[site]int{}, plan: p, armed: true, halved: map[int]bool{}}
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
	if p := in.plan; p != nil && in.armed && s == p.Site {
		return in.fail(c, p)
	}
	return ptrace.Verdict{}
}

// fail does to a call what the plan says.
func (in *injector) fail(c *ptrace.Call, p *plan) ptrace.Verdict {
	rest := in.halved[c.Tid]
	if in.hits > 0 && !p.Persist && !rest || p.Half && !rest && c.Size < 2 {
		return ptrace.Verdict{}
	}
	in.hits++
	delete(in.halved, c.Tid)
	if p.Half && !rest {
		in.halved[c.Tid] = p.Errno != 0
		return ptrace.Verdict{Count: c.Size / 2}
	}
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

// callers reduces a stack to what tells one site from another: the frames that any file goes through, and the three above them.
func callers(frames []string) string {
	n := 0
	for n < len(frames) && common.MatchString(frames[n]) {
		n++
	}
	return strings.Join(frames[:min(n+3, len(frames))], " < ")
}

var common = regexp.MustCompile(`^(beneath|thread)\.|\.\(\*Dir\)\.|^appendlog\.(writeFull|\(\*Log\)\.(commit|Commit|takeBack))\b`)

// faults gives those that fit a site.
func faults(s site) (all []plan) {
	for _, no := range errnos(s.Call) {
		all = append(all, plan{Site: s, Errno: no})
	}
	switch s.Call {
	case "write", "pwrite64", "writev", "copy_file_range", "sendfile":
		all = append(all, plan{Site: s, Half: true}, plan{Site: s, Half: true, Errno: syscall.ENOSPC})
	case "read", "pread64":
		all = append(all, plan{Site: s, Half: true})
	}
	for _, p := range all {
		p.Persist = true
		all = append(all, p)
	}
	return all
}

// errnos gives the errors that fit a call.
func errnos(call string) []syscall.Errno {
	switch call {
	case "write", "pwrite64", "writev", "copy_file_range", "sendfile", "mkdirat", "renameat", "renameat2", "linkat", "symlinkat":
		return []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EDQUOT}
	case "openat", "openat2":
		return []syscall.Errno{syscall.EMFILE, syscall.EIO, syscall.ENOSPC}
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
