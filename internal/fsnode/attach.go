package fsnode

import (
	"errors"
	"fmt"
	"os"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Attach serves the mount behind /dev/fuse until it is unmounted: see Server.Wait. again tells that another process served it
// before. The caller can close dev.
func (f *FS) Attach(dev *os.File, again bool) (*Server, error) {
	fd, err := unix.FcntlInt(dev.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	s := newServer(f, &device{fd})
	if err := s.attach(again); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	s.start()
	return s, nil
}

func (s *Server) attach(again bool) error {
	if err := unix.SetNonblock(s.dev.fd, false); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	s.fs.dev.Store(s.dev)
	if again {
		if err := s.dev.notify(notifyResend); err != nil {
			return fmt.Errorf("ask for unanswered requests: %w", err)
		}
	}
	if err := s.greet(); err != nil {
		return err
	}
	var newest int32
	if s.flags&fuse.CAP_PASSTHROUGH != 0 {
		var ok bool
		newest, ok = s.fs.probePassthrough()
		s.fs.passthrough.Store(ok)
	}
	s.fs.finishMoves()
	if err := s.fs.restore(); err != nil {
		return err
	}
	if again {
		s.fs.dropStrays(newest)
	}
	return nil
}

// greet answers the kernel's INIT, which is kept for a process after this one: the kernel sends it once. Of a process after
// the first go-fuse is told what the kernel said then.
func (s *Server) greet() error {
	init, answered, err := s.initRequest()
	if err != nil {
		return err
	}
	out := make([]byte, bufferSize)
	n, status := s.ps.HandleRequest([][]byte{init}, [][]byte{out})
	if !status.Ok() {
		return fmt.Errorf("INIT: %v", status)
	}
	var settings fuse.InitIn
	copy(bytesOf(&settings), init)
	s.flags = settings.Flags64()
	if answered {
		return nil
	}
	if err := s.dev.reply(out[:n]); err != nil {
		return os.NewSyscallError("answer INIT", err)
	}
	// One that dies in between leaves a mount that nobody can go on with; it was never used.
	if s.fs.region == nil {
		return nil
	}
	return s.fs.region.SetInit(init)
}

// initRequest gives the kernel's INIT, and whether it was answered.
func (s *Server) initRequest() ([]byte, bool, error) {
	if s.fs.region != nil {
		if init, ok := s.fs.region.Init(); ok {
			return init, true, nil
		}
	}
	buf := make([]byte, bufferSize)
	n, err := s.dev.read(buf)
	return buf[:max(n, 0)], false, os.NewSyscallError("read INIT", err)
}

// Resumable tells whether the kernel can send requests again to a process after this one.
func (s *Server) Resumable() bool { return s.fs.region != nil && s.flags&fuse.CAP_HAS_RESEND != 0 }
