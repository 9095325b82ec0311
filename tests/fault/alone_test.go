//go:build linux && amd64

package fault

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// aloneEnv tells that this process has its mounts for itself.
const aloneEnv = "CTXFS_FAULT_ALONE"

// alone runs the tests again in a mount namespace of their own, and gives how they ended; ok tells that it could be made. A mount
// is served as long as it is in any namespace: were it in that of the host, whoever copies that one, as other tests do, would
// keep our daemons from ending. With the namespace, what is left of mounts goes too.
func alone() (code int, ok bool) {
	if os.Getuid() != 0 || os.Getenv(aloneEnv) != "" {
		return 0, false
	}
	self, err := os.Executable()
	if err != nil {
		return 0, false
	}
	runtime.LockOSThread() // Pdeathsig is a thread's
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), aloneEnv+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, false // not here: with the host's mounts, then
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), true // -1: a signal
	} else if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// leaveOthers detaches, from our namespace, the mounts of others that came with it: we would keep their daemons from ending.
func leaveOthers() error {
	list, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line) // device, mountpoint, type, ...
		if len(f) > 2 && (strings.HasPrefix(f[2], "fuse") || strings.HasPrefix(f[1], os.TempDir()+"/")) {
			_ = unix.Unmount(f[1], unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) // gone, or with the one that it is below
		}
	}
	return nil
}
