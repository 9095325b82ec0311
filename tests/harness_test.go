package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/tests/testhost"
)

// program is the path of the ctxfs under test. TestMain builds it once.
var program string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if socket := os.Getenv("CTXFS_TEST_CONNECT"); socket != "" {
		return connectStdio(socket)
	}
	dir, err := os.MkdirTemp("", "ctxfs-tests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // a second user runs the program too
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for name, to := range map[string]string{"CTXFS_CONFIG": os.DevNull, "XDG_CONFIG_HOME": filepath.Join(dir, "none")} { // this host's settings are not the tests'
		if err := os.Setenv(name, to); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	program = filepath.Join(dir, "ctxfs")
	if err := testhost.Build(program); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func needFUSE(t *testing.T) {
	t.Helper()
	testhost.NeedMount(t)
}

func skip(t *testing.T, format string, args ...any) {
	t.Helper()
	testhost.Skip(t, format, args...)
}

// notUnderRace skips a test that does one thing after the other: the race detector has nothing to find, and takes long.
func notUnderRace(t *testing.T) {
	t.Helper()
	if testhost.Race {
		t.Skip("the race detector has nothing to see here")
	}
}

// mount is a running ctxfs.
type mount struct {
	t            *testing.T
	point, store string
	agent        string   // an agent's folder in the mount
	wrap         []string // a command that runs the daemon
	cmd          *exec.Cmd
	log          *strings.Builder // what the daemon printed
	crashes      bool             // workers are killed
	program      string           // "": the program under test
	baseFDs      int
}

// newMount mounts a new store and unmounts, checks and verifies it when the test ends.
func newMount(t *testing.T, args ...string) *mount {
	t.Helper()
	needFUSE(t)
	m := &mount{t: t, point: filepath.Join(t.TempDir(), "ctx"), store: filepath.Join(t.TempDir(), "store")}
	if err := os.MkdirAll(m.point, 0o755); err != nil {
		t.Fatal(err)
	}
	m.agent = filepath.Join(m.point, "home", fmt.Sprint(os.Getuid()), "agent", "coder")
	m.start(args...)
	t.Cleanup(m.finish)
	return m
}

// start runs the daemon and waits for its mount.
func (m *mount) start(args ...string) {
	m.t.Helper()
	if m.program == "" {
		m.program = program
	}
	argv := append(slices.Clone(m.wrap), append([]string{m.program, "mount", m.point, "--store", m.store}, args...)...)
	m.cmd = exec.Command(argv[0], argv[1:]...)
	m.log = &strings.Builder{}
	m.cmd.Stderr, m.cmd.Stdout = m.log, m.log
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	for range 1000 {
		if _, err := os.Stat(filepath.Join(m.point, "status")); err == nil {
			m.baseFDs = m.fds()
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
	m.t.Fatalf("no mount: %s", m.log)
}

// fds counts the daemon's open files. Pipes and /dev/null are left out: go-fuse keeps a small pool of pipes for splice(2).
// So is the top of a user's file system for temporary sessions: "/", since it is mounted nowhere, or an ordinary user's folder.
func (m *mount) fds() int {
	return m.countFDs(func(target string) bool {
		return target != "/" && !strings.HasPrefix(filepath.Base(target), "ctxfs-temp-")
	})
}

func (m *mount) openLogs() int {
	return m.countFDs(func(target string) bool {
		return strings.Contains(target, "/messages.jsonl") || strings.Contains(target, "/events.jsonl") || strings.Contains(target, "/.ctxfs/chunk")
	})
}

// worker is the process that serves the mount. m.cmd is its supervisor: killing that ends both, and Wait waits for both, since
// both hold the pipe of their log.
func (m *mount) worker() int {
	m.t.Helper()
	pid, err := strconv.Atoi(m.status("worker"))
	if err != nil {
		m.t.Fatal(err)
	}
	return pid
}

// status gives a value of the status file.
func (m *mount) status(key string) string {
	m.t.Helper()
	_, rest, _ := strings.Cut("\n"+read(m.t, filepath.Join(m.point, "status")), "\n"+key+": ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

func (m *mount) countFDs(is func(target string) bool) int {
	m.t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", m.worker())
	list, err := os.ReadDir(dir)
	if err != nil {
		m.t.Fatal(err)
	}
	n := 0
	for _, e := range list {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err == nil && !strings.HasPrefix(target, "pipe:") && target != "/dev/null" && is(target) {
			n++
		}
	}
	return n
}

// finish is the end of every test on a mount.
func (m *mount) finish() {
	m.t.Helper()
	m.checkFDs()
	m.stop()
	m.verify()
}

// checkFDs tells of descriptors that the daemon keeps for files that nobody has open. Logs of sessions stay open for
// a while by design, two a session, for at most 512 sessions, and so do the files of cold stores that were read.
func (m *mount) checkFDs() {
	m.t.Helper()
	logs := 0
	for range 200 {
		n := m.fds()
		logs = m.openLogs()
		if n-logs <= m.baseFDs {
			return
		}
		time.Sleep(10 * time.Millisecond) // RELEASE comes after close(2) returned
	}
	out, _ := exec.Command("ls", "-l", fmt.Sprintf("/proc/%d/fd", m.worker())).CombinedOutput()
	m.t.Errorf("the daemon leaks file descriptors: %d at the start, %d now (%d of them logs)\n%s", m.baseFDs, m.fds(), logs, out)
}

// stop unmounts by SIGTERM and waits for a clean end.
func (m *mount) stop() {
	m.t.Helper()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		m.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- m.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			m.t.Errorf("the daemon did not end cleanly: %v\n%s", err, m.log)
		}
		if !m.crashes && strings.Contains(m.log.String(), "starting another") {
			m.t.Errorf("a worker died:\n%s", m.log)
		}
	case <-time.After(time.Minute): // a hang: on a busy disk, syncing takes its time
		_ = m.cmd.Process.Kill()
		m.t.Error("the daemon did not end at SIGTERM")
	}
	if _, err := os.Stat(filepath.Join(m.point, "status")); !errors.Is(err, os.ErrNotExist) {
		m.t.Errorf("still mounted: %v", err)
	}
}

// verify runs `ctxfs verify` on the store.
func (m *mount) verify() {
	m.t.Helper()
	out, err := exec.Command(program, "verify", "--store", m.store).CombinedOutput()
	if err != nil {
		m.t.Errorf("verify: %v\n%s", err, out)
	}
}

// session makes a session and gives its directory.
func (m *mount) session(name string) string {
	m.t.Helper()
	dir := filepath.Join(m.agent, "session", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		m.t.Fatal(err)
	}
	return dir
}

// message gives a line of messages.jsonl.
func message(role, content string) string {
	line, err := json.Marshal(map[string]string{"role": role, "content": content})
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(line) + "\n"
}

// add appends text to a file by one open, write and close.
func add(t *testing.T, file, text string) {
	t.Helper()
	if err := tryAdd(file, text); err != nil {
		t.Fatal(err)
	}
}

func tryAdd(file, text string) error { return writeTo(file, text, os.O_WRONLY|os.O_APPEND) }

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// write replaces a file's content as `>` does.
func write(file, text string) error { return writeTo(file, text, os.O_WRONLY|os.O_TRUNC) }

// writeTo is open, one write and close; the first error counts.
func writeTo(file, text string, flags int) error {
	f, err := os.OpenFile(file, flags, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// wants fails the test unless err is one of the errnos.
func wants(t *testing.T, what string, err error, want ...syscall.Errno) {
	t.Helper()
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	t.Errorf("%s: got %v, want %v", what, err, want)
}

// sharedData gives the path of a file or folder of ../shared, and skips loudly where it is not there.
func sharedData(t *testing.T, rel string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "shared", rel))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("SKIP: ../shared/%s is not here: nothing is tested on it", rel)
	}
	return dir
}

// run runs the program and gives what it prints.
func run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("ctxfs %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// command runs a program and gives its standard output.
func command(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	return string(out), err
}
