package fsnode

import (
	"testing"
	"time"
	"unsafe"

	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// kernel is the other end of a server's device.
type kernel struct {
	t    *testing.T
	fd   int
	next uint64
}

// newKernel starts a server of a new store, which answers on a socket instead of /dev/fuse.
func newKernel(t *testing.T) (*kernel, *Server) {
	t.Helper()
	store, err := session.Open(t.TempDir(), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fs, err := New(store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	k := &kernel{t: t, fd: pair[1]}
	s := newServer(fs, &device{pair[0]})
	init := fuse.InitIn{Major: 7, Minor: 40}
	k.send(opInit, 0, bytesOf(&init)[unsafe.Sizeof(fuse.InHeader{}):])
	if err := s.attach(false); err != nil {
		t.Fatal(err)
	}
	k.answer()
	s.start()
	t.Cleanup(func() {
		if err := unix.Close(k.fd); err != nil {
			t.Error(err)
		}
		if err := s.Wait(); err != nil {
			t.Error(err)
		}
		store.Close()
	})
	return k, s
}

const (
	opInit   = 26
	noSuchOp = 99
)

// send asks something, and gives the number of the question.
func (k *kernel) send(op uint32, node uint64, body []byte) uint64 {
	k.t.Helper()
	k.next += 2
	h := fuse.InHeader{Opcode: op, Unique: k.next, NodeId: node}
	h.Length = uint32(int(unsafe.Sizeof(h)) + len(body))
	if _, err := unix.Write(k.fd, append(append([]byte(nil), bytesOf(&h)...), body...)); err != nil {
		k.t.Fatal(err)
	}
	return k.next
}

// answer waits for the next answer.
func (k *kernel) answer() (fuse.OutHeader, []byte) {
	k.t.Helper()
	if err := unix.SetsockoptTimeval(k.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}); err != nil {
		k.t.Fatal(err)
	}
	buf := make([]byte, bufferSize)
	for {
		n, err := unix.Read(k.fd, buf)
		if err != nil {
			k.t.Fatalf("no answer: %v", err)
		}
		var h fuse.OutHeader
		copy(bytesOf(&h), buf)
		if int(h.Length) != n {
			k.t.Fatalf("an answer of %d bytes says that it has %d", n, h.Length)
		}
		if h.Unique != 0 { // else it is a notification
			return h, buf[headerSize:n]
		}
	}
}

// ask is send, and its answer.
func (k *kernel) ask(op uint32, node uint64, body []byte) (fuse.OutHeader, []byte) {
	k.t.Helper()
	unique := k.send(op, node, body)
	h, data := k.answer()
	if h.Unique != unique {
		k.t.Fatalf("the answer to %d is of %d", unique, h.Unique)
	}
	return h, data
}

// openLog makes a session, and opens its log for appending.
func (k *kernel) openLog(s *Server) (node, fh uint64) {
	k.t.Helper()
	c, err := s.fs.store.Container("home/0/agent/a")
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := c.Create("x", session.Caller{}); err != nil {
		k.t.Fatal(err)
	}
	id := uint64(fuse.FUSE_ROOT_ID)
	for _, name := range []string{"home", "0", "agent", "a", "session", "x", "messages.jsonl"} {
		h, data := k.ask(opLookup, id, append([]byte(name), 0))
		if h.Status != 0 {
			k.t.Fatalf("%s: %v", name, fuse.Status(-h.Status))
		}
		id = (*fuse.EntryOut)(unsafe.Pointer(&data[0])).NodeId
	}
	in := fuse.OpenIn{Flags: unix.O_WRONLY | unix.O_APPEND}
	h, data := k.ask(opOpen, id, bytesOf(&in)[unsafe.Sizeof(fuse.InHeader{}):])
	if h.Status != 0 {
		k.t.Fatal(fuse.Status(-h.Status))
	}
	return id, (*fuse.OpenOut)(unsafe.Pointer(&data[0])).Fh
}

func writeBody(fh uint64, line string) []byte {
	in := fuse.WriteIn{Fh: fh, Size: uint32(len(line)), Flags: unix.O_APPEND}
	return append(append([]byte(nil), bytesOf(&in)[unsafe.Sizeof(fuse.InHeader{}):]...), line...)
}

// A request that takes long against expectation holds up no other, and is answered in the end.
func TestSlowRequest(t *testing.T) {
	k, s := newKernel(t)
	node, fh := k.openLog(s)
	h := s.fs.handles.get(fh)
	h.mu.Lock()
	slow := k.send(opWrite, node, writeBody(fh, "{}\n"))
	time.Sleep(patience / 2)
	for range 5 { // who is asked next does not wait for it
		if got, _ := k.ask(opStatfs, 1, nil); got.Status != 0 {
			t.Errorf("statfs: %v", fuse.Status(-got.Status))
		}
	}
	h.mu.Unlock()
	got, data := k.answer()
	if got.Unique != slow || got.Status != 0 || (*fuse.WriteOut)(unsafe.Pointer(&data[0])).Size != 3 {
		t.Errorf("the slow request: %+v %v", got, data)
	}
	if size := h.log.Size(); size != 3 {
		t.Errorf("the log has %d bytes", size)
	}
}

// What nobody asks for wakes nobody: after a while, the watch ends, and it comes back with the next slow request.
func TestWatchRests(t *testing.T) {
	k, s := newKernel(t)
	for range 2 {
		k.ask(opStatfs, 1, nil)
		for end := time.Now().Add(10 * time.Second); !s.resting.Load(); time.Sleep(patience) {
			if time.Now().After(end) {
				t.Fatal("the watch does not rest")
			}
		}
	}
}

// Answers of the lane of their own that WRITE has are those of FS, also when it fails or panics.
func TestWriteAnswers(t *testing.T) {
	k, s := newKernel(t)
	node, fh := k.openLog(s)
	for _, c := range []struct {
		name string
		fh   uint64
		line string
		want fuse.Status
	}{
		{"a line", fh, `{"role":"user","content":"x"}` + "\n", fuse.OK},
		{"no object", fh, "x\n", fuse.EINVAL},
		{"a handle that nobody has", 1 << 40, "{}\n", fuse.EBADF},
	} {
		h, data := k.ask(opWrite, node, writeBody(c.fh, c.line))
		if fuse.Status(-h.Status) != c.want {
			t.Errorf("%s: %v, want %v", c.name, fuse.Status(-h.Status), c.want)
		}
		if c.want.Ok() && (len(data) != 8 || (*fuse.WriteOut)(unsafe.Pointer(&data[0])).Size != uint32(len(c.line))) {
			t.Errorf("%s: %v", c.name, data)
		}
	}
	broken := s.fs.handles.get(fh)
	broken.sess = nil // a panic
	if h, _ := k.ask(opWrite, node, writeBody(fh, "{}\n")); h.Status != -int32(unix.EIO) {
		t.Errorf("a panic: %v", fuse.Status(-h.Status))
	}
	if h, _ := k.ask(noSuchOp, 1, nil); h.Status != -int32(unix.ENOSYS) {
		t.Errorf("an operation that nobody knows: %v", fuse.Status(-h.Status))
	}
}
