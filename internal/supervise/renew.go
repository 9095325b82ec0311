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
	// The worker is of the old program. Its end is as good as any other.
	r := &running{c: conn{os.NewFile(uintptr(from.Socket), "worker")}, pid: from.Worker, started: time.Now(), ready: true}
	s.watch(r)
	return os.NewSyscallError("kill", unix.Kill(r.pid, unix.SIGKILL))
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

// renew runs the program anew in the place of this one, which goes on when that is not possible.
func (s *Supervisor) renew(r *running) {
	if s.frail || !r.ready || s.Exec == nil {
		s.Log.Warn("not now: no other worker can take over from this one")
		return
	}
	st := State{Files: map[string]int{}, Socket: int(r.c.f.Fd()), Worker: r.pid}
	for _, k := range s.files {
		st.Files[k.name] = descriptor(k.file)
	}
	s.inherit(st, true)
	err := s.Exec(st) // returns only with an error
	s.inherit(st, false)
	s.Log.Warn("the program is not replaced", "error", err)
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
