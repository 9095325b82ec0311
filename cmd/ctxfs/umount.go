package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"ctxfs/internal/mounts"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func newUmount() *cobra.Command {
	var lazy bool
	cmd := &cobra.Command{
		Use: "umount MOUNTPOINT", Short: "unmount, and wait until the daemon has let the store go", Aliases: []string{"unmount"},
		Long: `Unmount, and wait until the daemon has let the store go. A stale mountpoint, whose daemon was killed, is freed. With --lazy nothing is
asked of the daemon: that frees the mountpoint of one that hangs, too.`,
		Example: "  ctxfs umount /ctx\n  ctxfs umount --lazy /ctx", Args: exactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := mountAt(args[0])
			if err != nil {
				return err
			}
			return umount(m, lazy)
		},
	}
	cmd.Flags().BoolVarP(&lazy, "lazy", "l", false, "detach even while files are open; they work on until they are closed")
	return cmd
}

// mountAt returns the mount at the path p. Nothing is asked of a mount that p names as the kernel lists it: it may hang.
func mountAt(p string) (mounts.Mount, error) {
	abs, err := filepath.Abs(p)
	if err != nil {
		return mounts.Mount{}, err
	}
	list, err := mounts.List()
	if err != nil {
		return mounts.Mount{}, err
	}
	for _, point := range []func() string{func() string { return abs }, func() string { return mounts.Real(p) }} {
		at := point()
		if m, ok := mounts.Surrounding(list, at); ok && m.Point == at {
			return m, nil
		}
	}
	return mounts.Mount{}, mountError(mounts.Real(p))
}

func umount(m mounts.Mount, lazy bool) error {
	if uid := os.Geteuid(); !m.LetsIn(uid) || uid != 0 && m.UID != uid {
		return fmt.Errorf("%s is user %d's; have it unmounted by its user: %s", m.Point, m.UID, mounts.FreeCommand(m.Point))
	}
	if lazy {
		return mounts.Unmount(m.Point, true)
	}
	status, _, err := oneStatus(m.Point)
	if errors.Is(err, mounts.ErrStale) {
		return mounts.Unmount(m.Point, true) // there is no daemon to wait for
	}
	if err != nil {
		return err
	}
	pid, _ := strconv.Atoi(status["pid"]) // 0 is no process
	daemon, gone := unix.PidfdOpen(pid, 0)
	if gone == nil {
		defer unix.Close(daemon)
		// Sockets keep a mount busy: the daemon lets go of them. Whom it does not obey cannot unmount either.
		_ = unix.Setxattr(m.Point, "user.ctxfs.do", []byte("quiet"), 0)
	}
	if err := mounts.Unmount(m.Point, false); err != nil {
		if errors.Is(err, unix.EBUSY) || os.Geteuid() != 0 { // fusermount3 does not say why in a way that programs can read
			point := mounts.Quote(m.Point)
			return fmt.Errorf("%w: perhaps files are open, or a shell works in it (see: fuser -vm %s; or detach it with: ctxfs umount --lazy %s)", err, point, point)
		}
		return err
	}
	if gone == nil {
		waitGone(daemon)
	}
	return nil
}

// waitGone waits, two seconds at most, until the process behind a pidfd has ended: then the store's lock is free. It does
// not matter whether the parent has looked, which in a container may be never.
func waitGone(pidfd int) {
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 2000) // to wait less is no harm
}
