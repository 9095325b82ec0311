package serve

import (
	"net"
	"unsafe"

	"ctxfs/internal/thread"

	"golang.org/x/sys/unix"
)

// peer is who is at the other end of a connection, as the kernel recorded it when that connected.
type peer struct {
	uid, gid uint32
	pid      int32
	groups   []uint32
}

// peerOf asks the kernel (SO_PEERCRED, SO_PEERGROUPS in unix(7)).
func peerOf(c *net.UnixConn) (peer, error) {
	var p peer
	raw, err := c.SyscallConn()
	if err != nil {
		return p, err
	}
	var serr error
	err = raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			serr = err
			return
		}
		p.uid, p.gid, p.pid = cred.Uid, cred.Gid, cred.Pid
		p.groups, serr = peerGroups(fd)
	})
	if err == nil {
		err = serr
	}
	return p, err
}

func peerGroups(fd uintptr) ([]uint32, error) {
	groups := make([]uint32, 64)
	for {
		size := uint32(len(groups) * 4)
		_, _, no := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case no == 0:
			return groups[:size/4], nil
		case no == unix.ERANGE && size > uint32(len(groups)*4):
			groups = make([]uint32, size/4)
		default:
			return nil, no
		}
	}
}

// mayAccess asks the kernel whether the peer has the access mode (R_OK, W_OK, X_OK) to rel below dirfd: owner, groups
// and POSIX ACLs count as they do for the peer itself. It runs on a thread that takes on the peer's file system
// identity and ends with the question; only root can do that.
func (p peer) mayAccess(dirfd int, rel string, mode uint32) error {
	if p.uid == 0 {
		return nil
	}
	return thread.Run(func() error { return p.askAccess(dirfd, rel, mode) })
}

func (p peer) askAccess(dirfd int, rel string, mode uint32) error {
	groups := append([]uint32{p.gid}, p.groups...)
	// Not unix.Setgroups, which changes all threads.
	if _, _, no := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); no != 0 {
		return no
	}
	if _, err := unix.SetfsgidRetGid(int(p.gid)); err != nil {
		return err
	}
	if _, err := unix.SetfsuidRetUid(int(p.uid)); err != nil {
		return err
	}
	if now, err := unix.SetfsuidRetUid(-1); err != nil || now != int(p.uid) {
		return unix.EPERM
	}
	return unix.Faccessat2(dirfd, rel, mode, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW)
}
