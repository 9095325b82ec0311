package supervise

import (
	"errors"
	"fmt"
	"os"
	"time"

	"ctxfs/internal/keep"

	"golang.org/x/sys/unix"
)

// State is what a supervisor hands to the program that takes its place: descriptors by name, and the worker that runs.
type State struct {
	Files  map[string]int `json:"files"`
	Socket int            `json:"socket"`
	Worker int            `json:"worker"` // its process id; 0: there is no state
}

// resume takes over what another program in this process left, or makes what a first worker needs.
func (s *Supervisor) resume(from State) error {
	if from.Worker == 0 {
		return s.begin()
	}
	for name, fd := range from.Files {
		unix.CloseOnExec(fd)
		s.files = append(s.files, kept{name, os.NewFile(uintptr(fd), name)})
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
	s.files = []kept{{Region, region}, {Nodes, os.NewFile(uintptr(fd), Nodes)}}
	return nil
}

// renew runs the program anew in the place of this one, which goes on when that is not possible.
func (s *Supervisor) renew(r *running) {
	if s.frail || !r.ready || s.Exec == nil {
		s.Log("not now: no other worker can take over from this one")
		return
	}
	st := State{Files: map[string]int{}, Socket: int(r.c.f.Fd()), Worker: r.pid}
	for _, k := range s.files {
		st.Files[k.name] = int(k.file.Fd())
	}
	s.inherit(st, true)
	err := s.Exec(st) // returns only with an error
	s.inherit(st, false)
	s.Log(fmt.Sprintf("the program is not replaced: %v", err))
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
