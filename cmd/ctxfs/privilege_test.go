package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

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
