package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"ctxfs/internal/mounts"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func newUmount() *cobra.Command {
	var lazy bool
	cmd := &cobra.Command{
		Use: "umount MOUNTPOINT", Short: "unmount, and wait until the daemon has let the store go", Aliases: []string{"unmount"},
		Example: "  ctxfs umount /ctx\n  ctxfs umount --lazy /ctx", Args: exactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return umount(mounts.Real(args[0]), lazy)
		},
	}
	cmd.Flags().BoolVarP(&lazy, "lazy", "l", false, "detach even while files are open; they work on until they are closed")
	return cmd
}

func umount(point string, lazy bool) error {
	m, ok, err := mounts.At(point)
	if err != nil {
		return err
	}
	if !ok || m.Point != point {
		return noMount{point: point}
	}
	status, err := mounts.Status(point)
	if err != nil && !errors.Is(err, unix.ENOTCONN) {
		return err
	}
	pid, _ := strconv.Atoi(status["pid"]) // a stale mount has no daemon to wait for
	daemon, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer unix.Close(daemon)
	} else {
		daemon = -1
	}
	if !lazy && daemon >= 0 {
		// Sockets keep a mount busy: the daemon lets go of them. Whom it does not obey cannot unmount either.
		_ = unix.Setxattr(point, "user.ctxfs.do", []byte("quiet"), 0)
	}
	if err := mounts.Unmount(point, lazy || pid == 0); err != nil {
		if errors.Is(err, unix.EBUSY) || os.Geteuid() != 0 { // fusermount3 does not say why in a way that programs can read
			return fmt.Errorf("%w: perhaps files are open, or a shell stands in it (see: fuser -vm %s; or detach it with: ctxfs umount --lazy %s)", err, point, point)
		}
		return err
	}
	if daemon >= 0 && !lazy {
		waitGone(daemon)
	}
	return nil
}

// waitGone waits, two seconds at most, until the process behind a pidfd has ended: then the store's lock is free. It does
// not matter whether the parent has looked, which in a container may be never.
func waitGone(pidfd int) {
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 2000) // to wait less is no harm
}
