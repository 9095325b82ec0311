package agents

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/tests/testhost"
)

// program is the ctxfs under test; installed is where scripts/agents put the agents.
var program, installed string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if installed = os.Getenv("CTXFS_TEST_AGENTS"); installed == "" {
		fmt.Println("SKIP: the agents of other programs: make agents runs them")
		return 0
	}
	dir, err := os.MkdirTemp("", "ctxfs-agents-")
	if err != nil {
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

// lab is a user with an agent, a mount, and a watch that follows the agent's logs.
type lab struct {
	t               *testing.T
	model           *model
	home, work, mnt string
	command, env    []string // of the agent
	watch           *exec.Cmd
	said            strings.Builder // by the watch
}

// newLab makes a lab for the agent whose program is one of paths below the installed packages; ARCH in them is the processor's name.
func newLab(t *testing.T, paths ...string) *lab {
	t.Helper()
	testhost.NeedMount(t)
	t.Parallel()
	base := t.TempDir()
	l := &lab{t: t, model: newModel(t), home: filepath.Join(base, "home"), work: filepath.Join(base, "work"), mnt: filepath.Join(base, "ctx")}
	for _, dir := range []string{l.home, l.work, l.mnt} {
		must(t, os.Mkdir(dir, 0o700))
	}
	node := find(t, "node-linux-ARCH/bin/node")
	l.command = []string{find(t, paths...)}
	if ext := filepath.Ext(l.command[0]); ext == ".js" {
		l.command = []string{node, l.command[0]}
	}
	l.env = []string{"HOME=" + l.home, "PATH=" + filepath.Dir(node) + ":" + os.Getenv("PATH"), "TMPDIR=" + base, "LANG=C.UTF-8", "NO_COLOR=1", "CI=1",
		"http_proxy=http://127.0.0.1:1", "https_proxy=http://127.0.0.1:1", "no_proxy=127.0.0.1"} // nothing leaves this host
	return l
}

// find returns the installed file.
func find(t *testing.T, paths ...string) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	for _, p := range paths {
		name := filepath.Join(installed, "node_modules", strings.ReplaceAll(p, "ARCH", arch))
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	testhost.Skip(t, "%s is not installed", paths[0])
	return ""
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ctxfs runs the program as the lab's user.
func (l *lab) ctxfs(args ...string) string {
	l.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(l.env, "CTXFS_MOUNT="+l.mnt)
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("ctxfs %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// mount mounts a new store and starts the watch. When the test ends, the store is verified.
func (l *lab) mount() {
	l.t.Helper()
	store := filepath.Join(filepath.Dir(l.mnt), "store")
	l.ctxfs("mount", l.mnt, "--store", store, "--background")
	l.t.Cleanup(func() {
		l.stopWatch(syscall.SIGTERM)
		l.ctxfs("umount", l.mnt)
		l.ctxfs("verify", "--store", store)
	})
	l.startWatch()
}

func (l *lab) startWatch() {
	l.t.Helper()
	l.watch = exec.Command(program, "watch", "--mount", l.mnt)
	l.watch.Env, l.watch.Stdout, l.watch.Stderr = l.env, &l.said, &l.said
	must(l.t, l.watch.Start())
}

func (l *lab) stopWatch(sig os.Signal) {
	l.t.Helper()
	if l.watch == nil {
		return
	}
	if err := l.watch.Process.Signal(sig); err != nil {
		l.t.Errorf("the watch has ended: %v: %s", err, l.said.String())
	}
	err := l.watch.Wait()
	if sig != syscall.SIGKILL && err != nil {
		l.t.Errorf("watch: %v: %s", err, l.said.String())
	}
	l.watch = nil
}

// output runs the agent, and returns what it writes to standard output.
func (l *lab) output(args ...string) string {
	l.t.Helper()
	cmd := exec.Command(l.command[0], append(slices.Clone(l.command[1:]), args...)...)
	cmd.Dir, cmd.Env = l.work, append(l.env, "PWD="+l.work)
	out, err := cmd.Output()
	if err != nil {
		l.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// run runs the agent. Meanwhile the watch is killed and started again.
func (l *lab) run(args ...string) string {
	l.t.Helper()
	cmd := exec.Command(l.command[0], append(slices.Clone(l.command[1:]), args...)...)
	cmd.Dir, cmd.Env = l.work, append(l.env, "PWD="+l.work)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	must(l.t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	limit := time.After(2 * time.Minute)
	kill := time.After(1500 * time.Millisecond)
	for {
		select {
		case err := <-done:
			if err != nil {
				l.t.Fatalf("%v: %v\n%s", args, err, out.String())
			}
			return out.String()
		case <-kill:
			if l.watch != nil {
				l.stopWatch(syscall.SIGKILL)
				l.startWatch()
			}
			kill = time.After(700 * time.Millisecond)
		case <-limit:
			_ = cmd.Process.Kill()
			l.t.Fatalf("%v: no end after two minutes\n%s", args, out.String())
		}
	}
}

// logs returns the files of the home that match, oldest first.
func (l *lab) logs(pattern string) []string {
	l.t.Helper()
	list, err := filepath.Glob(filepath.Join(l.home, pattern))
	must(l.t, err)
	slices.SortFunc(list, func(a, b string) int { return modified(l.t, a).Compare(modified(l.t, b)) })
	return list
}

func modified(t *testing.T, name string) time.Time {
	t.Helper()
	st, err := os.Stat(name)
	must(t, err)
	return st.ModTime()
}

// newLog runs the agent, and returns the log that matches and was not there before.
func (l *lab) newLog(pattern string, args ...string) string {
	l.t.Helper()
	before := l.logs(pattern)
	out := l.run(args...)
	for _, log := range l.logs(pattern) {
		if !slices.Contains(before, log) {
			return log
		}
	}
	l.t.Fatalf("%v made no log %s:\n%s", args, pattern, out)
	return ""
}

// until waits for cond, ten seconds at most.
func (l *lab) until(cond func() bool) bool {
	for range 100 {
		if cond() {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return cond()
}

func nameOf(log string) string { return strings.TrimSuffix(filepath.Base(log), filepath.Ext(log)) }

// session returns the folder of a session.
func (l *lab) session(agent, name string) string { return sessionBelow(l.mnt, agent, name) }

// sessionBelow returns the folder of a session in a mount or a store.
func sessionBelow(root, agent, name string) string {
	return filepath.Join(root, "home", fmt.Sprint(os.Getuid()), "agent", agent, "session", name)
}

// contents returns what a file holds; nothing when it is not there.
func contents(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return data
}
