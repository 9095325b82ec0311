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
// Here one goroutine reads a request, answers it, and reads the next. Before it does what may take long, it sees to it that
// another one reads, and while there is such work some wait at /dev/fuse, so that nobody must be woken first. When what one does
// takes long against expectation, the watch has another one read.
type Server struct {
	fs  surviving
	dev *device
	ps  *fuse.ProtocolServer

	waiting atomic.Int32  // goroutines that read, or are about to
	wanted  atomic.Int32  // how many are to
	begun   atomic.Uint64 // counts requests
	slow    atomic.Uint64 // counts those that may take long
	again   chan struct{} // to those who have nothing to do: read
	idle    atomic.Int32  // how many they are
	resting atomic.Bool   // nobody watches: who begins a request wakes the watch
	wake    chan struct{} // holds one

	busy  sync.WaitGroup // all of these goroutines
	once  sync.Once
	over  chan struct{} // closed when the mount is gone
	err   error         // why it ended: set before over is closed
	flags uint64        // what the kernel can (FUSE_INIT)
}

// buffers are those of one request: the largest one and the largest reply fit.
type buffers struct{ in, out []byte }

const bufferSize = maxWrite + 64<<10

const (
	maxIdle    = 4 // goroutines that wait to be needed again
	maxWaiting = 3 // goroutines that read while there is work that may take long
)

// newBuffers makes some. The pages of what requests are read into are in place before the kernel is given it: a process that
// is killed while the kernel copies a request to a page that is not there yet costs the caller EIO; else the kernel goes on.
func newBuffers() *buffers {
	b := &buffers{in: make([]byte, bufferSize), out: make([]byte, bufferSize)}
	for i := 0; i < len(b.in); i += os.Getpagesize() {
		b.in[i] = 1
	}
	return b
}

func newServer(f *FS, dev *device) *Server {
	s := &Server{fs: surviving{f}, dev: dev, wake: make(chan struct{}, 1), over: make(chan struct{}), again: make(chan struct{})}
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

// start has the first goroutine read.
func (s *Server) start() {
	s.wanted.Store(1)
	s.summon()
	go s.watch()
}

// summon has one more goroutine read, unless as many do as are to. One that did before has buffers, and a stack that is large
// enough.
func (s *Server) summon() {
	select {
	case s.again <- struct{}{}:
	default:
		s.busy.Add(1)
		go s.work()
	}
}

// work is the life of a goroutine that reads now and then.
func (s *Server) work() {
	defer s.busy.Done()
	b := newBuffers()
	for s.read(b) && s.idle.Add(1) <= maxIdle {
		select {
		case <-s.again:
			s.idle.Add(-1)
		case <-s.over:
			return
		}
	}
	s.idle.Add(-1)
}

// enter counts the caller among those who read, if one more is to.
func (s *Server) enter() bool {
	for {
		n := s.waiting.Load()
		if n >= s.wanted.Load() {
			return false
		}
		if s.waiting.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// read reads requests and answers them until enough others do. more is false when the mount is gone.
func (s *Server) read(b *buffers) (more bool) {
	for s.enter() {
		n, err := s.dev.read(b.in)
		s.waiting.Add(-1)
		if err != nil {
			s.end(err)
			return false
		}
		s.begun.Add(1)
		if s.resting.Load() && s.resting.CompareAndSwap(true, false) {
			s.wake <- struct{}{}
		}
		if !s.fs.quick(b.in[:n]) {
			s.makeRoom()
		}
		s.answer(b.in[:n], b.out)
	}
	return true
}

// makeRoom is called before what may take long.
func (s *Server) makeRoom() {
	s.slow.Add(1)
	if n := s.wanted.Load(); n < maxWaiting {
		s.wanted.CompareAndSwap(n, n+1)
	}
	if s.waiting.Load() == 0 {
		s.summon()
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
