package fsnode

import (
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// device is /dev/fuse of one mount: requests are read from it, replies and notifications are written to it. A request is
// read, and a reply written, whole (linux/fuse.h).
type device struct{ fd int }

// read gives the length of the next request, for which it waits.
func (d device) read(buf []byte) (int, error) {
	for {
		n, err := unix.Read(d.fd, buf)
		if n == 0 && err == nil {
			return 0, unix.ENODEV // a socket in the place of /dev/fuse was closed
		}
		if err != unix.EINTR && err != unix.ENOENT { // the request was interrupted before it was read
			return n, err
		}
	}
}

// reply writes what belongs to an answer in one piece.
func (d device) reply(parts ...[]byte) error {
	var err error
	if len(parts) == 1 {
		_, err = unix.Write(d.fd, parts[0])
	} else {
		_, err = unix.Writev(d.fd, parts)
	}
	if err == unix.ENOENT {
		return nil // who asked has gone
	}
	return err
}

const headerSize = int(unsafe.Sizeof(fuse.OutHeader{}))

// notify tells the kernel something unasked: code stands where a reply has its status.
func (d device) notify(code int32, parts ...[]byte) error {
	n := headerSize
	for _, p := range parts {
		n += len(p)
	}
	h := fuse.OutHeader{Length: uint32(n), Status: code}
	_, err := unix.Writev(d.fd, append([][]byte{bytesOf(&h)}, parts...))
	return err
}

// Codes of notifications (enum fuse_notify_code).
const (
	notifyInvalInode = 2
	notifyInvalEntry = 3
	notifyResend     = 7 // send again what a process before this one had read and not answered (Linux 6.9)
)

// inodeNotify has the kernel drop what it keeps of a node: its attributes, and of its bytes those from off on, none when off is
// negative.
func (d device) inodeNotify(node uint64, off, length int64) error {
	out := fuse.NotifyInvalInodeOut{Ino: node, Off: off, Length: length}
	return d.notify(notifyInvalInode, bytesOf(&out))
}

// entryNotify has the kernel forget a name.
func (d device) entryNotify(parent uint64, name string) error {
	out := fuse.NotifyInvalEntryOut{Parent: parent, NameLen: uint32(len(name))}
	return d.notify(notifyInvalEntry, bytesOf(&out), append([]byte(name), 0))
}

// The ioctls by which the kernel takes hold of a file behind an open one.
const (
	iocBackingOpen  = 0x4010e501
	iocBackingClose = 0x4004e502
)

// back has the kernel take hold of a file, and gives the number to name it by. It needs CAP_SYS_ADMIN.
func (d device) back(fd int) (int32, error) {
	m := fuse.BackingMap{Fd: int32(fd)}
	id, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(d.fd), iocBackingOpen, uintptr(unsafe.Pointer(&m)))
	if no != 0 {
		return 0, no
	}
	return int32(id), nil
}

// unback ends the hold.
func (d device) unback(id int32) {
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(d.fd), iocBackingClose, uintptr(unsafe.Pointer(&id))) // it was open
}

// bytesOf are a struct's own bytes, as the kernel has them.
func bytesOf[T any](p *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p)) }
