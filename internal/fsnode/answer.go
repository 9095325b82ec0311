package fsnode

import (
	"encoding/binary"
	"fmt"
	"runtime/debug"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// The operations that are told apart here (enum fuse_opcode of linux/fuse.h).
const (
	opLookup      = 1
	opForget      = 2
	opGetattr     = 3
	opOpen        = 14
	opRead        = 15
	opWrite       = 16
	opStatfs      = 17
	opRelease     = 18
	opFlush       = 25
	opReleasedir  = 29
	opInterrupt   = 36
	opDestroy     = 38
	opBatchForget = 42
)

// header is the beginning of each request. One that is shorter does not come from the kernel.
func header(req []byte) *fuse.InHeader {
	if len(req) < int(unsafe.Sizeof(fuse.InHeader{})) {
		return &fuse.InHeader{}
	}
	return (*fuse.InHeader)(unsafe.Pointer(&req[0]))
}

// answer does what a request asks for, and replies.
func (s *Server) answer(req, out []byte) {
	h := header(req)
	s.fs.asked.count(h.Opcode)
	if in := s.fs.appended(h, req); in != nil {
		s.answerWrite(in, req[unsafe.Sizeof(*in):], out)
		return
	}
	n, status := s.ps.HandleRequest([][]byte{req}, [][]byte{out})
	if !status.Ok() {
		n = fail(out, h.Unique, status)
	}
	if n < headerSize {
		return // nobody waits for an answer
	}
	if errno := -int32(binary.NativeEndian.Uint32(out[4:])); errno != 0 {
		s.fs.asked.failed(h.Opcode, fuse.Status(errno))
	}
	s.said(h, s.dev.reply(out[:n]))
}

// said is told how a reply went.
func (s *Server) said(h *fuse.InHeader, err error) {
	if err != nil && err != unix.ENODEV {
		s.fs.opt.Log.Warn("a reply was not taken", "operation", opName(h.Opcode), "error", err)
	}
}

// fail writes the reply of a request that failed.
func fail(out []byte, unique uint64, status fuse.Status) int {
	binary.NativeEndian.PutUint32(out, uint32(headerSize))
	binary.NativeEndian.PutUint32(out[4:], uint32(-status))
	binary.NativeEndian.PutUint64(out[8:], unique)
	return headerSize
}

// appended gives the head of a request that writes, when it can be answered without go-fuse: appends are what there is most of.
func (f *FS) appended(h *fuse.InHeader, req []byte) *fuse.WriteIn {
	const size = int(unsafe.Sizeof(fuse.WriteIn{}))
	if h.Opcode != opWrite || h.TotalExtlen != 0 || len(req) < size || f.opt.Debug {
		return nil
	}
	in := (*fuse.WriteIn)(unsafe.Pointer(&req[0]))
	if int(in.Size) != len(req)-size {
		return nil
	}
	return in
}

func (s *Server) answerWrite(in *fuse.WriteIn, data, out []byte) {
	size, status := s.write(in, data)
	n := fail(out, in.Unique, status)
	if !status.Ok() {
		s.fs.asked.failed(opWrite, status)
	} else {
		n += int(unsafe.Sizeof(fuse.WriteOut{}))
		binary.NativeEndian.PutUint32(out, uint32(n))
		binary.NativeEndian.PutUint64(out[headerSize:], uint64(size)) // and the padding
	}
	s.said(&in.InHeader, s.dev.reply(out[:n]))
}

// write is FS.Write; a panic is an answer too, as for other operations in go-fuse.
func (s *Server) write(in *fuse.WriteIn, data []byte) (n uint32, status fuse.Status) {
	defer func() {
		if r := recover(); r != nil {
			s.fs.opt.Log.Error("panic", "operation", opName(opWrite), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			n, status = 0, fuse.EIO
		}
	}()
	return s.fs.Write(nil, in, data)
}
