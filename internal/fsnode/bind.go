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

// bind binds and listens at name in the mount's own folder of sockets; s.mu is held.
//
// The daemon asks itself here: bind(2) waits for a MKNOD that other goroutines answer. Were the daemon killed meanwhile,
// the waiting thread would keep /dev/fuse open, the kernel would wait for an answer that nobody gives, and the process
// could not die. So it is done by a thread of its own, with a file table of its own in which /dev/fuse is closed: the
// other threads die, /dev/fuse is closed for good, and the wait ends. The thread hands the socket over and ends.
func (s *sockets) bind(name string) (*net.UnixListener, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pair[0])
	err = thread.Run(func() error { return s.bindAlone(name, pair[1]) })
	unix.Close(pair[1])
	if err != nil {
		return nil, fmt.Errorf("bind %s: %w", name, err)
	}
	fd, err := receiveFD(pair[0])
	if err != nil {
		return nil, fmt.Errorf("bind %s: %w", name, err)
	}
	return listenerOf(fd)
}

// bindAlone is what the thread does.
func (s *sockets) bindAlone(name string, to int) error {
	if err := unix.Unshare(unix.CLONE_FILES); err != nil {
		return err
	}
	if err := closeFUSE(); err != nil {
		return err
	}
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

// closeFUSE closes this thread's /dev/fuse. Nothing else: the runtime may need its own.
func closeFUSE() error {
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
