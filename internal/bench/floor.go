package main

import (
	"encoding/binary"
	"fmt"
	"syscall"
	"unsafe"
)

// The floor is a FUSE server that does nothing: one file at each name, that takes every write and keeps none. It speaks the
// protocol of linux/fuse.h itself and answers from one thread, past Go's scheduler, so that what an append costs on it is
// what the kernel takes for a request's way to a server and back.
func floor(point string) error {
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	opts := fmt.Sprintf("fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other", fd)
	if err := syscall.Mount("floor", point, "fuse.floor", syscall.MS_NOSUID|syscall.MS_NODEV, opts); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	s := &floorServer{in: make([]byte, 1<<20+4096)}
	for {
		n, err := raw(syscall.SYS_READ, fd, s.in)
		switch err {
		case nil:
		case syscall.ENODEV:
			return syscall.Close(fd)
		case syscall.EINTR, syscall.ENOENT:
			continue
		default:
			return err
		}
		if out := s.answer(s.in[:n]); out != nil {
			if _, err := raw(syscall.SYS_WRITE, fd, out); err != nil && err != syscall.ENOENT {
				return err
			}
		}
	}
}

// Numbers of operations, as linux/fuse.h has them.
const (
	opLookup, opForget, opGetattr, opOpen, opWrite, opRelease, opFlush, opInit, opInterrupt, opBatchForget = 1, 2, 3, 14, 16, 18, 25, 26, 36, 42

	killprivV2 = 1 << 28 // FUSE_HANDLE_KILLPRIV_V2: else each write asks for security.capability first
	directIO   = 1       // FOPEN_DIRECT_IO
	noFlush    = 1 << 5  // FOPEN_NOFLUSH
)

type floorServer struct {
	in  []byte
	out [256]byte
}

// answer writes the reply to a request: struct fuse_out_header and what belongs to the operation.
func (s *floorServer) answer(in []byte) []byte {
	le := binary.LittleEndian
	op, node := le.Uint32(in[4:]), le.Uint64(in[16:])
	body := s.out[16:]
	clear(body)
	var n int
	var errno int32
	switch op {
	case opForget, opInterrupt, opBatchForget:
		return nil
	case opInit:
		n = 64
		le.PutUint32(body[0:], 7)
		le.PutUint32(body[4:], 31)
		le.PutUint32(body[8:], 128<<10)
		le.PutUint32(body[12:], le.Uint32(in[40+12:])&killprivV2)
		le.PutUint16(body[16:], 12)
		le.PutUint16(body[18:], 9)
		le.PutUint32(body[20:], 1<<20)
	case opLookup:
		n = 128
		le.PutUint64(body[0:], 2)
		le.PutUint64(body[16:], 3600)
		le.PutUint64(body[24:], 3600)
		s.attr(body[40:], 2)
	case opGetattr:
		n = 104
		le.PutUint64(body[0:], 3600)
		s.attr(body[16:], node)
	case opOpen:
		n = 16
		le.PutUint32(body[8:], directIO|noFlush)
	case opWrite:
		n = 8
		copy(body, in[40+16:40+20]) // all of it
	case opRelease, opFlush:
	default:
		errno = -int32(syscall.ENOSYS)
	}
	le.PutUint32(s.out[0:], uint32(16+n))
	*(*int32)(unsafe.Pointer(&s.out[4])) = errno
	copy(s.out[8:16], in[8:16])
	return s.out[:16+n]
}

// attr is struct fuse_attr: the root is a folder, all else one file.
func (s *floorServer) attr(a []byte, node uint64) {
	le := binary.LittleEndian
	mode, links := uint32(syscall.S_IFREG|0o666), uint32(1)
	if node == 1 {
		mode, links = syscall.S_IFDIR|0o755, 2
	}
	le.PutUint64(a[0:], node)
	le.PutUint32(a[60:], mode)
	le.PutUint32(a[64:], links)
	le.PutUint32(a[80:], 4096)
}
