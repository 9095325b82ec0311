package keep

import (
	"sync/atomic"
	"unsafe"
)

// unflushed is one log of which a flush to the disk failed. It stands in the header's pages.
type unflushed struct {
	set  atomic.Uint32 // 1: it counts
	_    uint32
	dev  uint64
	ino  uint64
	size int64
}

const (
	unflushedAt   = 4096
	unflushedSize = int(unsafe.Sizeof(unflushed{}))
	maxUnflushed  = (headerSize - unflushedAt) / unflushedSize
)

func (r *Region) unflushed(i int) *unflushed {
	return (*unflushed)(unsafe.Pointer(&r.mem[unflushedAt+i*unflushedSize]))
}

// Unflushed returns how many bytes of a file were on disk before a flush of it failed. failed is false when none did.
// See appendlog.Unflushed.
func (r *Region) Unflushed(dev, ino uint64) (size int64, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := r.findUnflushed(dev, ino); u != nil {
		return u.size, true
	}
	return 0, false
}

// SetUnflushed records that a flush of a file failed, of which size bytes are on disk. When there is no room, it is
// forgotten.
func (r *Region) SetUnflushed(dev, ino uint64, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.findUnflushed(dev, ino) != nil {
		return // the first failure counts
	}
	for i := range maxUnflushed {
		if u := r.unflushed(i); u.set.Load() == 0 {
			u.dev, u.ino, u.size = dev, ino, size
			u.set.Store(1)
			return
		}
	}
}

// ClearUnflushed records that all of a file is on disk.
func (r *Region) ClearUnflushed(dev, ino uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := r.findUnflushed(dev, ino); u != nil {
		u.set.Store(0)
	}
}

func (r *Region) findUnflushed(dev, ino uint64) *unflushed {
	for i := range maxUnflushed {
		if u := r.unflushed(i); u.set.Load() == 1 && u.dev == dev && u.ino == ino {
			return u
		}
	}
	return nil
}
