package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Names of the files that every supervisor holds. Others are the worker's to choose.
const (
	Device = "device" // /dev/fuse
	Region = "region" // memory for package keep
	Nodes  = "nodes"  // a file in memory for node ids that are in no other file
)

// Worker is a worker's side.
type Worker struct {
	c     conn
	files map[string]*os.File
}

// Join is told by the supervisor at the other end of fd what there is to go on with.
func Join(fd int) (*Worker, error) {
	w := &Worker{c: conn{os.NewFile(uintptr(fd), "supervisor")}, files: map[string]*os.File{}}
	for {
		verb, arg, f, err := w.c.hear()
		switch {
		case err != nil:
			return nil, fmt.Errorf("supervisor: %w", err)
		case verb == sayStart:
			return w, nil
		case verb == sayKeep && f != nil:
			w.files[arg] = f
		}
	}
}

// FD is the socket's descriptor.
func (w *Worker) FD() int { return int(w.c.f.Fd()) }

// File gives a file that the supervisor holds, nil when it does not.
func (w *Worker) File(name string) *os.File { return w.files[name] }

// Names gives the names of the files that the supervisor held when the worker joined.
func (w *Worker) Names() (names []string) {
	for name := range w.files {
		names = append(names, name)
	}
	return names
}

// Keep has the supervisor hold f for the next worker, by a name without a space or line end. Another of the name is dropped.
func (w *Worker) Keep(name string, f *os.File) error { return w.c.say(sayKeep, name, f) }

// Drop has the supervisor let a file go.
func (w *Worker) Drop(name string) error { return w.c.say(sayDrop, name, nil) }

// Mount gives /dev/fuse of the mount, which is made now if it is not there. again tells that another worker had it before.
func (w *Worker) Mount() (device *os.File, again bool, err error) {
	if f := w.files[Device]; f != nil {
		return f, true, nil
	}
	if err := w.c.say(sayMount, "", nil); err != nil {
		return nil, false, err
	}
	verb, arg, f, err := w.c.hear()
	switch {
	case err != nil:
		return nil, false, err
	case verb == sayFailed:
		return nil, false, parseFailure(arg)
	case verb != sayKeep || f == nil:
		return nil, false, fmt.Errorf("supervisor: unexpected %q", verb)
	}
	return f, false, nil
}

// Ready says that the mount is served. frail tells that the kernel cannot send requests again, so that nobody can go on
// after this worker.
func (w *Worker) Ready(frail bool) error {
	if frail {
		if err := w.c.say(sayFrail, "", nil); err != nil {
			return err
		}
	}
	return w.c.say(sayReady, "", nil)
}

// Failed says why the worker gives up.
func (w *Worker) Failed(f Failure) error {
	return w.c.say(sayFailed, fmt.Sprintf("%d %s", f.Code, f.Text), nil)
}

// Gone says that the mount was taken away, and the worker ends.
func (w *Worker) Gone() error { return w.c.say(sayGone, "", nil) }

// Orphan tells whether the supervisor is gone: the kernel closes its end of the socket before anybody hears of its death.
func (w *Worker) Orphan() bool {
	p := []unix.PollFd{{Fd: int32(descriptor(w.c.f)), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1 && p[0].Revents&(unix.POLLHUP|unix.POLLRDHUP|unix.POLLERR) != 0
}

// Wait returns when the supervisor is gone.
func (w *Worker) Wait() error {
	for {
		if _, _, _, err := w.c.hear(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}
