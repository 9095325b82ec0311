package session

import "sync"

// fileID is a file's device and inode.
type fileID struct{ dev, ino uint64 }

// unflushed is an appendlog.Unflushed that ends with the process.
type unflushed struct {
	mu    sync.Mutex // protects sizes; a leaf
	sizes map[fileID]int64
}

func (u *unflushed) Unflushed(dev, ino uint64) (size int64, failed bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	size, failed = u.sizes[fileID{dev, ino}]
	return size, failed
}

func (u *unflushed) SetUnflushed(dev, ino uint64, size int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.sizes[fileID{dev, ino}]; !ok {
		u.sizes[fileID{dev, ino}] = size
	}
}

func (u *unflushed) ClearUnflushed(dev, ino uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.sizes, fileID{dev, ino})
}
