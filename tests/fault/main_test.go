//go:build linux && amd64

package fault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ctxfs/tests/fault/ptrace"
	"ctxfs/tests/testhost"
)

// program is the path of the ctxfs under test. TestMain builds it once.
var program string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if err := ptrace.Become(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if os.Getenv(tracerEnv) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	if code, ok := alone(); ok {
		return code
	}
	if os.Getenv(aloneEnv) != "" {
		if err := leaveOthers(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	dir, err := os.MkdirTemp("", "ctxfs-fault-")
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

// need skips a test where it cannot be done, or fails it where skipping is not allowed.
func need(t *testing.T) {
	t.Helper()
	if err := able(t); err != nil {
		testhost.Skip(t, "%v", err)
	}
}

// able returns why nothing can be mounted, or traced, or nil.
func able(t *testing.T) error {
	if os.Getuid() != 0 {
		return errors.New("only root may trace what root mounts")
	}
	if err := testhost.CanMount(); err != nil {
		return err
	}
	tr, err := startTracer(Job{Program: "/bin/true", Out: filepath.Join(t.TempDir(), "out"), Record: true, Calls: []string{"fsync"}, Limit: limit})
	if err != nil {
		return err
	}
	defer tr.close()
	p, err := tr.start()
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return fmt.Errorf("no ptrace(2) or seccomp(2) here: %w", err)
	}
	return nil
}
