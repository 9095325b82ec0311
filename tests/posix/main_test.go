package posix

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ctxfs/tests/testhost"

	"golang.org/x/sys/unix"
)

// program is the path of the ctxfs under test. TestMain builds it once.
var program string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	err := testhost.UseDisk()
	dir, derr := os.MkdirTemp("", "ctxfs-posix-")
	if err = errors.Join(err, derr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "ctxfs")
	if err := testhost.Build(program); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mount is a running ctxfs.
type mount struct {
	t            *testing.T
	point, store string
	cmd          *exec.Cmd
	log          *lines // what the daemon printed
	crashes      bool   // workers are killed
	kills        sync.WaitGroup
}

// lines is what a program prints.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newMount mounts a new store. When the test ends, it is unmounted and verified.
func newMount(t *testing.T, args ...string) *mount {
	t.Helper()
	testhost.NeedMount(t)
	dir := t.TempDir()
	m := &mount{t: t, point: filepath.Join(dir, "ctx"), store: filepath.Join(dir, "store"), log: &lines{}}
	must(t, os.Mkdir(m.point, 0o755))
	for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755)) // for other users
	}
	m.cmd = exec.Command(program, append([]string{"mount", m.point, "--store", m.store}, args...)...)
	m.cmd.Stdout, m.cmd.Stderr = m.log, m.log
	must(t, m.cmd.Start())
	t.Cleanup(m.finish)
	for range 2000 {
		if _, err := os.Stat(m.point + "/status"); err == nil {
			return m
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no mount: %s", m.log)
	return nil
}

// finish unmounts by SIGTERM, waits for a clean end, and has the store verified.
func (m *mount) finish() {
	_ = m.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	done := make(chan error, 1)
	go func() { done <- m.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			m.t.Errorf("the daemon did not end cleanly: %v\n%s", err, m.log)
		}
	case <-time.After(20 * time.Second):
		_ = m.cmd.Process.Kill()
		_ = unix.Unmount(m.point, unix.MNT_DETACH)
		<-done
		m.t.Errorf("the daemon did not end at SIGTERM\n%s", m.log)
	}
	if !m.crashes && strings.Contains(m.log.String(), "starting another") {
		m.t.Errorf("a worker died:\n%s", m.log)
	}
	if out, err := exec.Command(program, "verify", "--store", m.store).CombinedOutput(); err != nil {
		m.t.Errorf("verify: %v\n%s", err, out)
	}
}

// status gives a value of the status file.
func (m *mount) status(key string) string {
	m.t.Helper()
	data, err := os.ReadFile(m.point + "/status")
	if err != nil {
		m.t.Error(err)
	}
	_, rest, _ := strings.Cut("\n"+string(data), "\n"+key+": ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// killWorker kills the process that serves the mount, and waits until another one does.
func (m *mount) killWorker() {
	m.t.Helper()
	m.crashes = true
	old := m.status("worker")
	pid, err := strconv.Atoi(old)
	if err == nil {
		err = unix.Kill(pid, unix.SIGKILL)
	}
	if err != nil {
		m.t.Errorf("kill worker %q: %v", old, err)
		return
	}
	for range 5000 {
		if m.status("worker") != old {
			return
		}
		time.Sleep(time.Millisecond)
	}
	m.t.Error("no other worker came")
}

// killMeanwhile kills the worker some time after it returned, in the middle of what is done then. One kill is over before the next.
func (m *mount) killMeanwhile() {
	m.kills.Wait()
	m.kills.Go(func() {
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		m.killWorker()
	})
}

// errnoName is an error as the tables have it: ok, an errno's name, or its text.
func errnoName(err error) string {
	var no unix.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &no):
		return unix.ErrnoName(no)
	}
	return err.Error()
}
