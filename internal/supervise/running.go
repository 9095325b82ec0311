package supervise

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// running is a worker.
type running struct {
	c       conn
	process *os.Process
	ended   chan *os.ProcessState // closed, or one state
	heard   chan struct{}         // there is something to hear: a message, or the end
	more    chan struct{}         // what was there is heard
	started time.Time
	ready   bool
	failed  *Failure // why it gives up
}

// start runs the next worker. While a mount is to be served, what stands in its way (no memory, no process) may pass: it is borne as
// an early death is.
func (s *Supervisor) start() error {
	for {
		r, err := s.spawn()
		if err == nil {
			s.watch(r)
			go r.greet(slices.Clone(s.files))
			return nil
		}
		if s.device() == nil {
			return err
		}
		if err := s.bear(err); err != nil {
			return err
		}
		s.Log.Warn("no worker could be started: trying again", "error", err)
		s.rest()
	}
}

// spawn starts a worker's process. Only that has the other end of the socket then, so that its death is the socket's end.
func (s *Supervisor) spawn() (*running, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := conn{os.NewFile(uintptr(pair[0]), "worker")}, os.NewFile(uintptr(pair[1]), "worker")
	defer theirs.Close()
	cmd := s.Command()
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start a worker: %w", err), ours.f.Close())
	}
	return &running{c: ours, process: cmd.Process, started: time.Now()}, nil
}

// greet hands a new worker the files. It waits for the worker to take them, which may die before: so the supervisor does not wait for it.
// A worker that could not be handed all of them would lose what it does not know of.
func (r *running) greet(files []kept) {
	for _, k := range files {
		if r.c.say(sayKeep, k.name, k.file) != nil {
			_ = r.process.Kill() // or it has ended
			return
		}
	}
	if r.c.say(sayStart, "", nil) != nil {
		_ = r.process.Kill()
	}
}

// watch waits for what a worker says, and for its end.
func (s *Supervisor) watch(r *running) {
	s.running = r
	r.ended, r.heard, r.more = make(chan *os.ProcessState, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	go func() {
		defer close(r.ended)
		if state, err := r.process.Wait(); err == nil {
			r.ended <- state
		}
	}()
	go func() {
		for range r.more {
			r.c.wait() // and no more: of what is taken off the socket, a program that takes this one's place knows nothing
			r.heard <- struct{}{}
		}
	}()
	r.more <- struct{}{}
}
