package testhost

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// locked runs a shell script in a mount namespace where /dev/fuse is root's 0600, as on a host without udev, and returns its output.
// $1 is this test binary.
func locked(t *testing.T, script string, env ...string) (string, error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIP: only root can have a /dev/fuse of its own")
	}
	NeedMount(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const begin = `set -e; mknod -m 600 "$2/fuse" c 10 229; mount --bind "$2/fuse" /dev/fuse; `
	c := exec.Command("unshare", "--mount", "--propagation", "private", "bash", "-c", begin+script, "bash", self, t.TempDir())
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// A test that has ordinary users mount skips where they cannot, with the remedy, and fails where it must not skip.
func TestNeedUsersOnALockedDevice(t *testing.T) {
	const script = `exec "$1" -test.v -test.run '^TestNeedUsers$'`
	const why = "ordinary users cannot mount: /dev/fuse has mode 0600; run: make install-deps"
	if out, err := locked(t, script, "CTXFS_TEST_DISALLOW_SKIP="); err != nil || !strings.Contains(out, "--- SKIP: TestNeedUsers ") || !strings.Contains(out, "SKIP: "+why) {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := locked(t, script, "CTXFS_TEST_DISALLOW_SKIP=1"); err == nil || !strings.Contains(out, "--- FAIL: TestNeedUsers ") || !strings.Contains(out, why) {
		t.Errorf("%v: %s", err, out)
	}
}

func TestNeedUsers(t *testing.T) { NeedUsers(t) }

// scripts/install-deps opens /dev/fuse for ordinary users, says so, and is silent when there is nothing to change. Where the host
// does not allow it, the remedy is printed, and that is no failure.
func TestInstallDepsOpensDevice(t *testing.T) {
	deps, err := filepath.Abs("../../scripts/install-deps")
	if err != nil {
		t.Fatal(err)
	}
	out, err := locked(t, deps+` fusermount3:fuse3; stat -c %a /dev/fuse; `+deps+` fusermount3:fuse3; echo again`)
	if want := "install-deps: changed the mode of /dev/fuse from 600 to 666, as udev sets it, so that ordinary users can mount\n666\nagain\n"; err != nil || out != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
	out, err = locked(t, `exec setpriv --reuid 64001 --regid 64001 --clear-groups env PATH=/usr/bin:/bin bash -s fusermount3:fuse3 <`+deps)
	if want := "install-deps: /dev/fuse has mode 600, so ordinary users cannot mount; as root: chmod 666 /dev/fuse\n"; err != nil || out != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
	if out, err = locked(t, deps+` true:none; stat -c %a /dev/fuse`); err != nil || out != "600\n" {
		t.Errorf("what needs no mount changed the device: %v: %q", err, out)
	}
}
