package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const dropEnv = "CTXFS_TEST_DROP"

// dropAndTell is a process that gives up what the daemon does not need, and tells what it is left with.
func dropAndTell() int {
	if err := keepCapabilities(needed()); err != nil {
		fmt.Println(err)
		return 1
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("%d %s", os.Getpid(), status)
	return 0
}

func TestKeepCapabilities(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIP: only root has capabilities to give up")
	}
	c := exec.Command("/proc/self/exe", "an argument")
	c.Env = append(os.Environ(), dropEnv+"=1")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var pid int
	if _, err := fmt.Sscan(string(out), &pid); err != nil || pid != c.Process.Pid {
		t.Errorf("it was process %d, and is %d now: %v", c.Process.Pid, pid, err)
	}
	if !regexp.MustCompile(`NoNewPrivs:\s+1`).Match(out) {
		t.Error("it may gain new privileges")
	}
	for _, set := range []string{"CapPrm", "CapEff", "CapBnd"} {
		hex := regexp.MustCompile(set + `:\s+([0-9a-f]+)`).FindSubmatch(out)
		if hex == nil {
			t.Fatalf("no %s in %s", set, out)
		}
		caps, err := strconv.ParseUint(string(hex[1]), 16, 64)
		if err != nil || caps&^needed() != 0 || caps&(1<<unix.CAP_CHOWN) == 0 {
			t.Errorf("%s is %x, %v", set, caps, err)
		}
	}
}

// Who may not change their bounding set mounts all the same: an ordinary user whose login gave them a capability, and root
// without CAP_SETPCAP, to whom execve(2) gives back what was given up.
func TestKeepCapabilitiesWithoutSetpcap(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIP: only root has capabilities to give up")
	}
	run := func(who string, attr *syscall.SysProcAttr) (effective uint64) {
		c := exec.Command("/proc/self/exe")
		c.Env = append(os.Environ(), dropEnv+"=1")
		c.SysProcAttr = attr
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			<-ctx.Done()
			if !errors.Is(ctx.Err(), context.Canceled) {
				_ = c.Process.Kill()
			}
		}()
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", who, err, out)
		}
		if hex := regexp.MustCompile(`CapEff:\s+([0-9a-f]+)`).FindSubmatch(out); hex != nil {
			effective, _ = strconv.ParseUint(string(hex[1]), 16, 64)
		}
		return effective
	}
	const alarm = unix.CAP_WAKE_ALARM
	if has := run("a user", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, AmbientCaps: []uintptr{alarm}}); has != 0 {
		t.Errorf("the user is left with %x", has)
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		runtime.LockOSThread() // and it ends with the thread
		for _, n := range []uintptr{unix.CAP_SETPCAP, unix.CAP_SYS_ADMIN} {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, n, 0, 0, 0); err != nil {
				t.Error(err)
			}
		}
		run("root", nil)
	}()
	<-done
}
