package supervise

import (
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"ctxfs/internal/keep"

	"golang.org/x/sys/unix"
)

// State is what a supervisor hands to the program that takes its place: descriptors by name, and the worker that runs.
type State struct {
	Files  map[string]int `json:"files"`
	Socket int            `json:"socket"`
	Worker int            `json:"worker"` // its process id; 0: none runs
}

// resume takes over what another program in this process left, or makes what a first worker needs.
func (s *Supervisor) resume(from State) error {
	if len(from.Files) == 0 {
		return s.begin()
	}
	for _, name := range slices.Sorted(maps.Keys(from.Files)) {
		fd := from.Files[name]
		unix.CloseOnExec(fd)
		s.files = append(s.files, kept{name, os.NewFile(uintptr(fd), name)})
	}
	if from.Worker == 0 { // systemd kept the files
		return nil
	}
	unix.CloseOnExec(from.Socket)
	process, err := os.FindProcess(from.Worker)
	if err != nil {
		return err
	}
	// The worker is of the old program, and is to end as workers do. One that has ended before is not there, or, if the old
	// program has waited for it, another's process may have its number.
	if child(from.Worker) {
		if err := process.Kill(); err != nil {
			s.Log.Warn("the worker of the old program serves on", "error", err)
		}
	}
	s.watch(&running{c: conn{os.NewFile(uintptr(from.Socket), "worker")}, process: process, started: time.Now(), ready: true})
	return nil
}

// child tells whether a process is this one's, and not waited for.
func child(pid int) bool {
	return unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == nil
}

func (s *Supervisor) begin() error {
	region, err := keep.Create()
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("ctxfs nodes", unix.MFD_CLOEXEC)
	if err != nil {
		return errors.Join(os.NewSyscallError("memfd_create", err), region.Close())
	}
	s.hold(Region, region)
	s.hold(Nodes, os.NewFile(uintptr(fd), Nodes))
	return nil
}

// ErrEnding: the mount is to end, and needs no other program.
var ErrEnding = errors.New("the mount is asked to end")

// mayRenew tells, by an error, why no other worker can take over from the running one.
func (s *Supervisor) mayRenew() error {
	switch {
	case s.asked:
		return ErrEnding
	case s.frail:
		return ErrFrail
	case s.device() == nil || s.Exec == nil:
		return errors.New("nothing is mounted yet")
	}
	return nil
}

// try tries the program that stands now where this one was started from. Meanwhile the work goes on: it may take long, or hang.
func (s *Supervisor) try() {
	if err := s.mayRenew(); err != nil {
		s.Log.Warn("the program is not replaced", "error", err)
		return
	}
	if s.anew = s.trying; s.anew {
		return
	}
	s.trying = true
	go func() { s.tried <- s.Try() }()
}

// renew runs the program that was tried in the place of this one, which goes on when that is not possible.
func (s *Supervisor) renew(r *running, err error) {
	if s.trying = false; s.anew {
		s.try()
		return
	}
	if err == nil {
		err = s.mayRenew()
	}
	if err == nil {
		err = s.become(r)
	}
	s.Log.Warn("the program is not replaced", "error", err)
}

// become runs the program. A worker that is not ready yet, or has just died, is none the worse for it: what it has said and is
// not heard yet stays in the socket.
func (s *Supervisor) become(r *running) error {
	st := State{Files: map[string]int{}, Socket: descriptor(r.c.f), Worker: r.process.Pid}
	for _, k := range s.files {
		st.Files[k.name] = descriptor(k.file)
	}
	s.inherit(st, true)
	defer s.inherit(st, false)
	return s.Exec(st) // returns only with an error
}

// inherit says whether what runs next in this process has the files too.
func (s *Supervisor) inherit(st State, yes bool) {
	flag := unix.FD_CLOEXEC
	if yes {
		flag = 0
	}
	for _, fd := range st.Files {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, flag) // it is open
	}
	_, _ = unix.FcntlInt(uintptr(st.Socket), unix.F_SETFD, flag)
}

// Alive tells whether the mount behind s is still there.
func (s State) Alive() bool {
	fd, ok := s.Files[Device]
	if !ok {
		return false
	}
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, err := unix.Poll(p, 0)
	return err == nil && p[0].Revents&(unix.POLLERR|unix.POLLNVAL) == 0
}
