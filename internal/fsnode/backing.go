package fsnode

import (
	"os"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// backing is the kernel's hold on the file behind a log while it is open. An inode has one backing file, and every
// open file of the inode must agree on how it is used, so the hold is shared and counted.
type backing struct {
	id     int32 // the kernel's; 0: this inode is not in passthrough mode
	users  int
	direct int // of users: open for reading and writing, and so not in passthrough mode
}

// probePassthrough asks the kernel once whether this daemon may register backing files (it needs CAP_SYS_ADMIN).
func (f *FS) probePassthrough() bool {
	if f.server.KernelSettings().Flags64()&fuse.CAP_PASSTHROUGH == 0 {
		return false
	}
	file, err := f.store.Dir().OpenFile(".ctxfs/nodes", unix.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	id, no := f.server.RegisterBackingFd(&fuse.BackingMap{Fd: int32(file.Fd())})
	if no != 0 {
		return false
	}
	f.server.UnregisterBackingFd(id)
	return true
}

// logMode says how the kernel is to use an open log, and takes what that needs. With the privilege, readers go to the
// file behind the log, past the daemon; writers always come to the daemon, one request a write(2).
//
// A log that is open for reading and writing is never in passthrough mode: a shared writable mapping of it would
// reach the file and change history. The kernel does not mix the modes on one inode, so readers do without
// passthrough while such a file is open, and such an open is refused while others are in passthrough mode.
func (f *FS) logMode(h *handle, flags uint32) (uint32, int32, error) {
	mode := uint32(0)
	if h.write {
		mode = fuse.FOPEN_DIRECT_IO
	}
	if !f.passthrough.Load() {
		return mode, 0, nil
	}
	f.backMu.Lock()
	defer f.backMu.Unlock()
	b := f.backings[h.node.id]
	if b == nil {
		b = &backing{}
		f.backings[h.node.id] = b
	}
	rdwr := flags&unix.O_ACCMODE == unix.O_RDWR
	if rdwr && b.id != 0 {
		return 0, 0, unix.EBUSY
	}
	if rdwr || b.direct > 0 {
		b.direct++
		b.users++
		h.backed, h.direct = true, true
		return fuse.FOPEN_DIRECT_IO, 0, nil
	}
	if b.id == 0 {
		if err := f.register(b, h.log.File()); err != nil {
			return mode, 0, nil // without the hold the daemon serves the bytes itself
		}
	}
	b.users++
	h.backed = true
	return mode | fuse.FOPEN_PASSTHROUGH, b.id, nil
}

func (f *FS) register(b *backing, file *os.File) error {
	id, no := f.server.RegisterBackingFd(&fuse.BackingMap{Fd: int32(file.Fd())})
	if no != 0 {
		return no
	}
	b.id = id
	return nil
}

// unback gives back what logMode took.
func (f *FS) unback(h *handle) {
	if !h.backed {
		return
	}
	f.backMu.Lock()
	defer f.backMu.Unlock()
	b := f.backings[h.node.id]
	b.users--
	if h.direct {
		b.direct--
	}
	if b.users > 0 {
		return
	}
	if b.id != 0 {
		f.server.UnregisterBackingFd(b.id)
	}
	delete(f.backings, h.node.id)
}
