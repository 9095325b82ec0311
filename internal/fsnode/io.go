package fsnode

import (
	"io"
	"os"

	"ctxfs/internal/thread"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Read gives bytes of an open file.
func (f *FS) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	h := f.handles.get(in.Fh)
	if h == nil {
		return nil, fuse.EBADF
	}
	buf = buf[:min(len(buf), int(in.Size))]
	switch {
	case h.file != nil:
		return fuse.ReadResultFd(h.file.Fd(), int64(in.Offset), len(buf)), fuse.OK
	case h.log != nil:
		n, err := h.readLog(buf, int64(in.Offset))
		return fuse.ReadResultData(buf[:n]), errno(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	data, err := f.controlData(h)
	if err != nil || in.Offset >= uint64(len(data)) {
		return fuse.ReadResultData(nil), errno(err)
	}
	return fuse.ReadResultData(buf[:copy(buf, data[in.Offset:])]), fuse.OK
}

// readLog reads whole lines only: bytes past the last commit are not there yet.
func (h *handle) readLog(buf []byte, off int64) (int, error) {
	size := h.log.Size()
	if off >= size {
		return 0, nil
	}
	n, err := h.log.ReadAt(buf[:min(int64(len(buf)), size-off)], off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// Write takes bytes for an open file.
func (f *FS) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	h := f.handles.get(in.Fh)
	if h == nil || !h.write {
		return 0, fuse.EBADF
	}
	var err error
	switch {
	case h.log != nil:
		before := h.log.Size()
		if err = f.writeLog(h, in, data); int64(in.Offset) > before && h.log.Size() > before {
			// A line that came in parts stands before where the kernel takes it to be, and so drops too little of what it keeps for mappings.
			_ = f.dev.Load().inodeNotify(h.node.id, before, 0) // ENOENT: it keeps nothing
		}
	case h.file != nil:
		if in.WriteFlags&fuse.WRITE_KILL_SUIDGID != 0 {
			err = killPriv(h.file)
		}
		if err == nil {
			err = f.room(h, int64(len(data)))
		}
		if err == nil {
			err = thread.As(h.owner, func() error {
				_, err := h.file.WriteAt(data, int64(in.Offset))
				return err
			})
		}
		f.touch(h.node)
	default:
		err = f.writeControlOnce(h, in, data)
	}
	if err != nil {
		return 0, errno(err)
	}
	return uint32(len(data)), fuse.OK
}

// writeLog hands the bytes to this writer's line assembly. The kernel's idea of the offset is of no use: an append goes
// to the end. A write that is no append (O_APPEND was taken off with fcntl(2), or a mapping) is refused.
func (f *FS) writeLog(h *handle, in *fuse.WriteIn, data []byte) error {
	if in.Flags&unix.O_APPEND == 0 || in.WriteFlags&fuse.WRITE_CACHE != 0 {
		return unix.EPERM
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.writers[in.LockOwner]
	if w == nil {
		if h.writers == nil {
			h.writers = map[uint64]*logWriter{}
		}
		w = f.newWriter(h, in.LockOwner)
		h.writers[in.LockOwner] = w
	}
	if st, done := w.start(in.Unique); done {
		return status(st)
	}
	w.abandon(f.region)
	if h.sess.Over() {
		return unix.ESTALE // the line would be nowhere
	}
	// The line that is not finished yet may grow by all of data. What it held before counts until the write is over.
	if err := f.handles.hold(h, h.held+int64(len(data))); err != nil {
		return err
	}
	defer f.settleLog(h)
	before := h.log.Size()
	err := w.Write(data)
	h.unsynced = true
	w.finish(f.region, errno(err))
	if h.log.Size() > before {
		h.sess.Appended(f.tree.specs[h.node.kind].name)
	} else if err != nil {
		h.sess.Touch() // what was written half was cut off again
	}
	return err
}

// settleLog counts what unfinished lines an open log holds; h's lock is taken.
func (f *FS) settleLog(h *handle) {
	sum := int64(0)
	for _, w := range h.writers {
		sum += int64(w.Pending())
	}
	_ = f.handles.hold(h, min(sum, h.held)) // fewer bytes are never refused
}

// killPriv takes set-user-id and set-group-id from a file that somebody without privilege writes to, as the kernel does
// for them; to the kernel, it is the daemon that writes.
func killPriv(file *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return err
	}
	drop := st.Mode & unix.S_ISUID
	if st.Mode&unix.S_IXGRP != 0 {
		drop |= st.Mode & unix.S_ISGID
	}
	if drop == 0 {
		return nil
	}
	return unix.Fchmod(int(file.Fd()), st.Mode&0o7777&^drop)
}

// Flush is called at every close(2) of a descriptor, which may be one of several of the open file.
func (f *FS) Flush(_ <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	h := f.handles.get(in.Fh)
	if h == nil {
		return fuse.OK
	}
	if h.log != nil {
		return f.flushLog(h, in)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return errno(f.commit(h, caller(&in.InHeader), true))
}

// flushLog ends the line that this writer has not ended, and syncs what was written when the mount is to do that at close(2). The
// kernel lets FLUSH of several descriptors of a file come at the same time, unlike FSYNC: they share one sync.
func (f *FS) flushLog(h *handle, in *fuse.FlushIn) fuse.Status {
	h.mu.Lock()
	st := f.endLine(h, in)
	sync := st.Ok() && h.unsynced && f.opt.SyncOnClose
	h.unsynced = h.unsynced && !sync
	h.mu.Unlock()
	if !sync {
		return st
	}
	err := h.log.Sync()
	if err != nil {
		h.mu.Lock()
		h.unsynced = true
		h.mu.Unlock()
	}
	return errno(err)
}

// endLine commits an unfinished line that is a whole record; h's lock is taken.
func (f *FS) endLine(h *handle, in *fuse.FlushIn) fuse.Status {
	w := h.writers[in.LockOwner]
	if w == nil || w.Pending() == 0 {
		return fuse.OK
	}
	if st, done := w.start(in.Unique); done {
		return st
	}
	if w.committed() {
		return fuse.OK // a write(2) of another thread is under way, and committed the line
	}
	err := w.Flush()
	w.finish(f.region, errno(err))
	f.settleLog(h)
	h.sess.Appended(f.tree.specs[h.node.kind].name)
	return errno(err)
}

// Release ends an open file.
func (f *FS) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	h := f.handles.remove(in.Fh)
	if h == nil {
		return
	}
	f.handles.closed(h)
	f.unshow(h)
	if h.file != nil {
		_ = h.file.Close() // written through at each write
	}
	if h.log == nil {
		return
	}
	h.mu.Lock()
	for _, w := range h.writers {
		w.start(in.Unique)
		w.abandon(f.region)
		w.Close()
	}
	h.mu.Unlock()
	f.unback(h)
	h.sess.Release()
}

// Fsync returns when what was written is on disk.
func (f *FS) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	h := f.handles.get(in.Fh)
	switch {
	case h == nil:
		return fuse.EBADF
	case h.log != nil:
		return errno(h.log.Sync())
	case h.file != nil:
		return errno(h.file.Sync())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return errno(f.commit(h, caller(&in.InHeader), false)) // a commit is durable
}

// Lseek finds data and holes: generated files have no holes, and others are asked.
func (f *FS) Lseek(_ <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	h := f.handles.get(in.Fh)
	if h == nil {
		return fuse.EBADF
	}
	if h.file != nil {
		off, err := unix.Seek(int(h.file.Fd()), int64(in.Offset), int(in.Whence))
		out.Offset = uint64(off)
		return errno(err)
	}
	n, err := f.sizeOf(h)
	if err != nil {
		return errno(err)
	}
	size := uint64(n)
	if in.Offset >= size {
		return fuse.Status(unix.ENXIO)
	}
	out.Offset = in.Offset
	if in.Whence == unix.SEEK_HOLE {
		out.Offset = size
	}
	return fuse.OK
}

// Fallocate makes room in a plain file. A log's end is moved by appends alone.
func (f *FS) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	h := f.handles.get(in.Fh)
	switch {
	case h == nil:
		return fuse.EBADF
	case h.log != nil:
		return fuse.EPERM
	case h.file == nil:
		return fuse.Status(unix.EOPNOTSUPP)
	}
	if err := f.room(h, int64(in.Length)); err != nil {
		return errno(err)
	}
	f.touch(h.node)
	if in.Uid != 0 {
		if err := killPriv(h.file); err != nil {
			return errno(err)
		}
	}
	return errno(thread.As(h.owner, func() error {
		return unix.Fallocate(int(h.file.Fd()), in.Mode, int64(in.Offset), int64(in.Length))
	}))
}

// room asks for more bytes of a plain file. One that was removed while it is open counts as its owner's.
func (f *FS) room(h *handle, bytes int64) error {
	s, rel, err := f.at(h.node)
	if err != nil {
		s, rel = f.store, homeRel(h.owner)
	}
	return s.Room(rel, bytes, 0)
}
