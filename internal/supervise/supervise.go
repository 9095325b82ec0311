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
	// Quit has the mount ended, and Renew the program run anew: Try, which may take its time, tells by an error that the program
	// cannot go on with this one's mount, and Exec, which returns only with an error, becomes it.
	Quit  <-chan os.Signal
	Renew <-chan os.Signal
	Try   func() error
	Exec  func(s State) error
	// Notify, when not nil, tells systemd, and has it hold the files too.
	Notify *Notifier

	files   []kept
	frail   bool // the kernel cannot send requests again
	asked   bool // to end
	running *running
	early   int           // workers in a row that died early
	faults  chan struct{} // one for each worker that died early, of which that was known late
	tried   chan error    // what Try says
	trying  bool
	anew    bool // Renew came while a program was tried, which may be another by now
}

// kept is a file that is held for the next worker.
type kept struct {
	name string
	file *os.File
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

// Run runs workers until the mount is taken away, which is nil, or one says why it cannot serve, which is a *Failure: the first,
// or the last of those that died early. What there is to go on with, from a supervisor before this one, may be zero.
func (s *Supervisor) Run(from State) error {
	s.tried, s.faults = make(chan error, 1), make(chan struct{}, maxEarly)
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

// attend does as the running worker says until it is gone. end tells that the work is over.
func (s *Supervisor) attend() (end bool, err error) {
	r := s.running
	if r == nil {
		return false, nil // the first is yet to be started
	}
	defer func() { close(r.more) }()
	for {
		select {
		case <-s.faults:
			s.early++
		case <-s.Quit:
			s.asked = true
			s.askToEnd(r)
		case <-s.Renew:
			s.try()
		case err := <-s.tried:
			s.renew(r, err)
		case <-r.heard:
			verb, arg, f, err := r.c.hear()
			if err != nil {
				_ = r.c.f.Close() // the worker is gone
				return s.died(r)
			}
			if end, err := s.hear(r, verb, arg, f); end || err != nil {
				<-r.ended
				return true, err
			}
			r.more <- struct{}{}
		}
	}
}

// askToEnd has a worker unmount. One that is not ready yet is asked then.
func (s *Supervisor) askToEnd(r *running) {
	if r.ready {
		_ = r.process.Signal(syscall.SIGTERM) // or it has ended: its number, which may be another's by now, is not used
	}
}

// hear does what a worker says. end tells that it ends, and all is over.
func (s *Supervisor) hear(r *running, verb, arg string, f *os.File) (end bool, err error) {
	switch verb {
	case sayKeep:
		s.hold(arg, f)
	case sayDrop:
		s.hold(arg, nil)
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
		if r.failed = parseFailure(arg); s.device() == nil {
			return true, r.failed
		}
		// What it could not do, the next one may be able to: it ends, and that is an early death.
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
