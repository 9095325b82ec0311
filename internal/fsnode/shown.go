package fsnode

import (
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// shown is a generated file as the kernel shows it: a file in memory with the bytes of one generation, which it reads past the
// daemon. An inode has one such file at a time (see backing).
type shown struct {
	data  []byte // nil: of a process before this one, which nobody knows any more
	id    int32  // the kernel's hold on the file, which is in no table of descriptors
	users int    // open files
}

// maxShown is how many generated files that nobody has open stay in memory, and maxShownBytes of which size.
const (
	maxShown      = 64
	maxShownBytes = 1 << 20
)

// show says how the kernel is to use a generated file that is opened, and takes what that needs. While an older generation is
// open, a newer one is read through the daemon.
func (f *FS) show(h *handle) (mode uint32, backing int32) {
	if !f.passthrough.Load() || h.node.e == nil || h.node.kind == kNamed || h.node.temporary() || len(h.data) > maxShownBytes {
		return fuse.FOPEN_DIRECT_IO, 0
	}
	f.backMu.Lock()
	defer f.backMu.Unlock()
	s := f.shown[h.node.id]
	if s != nil && s.users == 0 && !same(s.data, h.data) {
		f.hide(h.node.id, s)
		s = nil
	}
	if s == nil {
		id, err := f.dev.Load().backBytes(h.data)
		if err != nil {
			return fuse.FOPEN_DIRECT_IO, 0 // the daemon serves the bytes
		}
		f.makeRoom()
		s = &shown{data: h.data, id: id}
		f.shown[h.node.id] = s
	}
	s.users++
	h.shown = s
	if same(s.data, h.data) {
		return fuse.FOPEN_PASSTHROUGH, s.id
	}
	return fuse.FOPEN_PASSTHROUGH | fuse.FOPEN_DIRECT_IO, s.id
}

// same tells whether two slices are the same bytes at the same place: views of one generation are.
func same(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// makeRoom lets go of a file that nobody has open when there are many; backMu is held.
func (f *FS) makeRoom() {
	if len(f.shown) < maxShown {
		return
	}
	for id, s := range f.shown {
		if s.users == 0 {
			f.hide(id, s)
			return
		}
	}
}

// hide lets go of a file that nobody has open; backMu is held.
func (f *FS) hide(id uint64, s *shown) {
	f.dev.Load().unback(s.id)
	delete(f.shown, id)
}

// unshow gives back what show took.
func (f *FS) unshow(h *handle) {
	if h.shown == nil {
		return
	}
	f.backMu.Lock()
	defer f.backMu.Unlock()
	h.shown.users--
	if h.shown.users == 0 && h.shown.data == nil {
		f.hide(h.node.id, h.shown)
	}
}

// restoreShown is show for what a process before this one opened.
func (f *FS) restoreShown(h *handle, backing int32) {
	if backing == 0 {
		return
	}
	s := f.shown[h.node.id]
	if s == nil {
		s = &shown{id: backing}
		f.shown[h.node.id] = s
	}
	s.users++
	h.shown = s
}

// backBytes has the kernel take hold of a file in memory with these bytes.
func (d device) backBytes(data []byte) (int32, error) {
	fd, err := unix.MemfdCreate("ctxfs", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	for rest := data; len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		if err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return d.back(fd)
}
