package fsnode

import (
	"bytes"

	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// writeControlOnce is writeControl, unless a process before this one did the same.
func (f *FS) writeControlOnce(h *handle, in *fuse.WriteIn, data []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if st, done := h.carried(in.Unique); done {
		return status(st)
	}
	h.request = in.Unique
	f.abandon(h)
	err := f.writeControl(h, in, data)
	f.noteControl(h, in.Unique, in.Offset, errno(err))
	return err
}

// writeControl takes bytes for a control file that is open. What is complete is judged, and stands in the file, at
// once: a shell hears of a refusal at write(2), not only at close(2). h's lock is taken.
func (f *FS) writeControl(h *handle, in *fuse.WriteIn, data []byte) error {
	off := int(in.Offset)
	if in.Flags&unix.O_APPEND != 0 { // the kernel's idea of the end is that of others
		off = len(h.data)
	}
	if in.Offset > session.MaxControl || off+len(data) > session.MaxControl {
		return unix.EFBIG
	}
	if grow := off + len(data) - len(h.data); grow > 0 {
		if err := f.handles.hold(h, int64(off+len(data))); err != nil {
			return err
		}
		h.data = append(h.data, make([]byte, grow)...)
	}
	copy(h.data[off:], data)
	h.dirty, h.failed = true, false
	x, err := f.session(h.node)
	if err != nil {
		return err
	}
	name := f.tree.specs[h.node.kind].file
	if x.Complete(name, h.data) {
		return f.commit(h, caller(&in.InHeader), false)
	}
	return nil
}

// commit puts what was written into the file's place. A refusal is told once: at the write(2) that completed the
// content, else at the close(2) that ends it. h's lock is held.
func (f *FS) commit(h *handle, by session.Caller, closing bool) error {
	if !h.dirty || h.failed && closing {
		h.dirty = false
		return nil
	}
	x, err := f.session(h.node)
	if err != nil {
		return err
	}
	err = f.changeControl(h, x, f.tree.specs[h.node.kind].file, by)
	if h.add {
		h.data = nil
		_ = f.handles.hold(h, 0) // fewer bytes are never refused
	}
	h.failed = err != nil
	h.dirty = false
	return err
}

// setSizeControl is truncate(2) and ftruncate(2).
func (f *FS) setSizeControl(n node, h *handle, size uint64, by session.Caller) error {
	if size > session.MaxControl {
		return unix.EFBIG
	}
	if h != nil && h.write {
		h.mu.Lock()
		defer h.mu.Unlock()
		data, err := f.controlData(h)
		if err != nil {
			return err
		}
		if err := f.handles.hold(h, int64(size)); err != nil {
			return err
		}
		h.data = resize(data, int(size))
		h.dirty, h.add = true, false
		return nil
	}
	x, name, data, err := f.readControl(n)
	if err != nil {
		return err
	}
	return x.WriteControl(name, resize(data, int(size)), by)
}

// controlData is what an open control file shows. Of one that lines are added to, that is what stands in the file, and what was added
// since. h's lock is taken.
func (f *FS) controlData(h *handle) ([]byte, error) {
	if !h.add {
		return h.data, nil
	}
	now, err := f.contentFor(h.uid, h.node)
	return append(now[:len(now):len(now)], h.data...), err
}

// sizeOf is how large an open file is that is no plain one.
func (f *FS) sizeOf(h *handle) (int64, error) {
	if h.log != nil {
		return h.log.Size(), nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	data, err := f.controlData(h)
	return int64(len(data)), err
}

// readControl gives a control file's session, its name in it, and what stands in it now.
func (f *FS) readControl(n node) (*session.Session, string, []byte, error) {
	name := f.tree.specs[n.kind].file
	x, err := f.session(n)
	if err != nil {
		return nil, name, nil, err
	}
	data, err := x.ReadControl(name)
	return x, name, data, err
}

func resize(data []byte, size int) []byte {
	if size <= len(data) {
		return data[:size:size]
	}
	return append(data[:len(data):len(data)], bytes.Repeat([]byte{0}, size-len(data))...)
}

// Unlink removes a name. What an agent wrote goes, and what ctxfs derives comes back; logs stay.
func (f *FS) Unlink(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	dir, n, err := f.child(header, name)
	if err != nil {
		return errno(err)
	}
	return errno(f.unlink(dir, n, name))
}

func (f *FS) unlink(dir, n node, name string) error {
	switch f.class(n) {
	case cControl:
		x, err := f.session(n)
		if err != nil {
			return err
		}
		return x.RemoveControl(f.tree.specs[n.kind].file)
	case cGen:
		if n.kind != kPackMD && n.kind != kPackJSON {
			return unix.EPERM
		}
		x, err := f.session(n)
		if err != nil {
			return err
		}
		x.DropPack()
		return nil
	case cPlain:
		return f.unlinkPlain(dir, n, name)
	}
	return unix.EPERM
}
