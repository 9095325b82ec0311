package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"ctxfs/internal/mounts"
	"ctxfs/tests/testhost"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what `cmp` finds into the scripts")

func TestMain(m *testing.M) {
	if os.Getenv(dropEnv) != "" {
		os.Exit(dropAndTell())
	}
	testscript.Main(m, map[string]func(){"ctxfs": main, "ctx": main, "mount.ctxfs": main, "mount.fuse.ctxfs": main})
}

// TestScripts runs testdata/*.txtar: the program as people and mount(8) call it, on real mounts. Beside testscript's own
// commands the scripts have
//
//	exits CODE PROGRAM ARG...     runs a program, which must end with that exit code
//	as UID CODE PROGRAM ARG...    the same as another user; needs root
//	mounted                       waits until $MNT is mounted
//	kill9                         kills the daemon of $MNT with SIGKILL and waits until it is gone
//	end                           unmounts $MNT, when no file of it is open any more, and verifies $STORE
//
// and the variables MNT, STORE, UID, GID, and SESSION, the folder of a session that is not made yet.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata", Setup: setup, Condition: condition, UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "as": as, "mounted": mounted, "kill9": kill9, "end": end,
		},
	})
}

func setup(env *testscript.Env) error {
	mnt, uid := filepath.Join(env.WorkDir, "mnt"), strconv.Itoa(os.Getuid())
	env.Setenv("MNT", mnt)
	env.Setenv("CTXFS_MOUNT", mnt)
	env.Setenv("STORE", filepath.Join(env.WorkDir, "store"))
	env.Setenv("UID", uid)
	env.Setenv("GID", strconv.Itoa(os.Getgid()))
	env.Setenv("SESSION", filepath.Join(mnt, "home", uid, "agent/coder/session/fix-42"))
	env.Setenv("CTXFS_CONFIG", filepath.Join(env.WorkDir, "config"))
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("SAMPLES", filepath.Join(env.WorkDir, "samples"))
	if err := os.CopyFS(env.Getenv("SAMPLES"), os.DirFS("../../samples")); err != nil { // other users cannot read a clone below /root
		return err
	}
	env.Defer(func() { freeMounts(env) })
	program, err := exec.LookPath("ctxfs")
	if err != nil {
		return err
	}
	// Other users run the program and reach their part of the test's folder too.
	for _, dir := range []string{filepath.Dir(filepath.Dir(program)), filepath.Dir(env.WorkDir)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
	}
	return errors.Join(os.Mkdir(mnt, 0o755), os.MkdirAll(env.Getenv("HOME"), 0o755), os.WriteFile(env.Getenv("CTXFS_CONFIG"), nil, 0o644))
}

// freeMounts ends what a script left mounted, which is a failure of its own.
func freeMounts(env *testscript.Env) {
	list, err := mounts.List()
	if err != nil {
		env.T().Fatal(err)
	}
	for _, m := range list {
		if !mounts.Inside(m.Point, env.WorkDir) {
			continue
		}
		if t, ok := env.T().(testing.TB); ok {
			t.Errorf("the script left %s mounted", m.Point)
		}
		if err := syscall.Unmount(m.Point, syscall.MNT_DETACH); err != nil {
			_ = exec.Command("fusermount3", "-uz", m.Point).Run() // an ordinary user's way
		}
	}
}

// condition adds [root], [user_allow_other] (of /etc/fuse.conf), [fuse]: whether this host can mount, and [users]: whether root can have
// ordinary users mount. Where skipping is not allowed, [fuse] is never false, nor is [users] for root.
func condition(cond string) (bool, error) {
	switch cond {
	case "user_allow_other":
		data, err := os.ReadFile("/etc/fuse.conf")
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return regexp.MustCompile(`(?m)^user_allow_other\b`).Match(data), err
	case "root":
		return os.Geteuid() == 0, nil
	case "fuse":
		return met(testhost.CanMount(), testhost.MayNotSkip())
	case "users":
		return met(testhost.UsersCanMount(), testhost.MayNotSkip() && os.Geteuid() == 0)
	}
	return false, fmt.Errorf("there is no condition %q", cond)
}

// met reports whether a condition of the host holds, whose absence is err. One that must hold and does not is an error.
func met(err error, must bool) (bool, error) {
	if err != nil && must {
		return false, fmt.Errorf("must not be skipped: %w", err)
	}
	return err == nil, nil
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	runFor(ts, nil, args[0], args[1:])
}

func as(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: as UID CODE PROGRAM ARG...")
	}
	uid, err := strconv.ParseUint(args[0], 10, 32)
	ts.Check(err)
	runFor(ts, &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}, args[1], args[2:])
}

// runFor runs a program, as another user when one is given, and checks its exit code.
func runFor(ts *testscript.TestScript, user *syscall.Credential, code string, args []string) {
	want, err := strconv.Atoi(code)
	ts.Check(err)
	program, err := exec.LookPath(args[0])
	ts.Check(err)
	cmd := exec.Command(program, args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), ts.Stdout(), ts.Stderr()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	for _, name := range []string{"PATH", "HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CTXFS_MOUNT", "CTXFS_CONFIG", "GORACE", "GOCOVERDIR", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("%v: exit code %d, want %d", args, got, want)
	}
}

func mounted(ts *testscript.TestScript, _ bool, _ []string) {
	mnt := ts.Getenv("MNT")
	within(ts, "mounted: "+mnt, func() bool { _, err := mounts.Status(mnt); return err == nil })
}

// within waits, ten seconds at most, until done.
func within(ts *testscript.TestScript, what string, done func() bool) {
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("not within ten seconds: %s", what)
}

func status(ts *testscript.TestScript) map[string]string {
	kv, err := mounts.Status(ts.Getenv("MNT"))
	ts.Check(err)
	return kv
}

func daemon(ts *testscript.TestScript) int {
	pid, err := strconv.Atoi(status(ts)["pid"])
	ts.Check(err)
	return pid
}

func kill9(ts *testscript.TestScript, _ bool, _ []string) {
	pid := daemon(ts)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	within(ts, "the daemon is gone", func() bool { return gone(pid) })
	within(ts, "the mount is stale", func() bool { return mounts.Stale(ts.Getenv("MNT")) != nil })
}

// gone tells whether a process has ended: its parent may not have looked yet.
func gone(pid int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return errors.Is(err, fs.ErrNotExist)
}

func end(ts *testscript.TestScript, _ bool, _ []string) {
	pid := daemon(ts)
	within(ts, "all files are closed", func() bool { return status(ts)["open_files"] == "0" })
	ts.Check(ts.Exec("ctxfs", "umount", ts.Getenv("MNT")))
	within(ts, "the daemon has ended", func() bool { return gone(pid) })
	ts.Check(ts.Exec("ctxfs", "verify", "--store", ts.Getenv("STORE")))
}
