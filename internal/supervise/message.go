package supervise

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// What is said. A supervisor begins with keep for each file that it holds, and start.
const (
	sayKeep   = "keep"   // both: this is the file NAME
	sayDrop   = "drop"   // worker: the file NAME is not needed any more
	sayStart  = "start"  // supervisor: go on
	sayMount  = "mount"  // worker: all is well, mount; the answer is keep device, or failed
	sayReady  = "ready"  // worker: the mount is served
	sayFrail  = "frail"  // worker: the kernel cannot send requests again: do not start another worker
	sayFailed = "failed" // both: the work cannot be done, CODE TEXT
	sayGone   = "gone"   // worker: the mount was taken away
)

// maxMessage is the longest message, in bytes.
const maxMessage = 8192

// conn is one end of the socket pair.
type conn struct{ f *os.File }

func (c conn) say(verb, arg string, f *os.File) error {
	var rights []byte
	if f != nil {
		rights = unix.UnixRights(descriptor(f))
	}
	text := verb + " " + arg
	err := c.control(func(fd int) error {
		return unix.Sendmsg(fd, []byte(text[:min(len(text), maxMessage)]), rights, nil, unix.MSG_NOSIGNAL)
	})
	return os.NewSyscallError("sendmsg", err)
}

// descriptor gives a file's, and leaves it as it is: File.Fd would have all who share it wait in their system calls, and a socket
// that its worker listens at is not to.
func descriptor(f *os.File) int {
	n := -1
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { n = int(fd) }) // -1 then: a closed file, which the system call refuses
	}
	return n
}

// hear waits for the next message. The other's end is io.EOF.
func (c conn) hear() (verb, arg string, f *os.File, err error) {
	buf, oob := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4))
	var n, oobn int
	err = unix.ECONNRESET
	for err == unix.ECONNRESET { // told once: it died with messages unread. What it said before comes then.
		err = c.control(func(fd int) (err error) {
			n, oobn, _, _, err = unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
			return err
		})
	}
	if err == nil && n == 0 {
		return "", "", nil, io.EOF
	}
	if err != nil {
		return "", "", nil, os.NewSyscallError("recvmsg", err)
	}
	verb, arg, _ = strings.Cut(string(buf[:n]), " ")
	f, err = received(oob[:oobn], arg)
	return verb, arg, f, err
}

// wait returns when there is something to hear.
func (c conn) wait() {
	_ = c.control(func(fd int) error { // what is wrong with it, hear tells
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		return err
	})
}

// control does a system call on the socket, whose number is nobody else's meanwhile even if it is closed.
func (c conn) control(fn func(fd int) error) error {
	raw, err := c.f.SyscallConn()
	if err != nil {
		return err
	}
	for {
		cerr := raw.Control(func(fd uintptr) { err = fn(int(fd)) })
		if cerr != nil {
			return cerr
		}
		if err != unix.EINTR {
			return err
		}
	}
}

// received gives the file that came with a message, nil when none did.
func received(oob []byte, name string) (*os.File, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			return nil, err
		}
		if len(fds) == 1 {
			return os.NewFile(uintptr(fds[0]), name), nil
		}
	}
	return nil, nil
}

// Failure is why a worker gave up before it served.
type Failure struct {
	Code int // to exit with
	Text string
}

func (f *Failure) Error() string { return f.Text }

func parseFailure(arg string) *Failure {
	f := &Failure{Code: 1, Text: arg}
	if code, text, ok := strings.Cut(arg, " "); ok {
		if _, err := fmt.Sscan(code, &f.Code); err == nil {
			f.Text = text
		}
	}
	return f
}
