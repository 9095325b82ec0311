package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"ctxfs/internal/mounts"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// errNoMount is what every noMount is.
var errNoMount = errors.New("no ctxfs is mounted")

// noMount is the error where no ctxfs is mounted at point; "": nowhere. cause, when set, is why nothing can be there.
type noMount struct {
	point string
	cause error
}

func (n noMount) Error() string {
	switch {
	case n.cause != nil:
		return n.cause.Error()
	case n.point != "":
		return fmt.Sprintf("%s: %v here (mount one with: ctxfs mount %s)", n.point, errNoMount, mounts.Quote(n.point))
	case os.Geteuid() == 0:
		return errNoMount.Error() + " (mount one with: ctxfs mount /ctx)"
	}
	return errNoMount.Error() + " (mount one with: ctxfs mount ~/ctx)"
}

func (noMount) Is(target error) bool { return target == errNoMount }

func (n noMount) Unwrap() error { return n.cause }

// addMountFlag adds --mount, which names the mount that pickMount returns.
func addMountFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "mount", "", "mountpoint (default: $CTXFS_MOUNT, else the mount around the working directory, else yours, else root's)")
}

// mountError returns why p is not the mountpoint of a ctxfs that works, nil if it is.
func mountError(p string) error {
	if err := mounts.Stale(p); err != nil {
		return err
	}
	m, ok, err := mounts.At(p)
	switch {
	case err != nil:
		return err
	case ok && m.Point == p:
		return nil
	case ok:
		return fmt.Errorf("%s: %w here; it is inside the one at %s", p, errNoMount, m.Point)
	}
	return noMount{p, notDirectory(p)}
}

// notDirectory returns why p is not a directory that is there, nil if it is.
func notDirectory(p string) error {
	st, err := os.Stat(p)
	why := error(unix.ENOTDIR)
	if wrong := (*fs.PathError)(nil); errors.As(err, &wrong) {
		why = wrong.Err
	} else if st.IsDir() {
		return nil
	}
	return &fs.PathError{Op: "mountpoint", Path: p, Err: why}
}

// pickMount returns the mountpoint that a command works on: the one named, else the one in CTXFS_MOUNT, else the one that
// chooseMount finds. The mount answers.
func pickMount(named string) (string, error) {
	if named == "" {
		named = os.Getenv(envName("", pointKey))
	}
	if named != "" {
		point := mounts.Real(named)
		return point, mountError(point)
	}
	list, err := mounts.List()
	if err != nil {
		return "", err
	}
	var buf [unix.PathMax]byte
	n, err := unix.Getcwd(buf[:])
	if err != nil { // the directory was removed: no mount surrounds it
		n = 1
	}
	point, err := chooseMount(list, os.Geteuid(), string(buf[:n-1]))
	if err != nil {
		return "", err
	}
	return point, mountError(point)
}

// chooseMount returns the mount that a user means who names none and works in the directory dir: the one that surrounds dir, else the
// user's own, else root's. Of several of one rank it is /ctx, or an error that lists them. Other users' mounts (except root's) are used
// only when named: their daemons say what they like.
func chooseMount(list []mounts.Mount, uid int, dir string) (string, error) {
	if m, ok := mounts.Surrounding(list, dir); ok {
		if !m.Believed(uid) {
			return "", usageError{fmt.Sprintf("the working directory is in %s, another user's mount, which is used only when it is named: set CTXFS_MOUNT=%s, or work elsewhere", m.Point, mounts.Quote(m.Point))}
		}
		return m.Point, nil
	}
	own, roots, others := rankMounts(list, uid)
	for _, rank := range [][]string{own, roots} {
		switch {
		case len(rank) == 1:
			return rank[0], nil
		case slices.Contains(rank, "/ctx"):
			return "/ctx", nil
		case len(rank) > 1:
			return "", usageError{fmt.Sprintf("several ctxfs are mounted: %s (work in one of them, or choose one with CTXFS_MOUNT=%s)", strings.Join(rank, ", "), mounts.Quote(rank[0]))}
		}
	}
	if len(others) > 0 {
		return "", fmt.Errorf("%w; other users' mounts are used only when named: CTXFS_MOUNT=%s", noMount{}, mounts.Quote(others[0]))
	}
	return "", noMount{}
}

// rankMounts returns the mountpoints that let a user in: the user's own, root's, and those of others.
func rankMounts(list []mounts.Mount, uid int) (own, roots, others []string) {
	for _, m := range list {
		switch {
		case !m.LetsIn(uid):
		case m.UID == uid:
			own = append(own, m.Point)
		case m.Believed(uid):
			roots = append(roots, m.Point)
		default:
			others = append(others, m.Point)
		}
	}
	return own, roots, others
}
