//go:build linux && amd64

package fault

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/tests/fault/ptrace"

	"golang.org/x/sys/unix"
)

// world is a store, its mount, and the traced programs that work on it.
type world struct {
	t      testing.TB
	store  string
	point  string
	out    *os.File // what the programs print
	h      ptrace.Handler
	calls  []string
	daemon *ptrace.Process
	bulk   int // lines that are written in one piece, 2.7 kB each
}

// newWorld copies a store. h, when not nil, is told of the calls of all programs.
func newWorld(t testing.TB, dir, template string, h func(store string) ptrace.Handler, calls []string) *world {
	t.Helper()
	w := &world{t: t, store: filepath.Join(dir, "store"), point: filepath.Join(dir, "ctx"), calls: calls, bulk: 60}
	if err := os.MkdirAll(w.point, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", template, w.store).CombinedOutput(); err != nil {
		t.Fatalf("cp: %s", out)
	}
	var err error
	if w.out, err = os.Create(filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	w.h = h(w.store)
	return w
}

// home is the folder of the owner in the mount.
func (w *world) home() string { return filepath.Join(w.point, "home", "0") }

func (w *world) agent() string { return filepath.Join(w.home(), "agent", "coder") }

func (w *world) session(name string) string { return filepath.Join(w.agent(), "session", name) }

// printed is what the programs printed.
func (w *world) printed() string {
	b, _ := os.ReadFile(w.out.Name())
	return string(bytes.TrimSpace(b))
}

// errHang is that something did not end in time.
var errHang = errors.New("it hangs")

const patience = 20 * time.Second

// mount starts the daemon and waits for its mount; its error says that it gave up.
func (w *world) mount() (err error) {
	w.daemon, err = ptrace.Start(w.h, w.calls, []string{program, "mount", w.point, "--store", w.store}, w.out)
	if err != nil {
		return err
	}
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(2 * time.Millisecond) {
		if w.mounted() {
			return nil
		}
		select {
		case <-w.daemon.Done():
			ws, err := w.daemon.Wait()
			w.daemon = nil
			return fmt.Errorf("the mount ended: %v, exit code %d", err, ws.ExitStatus())
		default:
		}
	}
	w.kill()
	return errHang
}

func (w *world) mounted() bool {
	var a, b unix.Stat_t
	return unix.Stat(w.point, &a) == nil && unix.Stat(filepath.Dir(w.point), &b) == nil && a.Dev != b.Dev
}

// umount ends the daemon by SIGTERM.
func (w *world) umount() error {
	p := w.daemon
	if p == nil {
		return nil
	}
	_ = unix.Kill(p.Pid, unix.SIGTERM) // it may have ended
	select {
	case <-p.Done():
	case <-time.After(patience):
		w.kill()
		return fmt.Errorf("SIGTERM: %w", errHang)
	}
	w.daemon = nil
	ws, err := p.Wait()
	if err == nil && (!ws.Exited() || ws.ExitStatus() != 0) {
		err = fmt.Errorf("the daemon ended with %v, exit code %d", ws.Signal(), ws.ExitStatus())
	}
	if w.mounted() {
		_ = unix.Unmount(w.point, unix.MNT_DETACH)
		err = errors.Join(err, errors.New("it is still mounted"))
	}
	return err
}

// kill ends whatever is left.
func (w *world) kill() {
	if w.daemon != nil {
		_ = unix.Kill(w.daemon.Pid, unix.SIGKILL)
		_ = unix.Unmount(w.point, unix.MNT_DETACH)
		<-w.daemon.Done()
		w.daemon = nil
	}
	_ = unix.Unmount(w.point, unix.MNT_DETACH) // not mounted, as a rule
}

func (w *world) close() {
	w.kill()
	w.out.Close()
}

// command runs the program, traced; its error is an exit code that is not 0.
func (w *world) command(args ...string) error {
	p, err := ptrace.Start(w.h, w.calls, append([]string{program}, args...), w.out)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-time.After(patience):
		_ = unix.Kill(p.Pid, unix.SIGKILL)
		<-p.Done()
		return fmt.Errorf("%s: %w", args[0], errHang)
	}
	ws, err := p.Wait()
	if err != nil {
		return err
	}
	if ws.Signaled() {
		return fmt.Errorf("%s: %w: %v", args[0], errCrash, ws.Signal())
	}
	if ws.ExitStatus() != 0 {
		return fmt.Errorf("%s: exit code %d", strings.Join(args[:min(2, len(args))], " "), ws.ExitStatus())
	}
	return nil
}

var errCrash = errors.New("it crashed")

// plainly runs the program without a tracer.
func plainly(args ...string) (string, error) {
	out, err := exec.Command(program, args...).CombinedOutput()
	return string(out), err
}

// writeTo is open, one write and close; the first error counts.
func writeTo(file, text string, flags int) error {
	f, err := os.OpenFile(file, flags, 0o600)
	if err != nil {
		return err
	}
	_, err = syscall.Write(int(f.Fd()), []byte(text))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
