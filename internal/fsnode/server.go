package fsnode

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Server reads the kernel's requests and answers them. go-fuse takes them apart and calls FS's methods. What reads them is
// not go-fuse's Server: that keeps two threads at it, which take turns, so that each request wakes another one, and costs
// nearly twice of what it does on a thread that goes on.
//
// Here one goroutine, the reader, reads a request, answers it, and reads the next. Before it does what may take long,
// and when what it does takes long against expectation, another one becomes the reader; it ends when it is done.
type Server struct {
	fs  surviving
	dev *device
	ps  *fuse.ProtocolServer

	reader  atomic.Pointer[reader]
	resting atomic.Bool   // nobody watches the reader: it wakes the watch
	wake    chan struct{} // holds one

	spare chan *buffers  // those that nobody uses
	busy  sync.WaitGroup // the reader, and those who were
	once  sync.Once
	over  chan struct{} // closed when the mount is gone
	err   error         // why it ended: set before over is closed
	flags uint64        // what the kernel can (FUSE_INIT)
}

// reader is who reads requests.
type reader struct {
	doing atomic.Uint64 // counts when it begins and when it ends a request, so that it is odd in between
}

// buffers are those of one request: the largest one and the largest reply fit.
type buffers struct{ in, out []byte }

const bufferSize = maxWrite + 64<<10

// maxSpare is how many buffers are kept for the next ones who need some.
const maxSpare = 4

// buffers gives some. The pages of what requests are read into are in place before the kernel is given it: a process that
// is killed while the kernel copies a request to a page that is not there yet costs the caller EIO; else the kernel goes on.
func (s *Server) buffers() *buffers {
	select {
	case b := <-s.spare:
		return b
	default:
	}
	b := &buffers{in: make([]byte, bufferSize), out: make([]byte, bufferSize)}
	for i := 0; i < len(b.in); i += os.Getpagesize() {
		b.in[i] = 1
	}
	return b
}

func (s *Server) putBack(b *buffers) {
	select {
	case s.spare <- b:
	default:
	}
}

func newServer(f *FS, dev *device) *Server {
	s := &Server{fs: surviving{f}, dev: dev, wake: make(chan struct{}, 1), over: make(chan struct{}), spare: make(chan *buffers, maxSpare)}
	s.ps = fuse.NewProtocolServer(s.fs, f.mountOptions())
	s.resting.Store(true)
	return s
}

// Wait returns when the mount is gone and all requests are answered. Its error is that of /dev/fuse.
func (s *Server) Wait() error {
	<-s.over
	s.busy.Wait()
	return errors.Join(s.err, unix.Close(s.dev.fd))
}

// replace has another goroutine be the reader instead of r, unless one is.
func (s *Server) replace(r *reader) {
	next := &reader{}
	if s.reader.CompareAndSwap(r, next) {
		s.busy.Add(1)
		go s.read(next)
	}
}

// read is a reader's life.
func (s *Server) read(r *reader) {
	defer s.busy.Done()
	b := s.buffers()
	defer s.putBack(b)
	for s.reader.Load() == r {
		n, err := s.dev.read(b.in)
		if err != nil {
			s.end(err)
			return
		}
		r.doing.Add(1)
		if s.resting.Load() && s.resting.CompareAndSwap(true, false) {
			s.wake <- struct{}{}
		}
		if !s.fs.quick(b.in[:n]) {
			s.replace(r)
		}
		s.answer(b.in[:n], b.out)
		r.doing.Add(1)
	}
}

// end is called with the error of reading.
func (s *Server) end(err error) {
	s.once.Do(func() {
		if err != unix.ENODEV && err != unix.ECONNABORTED { // unmounted; ended by hand (fusectl)
			s.err = err
		}
		close(s.over)
	})
}
