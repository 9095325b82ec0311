package fsnode

import (
	"os"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// backing is how the kernel uses a log while it is open. An inode has one backing file, and every open file of the inode must
// agree on how it is used, so that is shared and counted.
type backing struct {
	id     int32 // of the kernel's hold on the file behind the log; 0: this inode is not in passthrough mode
	users  int
	read   int           // of users: read, through the daemon
	direct int           // of users: open for reading and writing, or beside who is
	idle   chan struct{} // closed when the last user has gone
}

// busyWait is how long an open for reading and writing waits for others to go: the kernel tells of a close(2) only
// after it has returned.
const busyWait = 200 * time.Millisecond

// probePassthrough asks the kernel once whether this daemon may register backing files (it needs CAP_SYS_ADMIN). The number that
// it was given for that is the newest.
func (f *FS) probePassthrough() (newest int32, ok bool) {
	file, err := f.store.Dir().OpenFile(".ctxfs/nodes", unix.O_RDONLY, 0)
	if err != nil {
		return 0, false
	}
	defer file.Close()
	if newest, err = f.dev.Load().back(int(file.Fd())); err != nil {
		return 0, false
	}
	f.dev.Load().unback(newest)
	return newest, true
}

// readPast tells whether readers of logs go past the daemon.
func (f *FS) readPast() bool { return f.opt.ReadPast && f.passthrough.Load() }

// logMode says how the kernel is to use an open log, and takes what that needs. Writers always come to the daemon, one request a
// write(2), and it serves the bytes to readers: whole lines, where the file behind grows page by page under write(2). The kernel
// keeps none of them for read(2): it takes a log to be longer than it is while a line is held that is not finished, and would fill up
// what it keeps with zeros. When asked to, and with the privilege, readers go to the file behind the log, past the daemon.
//
// Who has a log open for reading and writing can map it, shared and writable: that would reach the file, or the pages that the kernel
// keeps for mappings, and change history for whoever reads it. So such an open is neither passed through nor beside readers; and what
// was kept meanwhile is dropped at its end.
func (f *FS) logMode(h *handle, flags uint32) (uint32, int32, error) {
	rdwr := flags&unix.O_ACCMODE == unix.O_RDWR
	if rdwr && !f.waitIdle(h.node.id) {
		return 0, 0, unix.EBUSY
	}
	f.backMu.Lock()
	defer f.backMu.Unlock()
	b := f.backings[h.node.id]
	if b == nil {
		b = &backing{idle: make(chan struct{})}
		f.backings[h.node.id] = b
	}
	if rdwr && !b.free() {
		return 0, 0, unix.EBUSY // somebody was quicker
	}
	b.users++
	h.backed = true
	switch {
	case rdwr || b.direct > 0:
		b.direct++
		h.direct = true
	case f.passes(b, h):
		mode := uint32(fuse.FOPEN_PASSTHROUGH)
		if h.write {
			mode |= fuse.FOPEN_DIRECT_IO
		}
		return mode, b.id, nil
	case !h.write:
		b.read++
		h.read = true
	}
	return fuse.FOPEN_DIRECT_IO, 0, nil
}

// free tells that nobody is passed through, and nobody reads.
func (b *backing) free() bool { return b.id == 0 && b.read == 0 }

// passes tells whether an open log is in passthrough mode.
func (f *FS) passes(b *backing, h *handle) bool {
	if b.id != 0 { // a worker before this one may have been asked to
		return true
	}
	if !f.readPast() || h.log.File() == nil || b.read > 0 {
		return false
	}
	return f.register(b, h.log.File()) == nil // without the hold the daemon serves the bytes itself
}

// waitIdle waits, for a short time, until the log is free.
func (f *FS) waitIdle(id uint64) bool {
	b, free := f.isFree(id)
	if free {
		return true
	}
	select {
	case <-b.idle:
		return true
	case <-time.After(busyWait):
		_, free = f.isFree(id) // writers may still have it open
		return free
	}
}

func (f *FS) isFree(id uint64) (*backing, bool) {
	f.backMu.Lock()
	defer f.backMu.Unlock()
	b := f.backings[id]
	return b, b == nil || b.free()
}

func (f *FS) register(b *backing, file *os.File) error {
	id, err := f.dev.Load().back(int(file.Fd()))
	if err == nil {
		b.id = id
	}
	return err
}

// unback gives back what logMode took.
func (f *FS) unback(h *handle) {
	if !h.backed {
		return
	}
	if dev := f.dev.Load(); h.direct && h.write && dev != nil {
		_ = dev.inodeNotify(h.node.id, 0, 0) // ENOENT: the kernel has forgotten it
	}
	f.backMu.Lock()
	defer f.backMu.Unlock()
	b := f.backings[h.node.id]
	b.users--
	if h.read {
		b.read--
	}
	if h.direct {
		b.direct--
	}
	if b.users > 0 {
		return
	}
	if b.id != 0 {
		f.dev.Load().unback(b.id)
	}
	delete(f.backings, h.node.id)
	close(b.idle)
}

// strays is how many numbers below the newest are looked at for holds that nobody knows of.
const strays = 8192

// dropStrays ends the holds that a process before this one took and no open file uses. backMu is not needed: what is taken
// from now on has newer numbers.
func (f *FS) dropStrays(newest int32) {
	used := map[int32]bool{}
	for _, b := range f.backings {
		used[b.id] = true
	}
	for _, s := range f.shown {
		used[s.id] = true
	}
	dev := f.dev.Load()
	go func() {
		for id := max(1, newest-strays); id < newest; id++ {
			if !used[id] {
				dev.unback(id) // most are not there
			}
		}
	}()
}
