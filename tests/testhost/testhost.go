// Package testhost answers what a test needs to know of the host that it runs on, and skips the test where the host lacks it.
// scripts/install-deps prepares a host; tests change nothing of it.
package testhost

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

const device = "/dev/fuse"

// CanMount returns why this process cannot mount, or nil.
func CanMount() error {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("this user cannot mount: %w; run: make install-deps", err)
	}
	_ = f.Close()
	return hasHelper()
}

// UsersCanMount returns why root cannot run a test as ordinary users who mount, or nil.
func UsersCanMount() error {
	if os.Geteuid() != 0 {
		return errors.New("only root can run commands as other users")
	}
	if err := CanMount(); err != nil {
		return err
	}
	st, err := os.Stat(device)
	if err != nil {
		return err
	}
	if mode := st.Mode().Perm(); mode&0o006 != 0o006 {
		return fmt.Errorf("ordinary users cannot mount: %s has mode %04o; run: make install-deps (it runs: chmod 666 %s)", device, mode, device)
	}
	return nil
}

// hasHelper returns an error where fusermount3(1) is missing, by which ordinary users mount and tests unmount.
func hasHelper() error {
	if _, err := exec.LookPath("fusermount3"); err != nil {
		return fmt.Errorf("%w; run: make install-deps", err)
	}
	return nil
}

// MayNotSkip reports whether a test that cannot run on this host is a failure.
func MayNotSkip() bool { return os.Getenv("CTXFS_TEST_DISALLOW_SKIP") == "1" }

// Skip skips a test that cannot run on this host, or fails it where CTXFS_TEST_DISALLOW_SKIP=1.
func Skip(t testing.TB, format string, args ...any) {
	t.Helper()
	if MayNotSkip() {
		t.Fatalf("must not be skipped: "+format, args...)
	}
	t.Skipf("SKIP: "+format, args...)
}

// NeedMount skips a test unless this process can mount.
func NeedMount(t testing.TB) {
	t.Helper()
	if err := CanMount(); err != nil {
		Skip(t, "%v", err)
	}
}

// NeedUsers skips a test unless it can run commands as ordinary users who mount. A run as an ordinary user always skips it.
func NeedUsers(t testing.TB) {
	t.Helper()
	err := UsersCanMount()
	if err != nil && os.Geteuid() != 0 {
		t.Skipf("SKIP: %v", err)
	}
	if err != nil {
		Skip(t, "%v", err)
	}
}

// Rare skips a test that takes long and seldom finds anything: in short runs, which `make test` is. `make ci` runs it, also under
// the race detector.
func Rare(t testing.TB) {
	t.Helper()
	if testing.Short() && !Race {
		t.Skip("RARE: make ci runs it")
	}
}

// UseDisk sets TMPDIR to /var/tmp where the temporary folder is a tmpfs, which has no FALLOC_FL_ZERO_RANGE and other limits than
// file systems on disks.
func UseDisk() error {
	const tmpfs = 0x01021994 // statfs(2)
	var st syscall.Statfs_t
	if err := syscall.Statfs(os.TempDir(), &st); err != nil || st.Type != tmpfs {
		return err
	}
	return os.Setenv("TMPDIR", "/var/tmp")
}

// RootDir makes a folder that only this user may search, on the file system of /, where the temporary folder often is not. The test
// ends with its removal.
func RootDir(t testing.TB) string {
	t.Helper()
	for _, parent := range []string{os.TempDir(), "/var/tmp", "/"} {
		if !onRoot(parent) {
			continue
		}
		dir, err := os.MkdirTemp(parent, "ctxfs-test-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	t.Fatal("/ is not on its own file system")
	return ""
}

// onRoot reports whether a folder is on the file system of /.
func onRoot(dir string) bool {
	var st, root syscall.Stat_t
	return syscall.Stat(dir, &st) == nil && syscall.Stat("/", &root) == nil && st.Dev == root.Dev
}

// Build builds the program under test, with the race detector where the tests have it.
func Build(program string) error {
	args := []string{"build", "-o", program}
	if Race {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "ctxfs/cmd/ctxfs")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
