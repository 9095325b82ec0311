package fsnode

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"ctxfs/internal/thread"

	"golang.org/x/sys/unix"
)

// backlog is how many connections may wait to be accepted.
const backlog = 128

// apart runs fn, which uses the daemon's own mount, so that the daemon can be killed meanwhile.
//
// Who uses a mount waits for answers that, here, other goroutines of the same process give. Were it killed then, the
// waiting thread, or a file of the mount that is closed as the process ends (FLUSH), would wait for an answer that nobody
// gives, while /dev/fuse stays open in the same file table: such a process cannot die. So fn runs on a thread of its own,
// with a file table of its own in which /dev/fuse is closed. When the others are killed, /dev/fuse is closed for good, the
// kernel ends the connection, and the wait.
func (f *FS) apart(fn func() error) error {
	return thread.Run(func() error {
		if err := unix.Unshare(unix.CLONE_FILES); err != nil {
			return err
		}
		if err := closeFUSE(f.opt.Supervisor); err != nil {
			return err
		}
		return fn()
	})
}

// bind binds and listens at name in the mount's own folder of sockets; s.mu is held. Descriptors that are made apart are
// in no table but the thread's, which ends: the socket is handed over by another one.
func (s *sockets) bind(name string) (*net.UnixListener, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pair[0])
	err = s.fs.apart(func() error { return s.bindApart(name, pair[1]) })
	_ = unix.Close(pair[1])
	if err != nil {
		return nil, fmt.Errorf("bind %s: %w", name, err)
	}
	fd, err := receiveFD(pair[0])
	if err != nil {
		return nil, fmt.Errorf("bind %s: %w", name, err)
	}
	return listenerOf(fd)
}

func (s *sockets) bindApart(name string, to int) error {
	s.binder.Store(uint32(unix.Gettid()))
	defer s.binder.Store(0)
	dir, err := unix.Open(filepath.Join(s.fs.opt.Mountpoint, socketsName), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return err
	}
	if st.Ino != uint64(kSockets) {
		return errNotOurs
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	// A socket's address has room for 107 bytes: not for every mountpoint.
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/thread-self/fd/%d/%s", dir, name)}); err != nil {
		return err
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return err
	}
	return unix.Sendmsg(to, []byte{1}, unix.UnixRights(fd), nil, 0)
}

// closeFUSE closes this thread's /dev/fuse, and the socket by whose end a supervisor knows that the others are gone. Nothing
// else: the runtime may need its own.
func closeFUSE(supervisor int) error {
	if supervisor > 0 {
		if err := unix.Close(supervisor); err != nil {
			return err
		}
	}
	const fds = "/proc/thread-self/fd"
	entries, err := os.ReadDir(fds)
	if err != nil {
		return err
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(fds, e.Name()))
		if err != nil || target != "/dev/fuse" {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			return err
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	return nil
}

// receiveFD takes a descriptor that was sent over a socket.
func receiveFD(from int) (int, error) {
	buf, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(from, buf, oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil {
		return -1, err
	}
	for _, m := range msgs {
		if fds, err := unix.ParseUnixRights(&m); err == nil && len(fds) == 1 {
			return fds[0], nil
		}
	}
	return -1, unix.EBADMSG
}
