package keep

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The layout. Of the file only pages that were written to take memory.
const (
	magic      = 0x6374786673000002 // "ctxfs", version 2: a process that does not know the layout must not go on with it
	headerSize = 1 << 16
	slotSize   = 256
	maxSlots   = 1 << 20
	ringSlots  = 1 << 12
	ringSize   = 64
	slotsAt    = headerSize
	ringAt     = slotsAt + maxSlots*slotSize
	arenaAt    = ringAt + ringSlots*ringSize
	arenaSize  = 16 << 30
	fileSize   = arenaAt + arenaSize
)

// Layout names the layout: processes of which it differs cannot go on with each other's.
const Layout = "2"

// maxInit is the longest INIT request that is kept, in bytes.
const maxInit = 512

// header is the first page of the memory.
type header struct {
	magic   uint64
	started int64         // nanoseconds since the epoch
	workers uint64        // how many processes have opened it
	nextFh  atomic.Uint64 // file handle numbers below it were given
	next    [2]atomic.Uint64
	initLen atomic.Uint32 // 0: the kernel's INIT was not answered yet
	_       uint32
	init    [maxInit]byte
}

// Region is the memory as one process has it. It is safe for concurrent use.
type Region struct {
	mem  []byte
	head *header

	mu    sync.Mutex // protects what is below; a leaf
	arena arena
	spare []int // free slots below top
	top   int   // slots from here on were never used
	texts map[textKey]*text
	idle  []*text // that no slot names, oldest first
	held  int     // bytes of idle
}

// Create makes the memory: a file without a name, to be handed to each process that serves the mount.
func Create() (*os.File, error) {
	fd, err := unix.MemfdCreate("ctxfs open files", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "open files")
	if err := f.Truncate(fileSize); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Open maps the memory, and finds what a process before this one left in it. f can be closed afterwards.
func Open(f *os.File, now int64) (*Region, error) {
	mem, err := unix.Mmap(int(f.Fd()), 0, fileSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	r := &Region{mem: mem, head: (*header)(unsafe.Pointer(&mem[0])), texts: map[textKey]*text{}}
	switch r.head.magic {
	case 0:
		r.head.started = now
		r.head.nextFh.Store(1)
		r.head.magic = magic
	case magic:
	default:
		return nil, errors.Join(fmt.Errorf("open files are kept in another layout: %#x", r.head.magic), unix.Munmap(mem))
	}
	r.head.workers++
	r.find()
	return r, nil
}

// Close unmaps the memory: nothing that it gave may be used any more.
func (r *Region) Close() error { return os.NewSyscallError("munmap", unix.Munmap(r.mem)) }

// Started is when the mount was made, in nanoseconds since the epoch.
func (r *Region) Started() int64 { return r.head.started }

// Workers is how many processes have served the mount, this one included.
func (r *Region) Workers() uint64 { return r.head.workers }

// NextFh gives a number for an open file. None is given twice.
func (r *Region) NextFh() uint64 { return r.head.nextFh.Add(1) - 1 }

// Counter gives one of two numbers, 0 or 1, that the file system keeps: which node ids were given out.
func (r *Region) Counter(i int) *atomic.Uint64 { return &r.head.next[i] }

// Init gives the kernel's INIT request, once it was answered.
func (r *Region) Init() ([]byte, bool) {
	n := min(r.head.initLen.Load(), maxInit)
	return r.head.init[:n:n], n > 0
}

// SetInit keeps the INIT request that was answered. One that is too long is an error.
func (r *Region) SetInit(req []byte) error {
	if len(req) > maxInit {
		return fmt.Errorf("INIT of %d bytes", len(req))
	}
	copy(r.head.init[:], req)
	r.head.initLen.Store(uint32(len(req)))
	return nil
}

// find goes through the slots: those in use, and so what is free. A slot that names bytes where there are none was written by
// a process gone wild: it is given up, and with it one open file, rather than the mount.
func (r *Region) find() {
	var used []Extent
	for i := range maxSlots {
		s := r.slot(i)
		switch s.state.Load() {
		case never:
			r.top = i
			r.arena.start(r.mem[arenaAt:], used)
			return
		case free:
			r.spare = append(r.spare, i)
		default:
			e, ok := r.extent(i)
			if !ok || !e.sound() {
				s.state.Store(free)
				r.spare = append(r.spare, i)
				continue
			}
			s.index = uint32(i)
			used = append(used, e)
		}
	}
	r.top = maxSlots
	r.arena.start(r.mem[arenaAt:], used)
}
