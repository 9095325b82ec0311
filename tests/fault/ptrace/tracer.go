//go:build linux && amd64

package ptrace

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Handler decides about calls. Its methods are called by the thread that traces, one at a time for one process of Start's:
// they must not wait for the traced program.
type Handler interface {
	// Enter is called before the kernel sees the call.
	Enter(c *Call) Verdict
	// Exit is called after a call whose Verdict said Watch. ret is negative for an error: -errno.
	Exit(c *Call, ret int64)
}

// Verdict says what becomes of a call.
type Verdict struct {
	Errno syscall.Errno // not 0: the call is not made, and this is its error
	Count uint64        // not 0: a count of bytes, for the one that the call asks for
	Watch bool          // Exit is called
}

// Process is a program that Start started.
type Process struct {
	Pid  int
	done chan struct{}
	ws   unix.WaitStatus
	err  error
}

// Wait waits for the end of the program and of all that it started.
func (p *Process) Wait() (unix.WaitStatus, error) {
	<-p.done
	return p.ws, p.err
}

// Done is closed when Wait does not wait.
func (p *Process) Done() <-chan struct{} { return p.done }

// Start runs argv, in a process group of its own, with its output to out. calls names the system calls that h sees; a name that
// is not known is an error. The executable of this process must call Become first.
//
// This process must not use a file system that what it traces serves: see tracer in package fault.
func Start(h Handler, calls, argv []string, out *os.File) (*Process, error) {
	var nrs []string
	known := map[uint64]kind{}
	for _, k := range kinds() {
		if slices.Contains(calls, k.name) {
			nrs, known[k.nr] = append(nrs, strconv.FormatUint(k.nr, 10)), k
		}
	}
	if len(nrs) != len(calls) {
		return nil, fmt.Errorf("ptrace: of the calls %v only %d are known", calls, len(nrs))
	}
	p := &Process{done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer close(p.done)
		runtime.LockOSThread() // ptrace(2) is a matter of threads; this one ends with the goroutine
		t := &tracer{h: h, root: p, known: known, open: map[int]*Call{}, seen: map[int]bool{}}
		err := t.start(append([]string{"/proc/self/exe"}, argv...), append(os.Environ(), becomeEnv+"="+strings.Join(nrs, ",")), out)
		started <- err
		if err == nil {
			p.err = t.loop()
		}
	}()
	return p, <-started
}

type tracer struct {
	h     Handler
	root  *Process
	known map[uint64]kind
	open  map[int]*Call // by thread: calls whose exit is waited for
	seen  map[int]bool  // threads
}

const options = unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK |
	unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_EXITKILL

func (t *tracer) start(argv, env []string, out *os.File) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	pid, err := syscall.ForkExec(self, argv, &syscall.ProcAttr{Env: env, Files: []uintptr{null.Fd(), out.Fd(), out.Fd()}, Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true}})
	if err != nil {
		return err
	}
	t.root.Pid, t.seen[pid] = pid, true
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil {
		return err
	}
	if err := unix.PtraceSetOptions(pid, options); err != nil {
		return err
	}
	return unix.PtraceCont(pid, 0)
}

// loop serves stops until everything that is traced has ended.
func (t *tracer) loop() error {
	for {
		var ws unix.WaitStatus
		tid, err := unix.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, nil) // this thread's: of whatever group, and no other program's
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.ECHILD) {
			return nil
		}
		if err != nil {
			return err
		}
		if ws.Exited() || ws.Signaled() {
			if tid == t.root.Pid {
				t.root.ws = ws
			}
			delete(t.seen, tid)
			delete(t.open, tid)
			continue
		}
		if err := t.stopped(tid, ws); err != nil && !errors.Is(err, unix.ESRCH) { // ESRCH: it was killed meanwhile
			return err
		}
	}
}

// stopped serves one stop of a thread, and lets it go on.
func (t *tracer) stopped(tid int, ws unix.WaitStatus) error {
	sig, first := ws.StopSignal(), !t.seen[tid]
	t.seen[tid] = true
	switch {
	case ws.TrapCause() == unix.PTRACE_EVENT_SECCOMP:
		return t.enter(tid)
	case sig == unix.SIGTRAP|0x80:
		return t.exit(tid)
	case sig == unix.SIGTRAP, sig == unix.SIGSTOP && first:
		return unix.PtraceCont(tid, 0)
	}
	return unix.PtraceCont(tid, int(sig))
}

func (t *tracer) enter(tid int) error {
	c := &Call{Tid: tid}
	if err := unix.PtraceGetRegs(tid, &c.regs); err != nil {
		return err
	}
	k, ok := t.known[c.regs.Orig_rax]
	if !ok {
		return unix.PtraceCont(tid, 0)
	}
	c.fill(k)
	v := t.h.Enter(c)
	switch {
	case v.Errno != 0: // -1 is no call: the kernel skips it and leaves rax
		c.regs.Orig_rax, c.regs.Rax = ^uint64(0), uint64(-int64(v.Errno))
	case v.Count != 0 && k.size >= 0:
		c.setArg(k.size, v.Count)
	}
	if v.Errno != 0 || v.Count != 0 {
		if err := unix.PtraceSetRegs(tid, &c.regs); err != nil {
			return err
		}
	}
	if !v.Watch {
		return unix.PtraceCont(tid, 0)
	}
	t.open[tid] = c
	return unix.PtraceSyscall(tid, 0)
}

func (t *tracer) exit(tid int) error {
	c := t.open[tid]
	delete(t.open, tid)
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	if c != nil {
		t.h.Exit(c, int64(regs.Rax))
	}
	return unix.PtraceCont(tid, 0)
}
