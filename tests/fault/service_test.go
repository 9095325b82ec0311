//go:build linux && amd64

package fault

import (
	"fmt"
	"io"
	"net/rpc"
	"os"
	"strings"
	"sync"
	"time"

	"ctxfs/tests/fault/ptrace"

	"golang.org/x/sys/unix"
)

// Job is what a process of startTracer does with the calls of its programs on a store: fails some, or records them.
type Job struct {
	Program string // the one that is traced
	Store   string // calls on other files go by
	Point   string // where it is mounted
	Out     string // file for what programs print
	Calls   []string
	Record  bool
	Plan    *plan         // when it does not record; nil: calls are only counted
	Limit   time.Duration // for all of it
}

// Filmed is what was recorded.
type Filmed struct {
	Ops []op
	Odd []string // what was not understood
}

// service is what the process that traces does for the one that tests, by net/rpc.
type service struct {
	job Job
	out *os.File
	in  *injector // one of the two
	rec *recorder

	mu    sync.Mutex
	procs map[int]*ptrace.Process
}

// serve traces for the process at the other end of stdin and stdout until that closes them, or dies. All that is traced dies
// with this process.
func serve() error {
	srv := rpc.NewServer()
	if err := srv.RegisterName("Trace", &service{procs: map[int]*ptrace.Process{}}); err != nil {
		return err
	}
	srv.ServeConn(duplex{os.Stdin, os.Stdout})
	return nil
}

// duplex joins two pipes.
type duplex struct {
	io.ReadCloser
	io.Writer
}

// Begin is the first call, and made once.
func (s *service) Begin(j Job, _ *int) (err error) {
	s.job = j
	if s.out, err = os.OpenFile(j.Out, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
		return err
	}
	time.AfterFunc(j.Limit, s.giveUp)
	if j.Record {
		s.rec = newRecorder(j.Store)
		return nil
	}
	symbols, err := ptrace.ReadSymbols(j.Program)
	s.in = newInjector(j.Store, symbols, j.Plan)
	return err
}

func (s *service) handler() ptrace.Handler {
	if s.rec != nil {
		return s.rec
	}
	return s.in
}

// Start runs the program and gives its process id.
func (s *service) Start(args []string, pid *int) error {
	p, err := ptrace.Start(s.handler(), s.job.Calls, append([]string{s.job.Program}, args...), s.out)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.procs[p.Pid], *pid = p, p.Pid
	return nil
}

// Wait waits for the end of a program and of all that it started.
func (s *service) Wait(pid int, ws *unix.WaitStatus) (err error) {
	s.mu.Lock()
	p := s.procs[pid]
	s.mu.Unlock()
	*ws, err = p.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.procs, pid)
	return err
}

// Disarm ends the fault and gives how often it was met.
func (s *service) Disarm(_ int, hits *int) error {
	*hits = s.in.disarm()
	return nil
}

// Sites gives the places that were met, and how often.
func (s *service) Sites(_ int, sites *map[site]int) error {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	*sites = s.in.sites
	return nil
}

// Done gives how many operations were recorded.
func (s *service) Done(_ int, n *int) error {
	*n = s.rec.done()
	return nil
}

// Film gives what was recorded, after the end of all programs.
func (s *service) Film(_ int, f *Filmed) error {
	f.Ops, f.Odd = s.rec.ops, s.rec.odd
	return nil
}

// mountedAt tells whether a mount is there, and asks only the kernel's list.
func mountedAt(point string) bool {
	list, _ := os.ReadFile("/proc/self/mounts") // none: no
	return strings.Contains(string(list), " "+point+" ")
}

// hanging begins what giveUp prints.
const hanging = "It hangs"

// giveUp ends whatever hangs, and says where it stood.
func (s *service) giveUp() {
	s.mu.Lock()
	fmt.Fprintf(s.out, "\n%s: all is not done after %v. The tests:\n%s", hanging, s.job.Limit, ptrace.Threads(os.Getppid()))
	for pid := range s.procs {
		fmt.Fprintf(s.out, "It is mounted: %v\n", mountedAt(s.job.Point))
		for _, p := range ptrace.Group(pid) {
			fmt.Fprintf(s.out, "A traced program:\n%s", ptrace.Threads(p))
		}
		_ = unix.Kill(-pid, unix.SIGQUIT) // Go programs show their goroutines
	}
	time.Sleep(2 * time.Second)
	_ = unix.Unmount(s.job.Point, unix.MNT_FORCE) // whoever waits for it, with EIO
	_ = unix.Unmount(s.job.Point, unix.MNT_DETACH)
	os.Exit(1)
}
