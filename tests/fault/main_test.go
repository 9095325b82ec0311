//go:build linux && amd64

package fault

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ctxfs/tests/fault/ptrace"
)

// program is the path of the ctxfs under test. TestMain builds it once.
var program string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if err := ptrace.Become(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "ctxfs-fault-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "ctxfs")
	build := exec.Command("go", "build", "-o", program, "ctxfs/cmd/ctxfs")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return 1
	}
	return m.Run()
}

// need skips a test where it cannot be done, or fails it where skipping is not allowed.
func need(t *testing.T) {
	t.Helper()
	why := ""
	if os.Getuid() != 0 {
		why = "only root may trace what root mounts"
	} else if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		why = err.Error()
	} else {
		f.Close()
	}
	if why == "" {
		return
	}
	if os.Getenv("CTXFS_TEST_DISALLOW_SKIP") == "1" {
		t.Fatalf("must not be skipped: %s", why)
	}
	t.Skipf("SKIP: %s", why)
}
