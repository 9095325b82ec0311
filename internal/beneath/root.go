package beneath

import (
	"os"

	"golang.org/x/sys/unix"
)

// IsDirInRoot tells whether the absolute path p is a directory when d is taken as the root of all paths, as in a
// chroot: links are followed, and stay inside (openat2, RESOLVE_IN_ROOT). The error says why it is not.
func (d *Dir) IsDirInRoot(p string) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV}
	for {
		fd, err := unix.Openat2(int(d.f.Fd()), p, &how)
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "open", Path: p, Err: err}
		}
		return unix.Close(fd)
	}
}
