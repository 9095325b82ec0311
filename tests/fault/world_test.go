//go:build linux && amd64

package fault

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// world is a store, its mount, and the traced programs that work on it.
type world struct {
	store  string
	point  string
	out    string // file with what the programs print
	tracer *tracer
	daemon *process
	bulk   int // lines that are written in one piece, 2.7 kB each
}

// limit is how long a world may take for all it does, on a busy machine: what takes longer hangs.
const limit = 2 * time.Minute

// newWorld copies a store into dir. j says what is done to the programs' calls.
func newWorld(t testing.TB, dir, template string, j Job) *world {
	t.Helper()
	w := &world{store: filepath.Join(dir, "store"), point: filepath.Join(dir, "ctx"), out: filepath.Join(dir, "out"), bulk: 60}
	if err := os.MkdirAll(w.point, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", template, w.store).CombinedOutput(); err != nil {
		t.Fatalf("cp: %s", out)
	}
	j.Program, j.Store, j.Point, j.Out, j.Limit = program, w.store, w.point, w.out, limit
	var err error
	if w.tracer, err = startTracer(j); err != nil {
		t.Fatal(err)
	}
	return w
}

// home is the folder of the owner in the mount.
func (w *world) home() string { return filepath.Join(w.point, "home", "0") }

func (w *world) agent() string { return filepath.Join(w.home(), "agent", "coder") }

func (w *world) session(name string) string { return filepath.Join(w.agent(), "session", name) }

// printed is what the programs printed.
func (w *world) printed() string {
	b, _ := os.ReadFile(w.out) // none: nothing
	return string(bytes.TrimSpace(b))
}

// mount starts the daemon and waits for its mount; its error says that it gave up.
func (w *world) mount() (err error) {
	if w.daemon, err = w.tracer.start("mount", w.point, "--store", w.store); err != nil {
		return err
	}
	for !w.mounted() {
		select {
		case <-w.daemon.done:
			err := w.daemon.end()
			w.daemon = nil
			return fmt.Errorf("the mount ended: %w", cmp.Or(err, errEarly))
		case <-time.After(2 * time.Millisecond):
		}
	}
	return nil
}

var (
	errEarly = errors.New("without a word")
	errCrash = errors.New("it crashed")
)

func (w *world) mounted() bool {
	var a, b unix.Stat_t
	return unix.Stat(w.point, &a) == nil && unix.Stat(filepath.Dir(w.point), &b) == nil && a.Dev != b.Dev
}

// umount ends the daemon by SIGTERM.
func (w *world) umount() error {
	if w.daemon == nil {
		return nil
	}
	_ = unix.Kill(w.daemon.pid, unix.SIGTERM) // it may have ended
	err := w.daemon.end()
	w.daemon = nil
	if w.mounted() {
		_ = unix.Unmount(w.point, unix.MNT_DETACH)
		err = errors.Join(err, errors.New("it is still mounted"))
	}
	return err
}

// close ends whatever is left.
func (w *world) close() {
	w.tracer.close()
	_ = unix.Unmount(w.point, unix.MNT_DETACH) // not mounted, as a rule
}

// command runs the program, traced; its error is an exit code that is not 0.
func (w *world) command(args ...string) error {
	p, err := w.tracer.start(args...)
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(args[:min(2, len(args))], " "), err)
	}
	return nil
}

// plainly runs the program without a tracer.
func plainly(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGQUIT) } // it shows its goroutines
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// bounded ends the tests, and shows where each goroutine stands, unless what it gives is called in time.
func bounded() (done func() bool) {
	return time.AfterFunc(2*limit, func() {
		debug.SetTraceback("all")
		panic("the checks hang")
	}).Stop
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
