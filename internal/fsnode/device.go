package fsnode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// notifyResend asks the kernel to send again what a process before this one had read and not answered (linux/fuse.h,
// FUSE_NOTIFY_RESEND, Linux 6.9): a header without a body.
const notifyResend = 7

// Attach serves the mount behind /dev/fuse, which it takes over: the server's Serve method serves until it is unmounted. again
// tells that another process served it before.
//
// go-fuse takes the first request for INIT, which the kernel sends once. So it begins on a socket, where it is handed the
// INIT that the first process kept; then /dev/fuse takes the socket's place.
func (f *FS) Attach(dev *os.File, again bool) (*fuse.Server, error) {
	defer dev.Close()
	if again {
		if err := resend(dev); err != nil {
			return nil, fmt.Errorf("ask for unanswered requests: %w", err)
		}
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	defer unix.Close(pair[1])
	init, answered, err := f.initRequest(dev)
	if err != nil {
		return nil, err
	}
	if _, err := unix.Write(pair[1], init); err != nil {
		return nil, os.NewSyscallError("write", err)
	}
	server, err := fuse.NewServer(surviving{f}, fmt.Sprintf("/dev/fd/%d", pair[0]), f.mountOptions())
	if err != nil {
		return nil, err
	}
	if !answered {
		if err := f.answerInit(dev, pair[1], init); err != nil {
			return nil, err
		}
	}
	if err := unix.Dup3(int(dev.Fd()), pair[0], unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("dup3", err)
	}
	f.passthrough.Store(f.probePassthrough())
	prefault(server)
	return server, f.restore()
}

// prefault has the pages of each buffer in place before the kernel is given it. A process that is killed while the kernel
// copies a request to it, to a page that is not there yet, costs the caller EIO; where all pages are there, the kernel goes on.
// go-fuse offers no way to its pool of buffers; where a later one keeps them elsewhere, this does nothing, and TestReadPool fails.
func prefault(s *fuse.Server) {
	pool := readPool(s)
	if pool == nil {
		return
	}
	fresh := pool.New
	pool.New = func() any { return touched(fresh()) }
	pool.Put(touched(pool.Get())) // INIT came in it
}

// readPool gives go-fuse's pool of buffers, nil when it is not where it was.
func readPool(s *fuse.Server) *sync.Pool {
	v := reflect.ValueOf(s).Elem().FieldByName("readPool")
	if !v.IsValid() || v.Type() != reflect.TypeFor[sync.Pool]() {
		return nil
	}
	return (*sync.Pool)(v.Addr().UnsafePointer())
}

// touched writes to each page of a buffer.
func touched(buf any) any {
	const page = 4096
	if b, ok := buf.([]byte); ok {
		for i := 0; i < len(b); i += page {
			b[i] = 0
		}
		b[len(b)-1] = 0
	}
	return buf
}

func resend(dev *os.File) error {
	var note [16]byte // struct fuse_out_header
	binary.NativeEndian.PutUint32(note[0:], uint32(len(note)))
	binary.NativeEndian.PutUint32(note[4:], notifyResend)
	_, err := unix.Write(int(dev.Fd()), note[:])
	return os.NewSyscallError("write", err)
}

// initRequest gives the kernel's INIT, and whether it was answered.
func (f *FS) initRequest(dev *os.File) ([]byte, bool, error) {
	if f.region != nil {
		if init, ok := f.region.Init(); ok {
			return init, true, nil
		}
	}
	buf := make([]byte, 1<<16)
	for {
		n, err := unix.Read(int(dev.Fd()), buf)
		if err == nil {
			return buf[:n], false, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, false, os.NewSyscallError("read INIT", err)
		}
	}
}

// answerInit gives the kernel go-fuse's answer, and keeps the request for a process after this one. One that dies in between
// leaves a mount that nobody can go on with; it was never used.
func (f *FS) answerInit(dev *os.File, from int, init []byte) error {
	answer := make([]byte, 1<<12)
	n, err := unix.Read(from, answer)
	if err != nil {
		return os.NewSyscallError("read INIT's answer", err)
	}
	if _, err := unix.Write(int(dev.Fd()), answer[:n]); err != nil {
		return os.NewSyscallError("answer INIT", err)
	}
	if f.region == nil {
		return nil
	}
	return f.region.SetInit(init)
}

// Resumable tells whether the kernel can send requests again to a process after this one.
func (f *FS) Resumable() bool {
	return f.region != nil && f.server.KernelSettings().Flags64()&fuse.CAP_HAS_RESEND != 0
}
