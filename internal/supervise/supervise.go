package supervise

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Supervisor is what to run, and how.
type Supervisor struct {
	// Command makes the worker's command, which is to call Join(3).
	Command func() *exec.Cmd
	// Mount mounts, when the first worker says that it can serve.
	Mount func() (*os.File, error)
	// Ready is called once, when the mount is served.
	Ready func()
	// Log is told what an administrator should know.
	Log *slog.Logger
	// Quit has the mount ended, and Renew the program run anew. Renew returns only if that is not possible.
	Quit  <-chan os.Signal
	Renew <-chan os.Signal
	Exec  func(s State) error
	// Notify, when not nil, tells systemd, and has it hold the files too.
	Notify *Notifier

	files   []kept
	frail   bool // the kernel cannot send requests again
	asked   bool // to end
	running *running
	early   int // workers in a row that died early
}

// kept is a file that is held for the next worker.
type kept struct {
	name string
	file *os.File
}

// running is a worker.
type running struct {
	c       conn
	pid     int
	ended   chan syscall.WaitStatus // closed, or one status
	said    chan said
	started time.Time
	ready   bool
}

// said is a message of the worker's, or its end (err).
type said struct {
	verb, arg string
	file      *os.File
	err       error
}

// maxEarly is how many workers in a row may die early before the supervisor gives up; early is before they are ready, or, by
// a fault of their own, within a second.
const (
	maxEarly = 8
	early    = time.Second
)

// ErrCrashing: one worker after the other died.
var ErrCrashing = fmt.Errorf("%d workers in a row died early", maxEarly)

// ErrFrail: a worker died, and the kernel cannot send again what it had been asked (Linux 6.9).
var ErrFrail = errors.New("the worker died, and this kernel cannot send its requests to another one")

// Run runs workers until the mount is taken away, which is nil, or one says why it cannot serve, which is a *Failure.
// What there is to go on with, from a supervisor before this one, may be zero.
func (s *Supervisor) Run(from State) error {
	if err := s.resume(from); err != nil {
		return err
	}
	defer s.forget()
	for {
		end, err := s.attend()
		if end || err != nil {
			return err
		}
		if err := s.start(); err != nil {
			return err
		}
	}
}

// forget has systemd let go of the files: the mount is over.
func (s *Supervisor) forget() {
	s.Notify.say("STOPPING=1", nil)
	for _, k := range s.files {
		s.Notify.store(k.name, nil)
	}
}

// start runs the next worker.
func (s *Supervisor) start() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "worker")
	defer theirs.Close()
	cmd := s.Command()
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		_ = unix.Close(pair[0])
		return fmt.Errorf("start a worker: %w", err)
	}
	r := &running{c: conn{os.NewFile(uintptr(pair[0]), "worker")}, pid: cmd.Process.Pid, started: time.Now()}
	for _, k := range s.files {
		err = errors.Join(err, r.c.say(sayKeep, k.name, k.file))
	}
	_ = errors.Join(err, r.c.say(sayStart, "", nil)) // a worker that does not hear this has died: that is seen below
	s.watch(r)
	_ = cmd.Process.Release() // watch waits for it
	return nil
}

// watch hears a worker, and waits for its end.
func (s *Supervisor) watch(r *running) {
	s.running = r
	r.ended, r.said = make(chan syscall.WaitStatus, 1), make(chan said)
	go func() {
		defer close(r.ended)
		var status syscall.WaitStatus
		for {
			pid, err := syscall.Wait4(r.pid, &status, 0, nil)
			if pid == r.pid {
				r.ended <- status
			}
			if err != syscall.EINTR {
				return
			}
		}
	}()
	go func() {
		for {
			var m said
			m.verb, m.arg, m.file, m.err = r.c.hear()
			r.said <- m
			if m.err != nil {
				return
			}
		}
	}()
}

// attend does as the running worker says until it is gone. end tells that the work is over.
func (s *Supervisor) attend() (end bool, err error) {
	r := s.running
	if r == nil {
		return false, nil // the first is yet to be started
	}
	for {
		select {
		case <-s.Quit:
			s.asked = true
			s.askToEnd(r)
		case <-s.Renew:
			s.renew(r)
		case m := <-r.said:
			if m.err != nil {
				_ = r.c.f.Close() // the worker is gone
				return s.died(r)
			}
			if end, err := s.hear(r, m); end || err != nil {
				<-r.ended
				return true, err
			}
		}
	}
}

// askToEnd has a worker unmount. One that is not ready yet is asked then.
func (s *Supervisor) askToEnd(r *running) {
	if r.ready {
		_ = unix.Kill(r.pid, unix.SIGTERM) // it is ours and not waited for, or it has ended
	}
}

// hear does what a worker says. end tells that it ends, and all is over.
func (s *Supervisor) hear(r *running, m said) (end bool, err error) {
	switch m.verb {
	case sayKeep:
		s.hold(m.arg, m.file)
	case sayDrop:
		s.hold(m.arg, nil)
	case sayMount:
		s.mount(r)
	case sayFrail:
		s.frail = true
	case sayReady:
		r.ready = true
		s.Notify.say(fmt.Sprintf("READY=1\nMAINPID=%d", os.Getpid()), nil)
		if s.Ready != nil {
			s.Ready()
			s.Ready = nil
		}
		if s.asked {
			s.askToEnd(r)
		}
	case sayFailed:
		return true, parseFailure(m.arg)
	case sayGone:
		return true, nil
	}
	return false, nil
}

// hold keeps a file in the place of the one of that name; nil only drops that.
func (s *Supervisor) hold(name string, f *os.File) {
	s.files = slices.DeleteFunc(s.files, func(k kept) bool {
		if k.name == name {
			_ = k.file.Close() // nothing is buffered in it
		}
		return k.name == name
	})
	s.Notify.store(name, f)
	if f != nil {
		s.files = append(s.files, kept{name, f})
	}
}

func (s *Supervisor) mount(r *running) {
	dev, err := s.Mount()
	if err != nil {
		_ = r.c.say(sayFailed, "1 "+err.Error(), nil) // a worker that does not hear it has died
		return
	}
	s.hold(Device, dev)
	_ = r.c.say(sayKeep, Device, dev)
}

func (s *Supervisor) device() *os.File {
	for _, k := range s.files {
		if k.name == Device {
			return k.file
		}
	}
	return nil
}

// disconnected tells whether the kernel has let the mount go: nobody needs another worker.
func disconnected(dev *os.File) bool {
	p := []unix.PollFd{{Fd: int32(dev.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1 && p[0].Revents&unix.POLLERR != 0
}
