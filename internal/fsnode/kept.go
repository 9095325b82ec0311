package fsnode

import (
	"os"
	"strconv"
	"time"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/keep"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Kept is what outlives the process that serves a mount. Zero: nothing does.
type Kept struct {
	Region *keep.Region // what is open
	Nodes  *os.File     // node ids that are in no file of the store
	Files  Keeper       // files that no name leads to any more
	// KeepNodes holds a file in the place of Nodes, for the process after this one.
	KeepNodes func(*os.File) error
}

// Keeper holds files, by name, for the process after this one.
type Keeper interface {
	Keep(name string, f *os.File) error
	Drop(name string) error
	File(name string) *os.File // that a process before this one kept; nil: none
}

// orphanName is the name by which the file behind an open one is kept, once that is all that leads to it.
func orphanName(fh uint64) string { return "file-" + strconv.FormatUint(fh, 10) }

// orphan has the files kept behind what is open of a plain file that is about to lose its name.
func (f *FS) orphan(id uint64) {
	if f.region == nil {
		return
	}
	f.handles.mu.RLock()
	defer f.handles.mu.RUnlock()
	for fh, h := range f.handles.open {
		if h.node.id == id && h.file != nil && h.orphan.CompareAndSwap(false, true) && f.opt.Kept.Files.Keep(orphanName(fh), h.file) != nil {
			h.orphan.Store(false) // it ends with this process
		}
	}
}

// keepFile has the file behind an open plain file kept for the process after this one, when that may not be able to open
// it again by its path: an ordinary user's mode 0444, or a closed folder, stands in the way. Root's capability does not ask.
func (f *FS) keepFile(fh uint64) {
	h := f.handles.get(fh)
	if f.region == nil || f.privileged || h == nil || h.file == nil || f.class(h.node) != cPlain {
		return
	}
	if h.orphan.CompareAndSwap(false, true) && f.opt.Kept.Files.Keep(orphanName(fh), h.file) != nil {
		h.orphan.Store(false) // it ends with this process
	}
}

// unnamed counts the bytes on disk of open plain files of an owner's that have no name any more. Those of shares count as their
// users'.
func (f *FS) unnamed(owner string) (bytes int64) {
	f.handles.mu.RLock()
	defer f.handles.mu.RUnlock()
	seen := map[uint64]bool{}
	for _, h := range f.handles.open {
		var st unix.Stat_t
		if h.file == nil || homeRel(h.owner) != owner || unix.Fstat(int(h.file.Fd()), &st) != nil || st.Nlink > 0 || seen[st.Ino] {
			continue
		}
		seen[st.Ino] = true
		bytes += st.Blocks * 512
	}
	return bytes
}

// homeRel is a user's part of the store.
func homeRel(uid uint32) string { return "home/" + strconv.FormatUint(uint64(uid), 10) }

func (f *FS) inherit(k Kept) error {
	if k.Region == nil {
		return nil
	}
	f.region, f.handles.region, f.store.Unflushed = k.Region, k.Region, k.Region
	f.started = time.Unix(0, k.Region.Started())
	nodes, err := keptNodes(k)
	if err != nil {
		return err
	}
	return f.table.inherit(nodes, k.Region)
}

// What the bits of a handle's slot say.
const (
	bitWrite uint32 = 1 << iota
	bitDirty
	bitAdd
	bitFailed
	bitDirect
)

func (h *handle) bits() (b uint32) {
	for i, set := range []bool{h.write, h.dirty, h.add, h.failed, h.direct} {
		if set {
			b |= 1 << i
		}
	}
	return b
}

// publish notes what was opened, for the process after this one.
func (f *FS) publish(in *fuse.InHeader, flags uint32, out *fuse.OpenOut, dir bool) {
	f.keepFile(out.Fh)
	h := f.handles.get(out.Fh)
	if f.region == nil || h == nil {
		return
	}
	s := f.region.NewHandle()
	if s == nil {
		return
	}
	s.Fh, s.Node, s.Unique, s.UID = out.Fh, h.node.id, in.Unique&^keep.Resent, in.Uid
	s.Flags, s.Mode, s.Backing = flags, out.OpenFlags, out.BackingID
	shown := keep.Shown{Bits: h.bits()}
	switch {
	case dir:
		s.Dir = 1
	case h.write:
		shown.Data = f.region.Put(h.data)
	default:
		shown.Data = f.region.Share(h.data)
	}
	s.Advance(shown)
	h.slot = s
	s.Publish()
}

// noteControl notes what a control file that is open for writing holds after a request, which wrote from offset from on. h's
// lock is taken.
func (f *FS) noteControl(h *handle, unique, from uint64, errno fuse.Status) {
	s := h.slot
	if s == nil {
		return
	}
	old := s.Now().Data
	next := keep.Shown{Unique: unique &^ keep.Resent, Errno: int32(errno), Bits: h.bits(), Ended: s.Now().Ended}
	if s.Intent.Now().Unique == next.Unique {
		next.Ended = next.Unique
	}
	if old.Len > 0 && from >= old.Len && uint64(len(h.data)) >= old.Len {
		next.Data = f.region.Grow(old, h.data, int(old.Len))
	} else {
		next.Data = f.region.Put(h.data) // what counts until Advance stays as it is
	}
	s.Advance(next)
	if next.Data.Off != old.Off {
		f.region.Release(old)
	}
}

// logWriter is one writer of an open log.
type logWriter struct {
	*appendlog.Writer
	slot   *keep.Writer // nil: not kept
	unique uint64       // of the request that is being carried out
	line   uint64       // appendlog.Rest.Line of the unfinished line in the slot
}

// Begin implements appendlog.Journal.
func (w *logWriter) Begin(at int64, n int) {
	next := keep.LogIntent{Unique: w.unique, At: at, Len: int64(n)}
	if old := w.slot.Intent.Now(); old.Unique == w.unique {
		next.Done = old.Done
	}
	w.slot.Intent.Set(next)
}

// End implements appendlog.Journal.
func (w *logWriter) End(written bool) {
	next := *w.slot.Intent.Now()
	if written {
		next.Done += next.Len
	}
	next.Len = 0
	w.slot.Intent.Set(next)
}

// newWriter makes a writer for (Fh, LockOwner).
func (f *FS) newWriter(h *handle, owner uint64) *logWriter {
	w := &logWriter{Writer: h.log.NewWriter()}
	if f.region != nil && h.slot != nil {
		w.keep(f.region.NewWriter(h.slot.Fh, owner))
	}
	return w
}

func (w *logWriter) keep(s *keep.Writer) {
	if s != nil {
		w.slot = s
		w.SetJournal(w)
	}
}

// start begins a request. done reports that a process before this one carried it out, with the status st.
func (w *logWriter) start(unique uint64) (st fuse.Status, done bool) {
	w.unique = unique &^ keep.Resent
	if w.slot == nil {
		return fuse.OK, false
	}
	if now := w.slot.Now(); unique&keep.Resent != 0 && now.Unique == w.unique {
		return fuse.Status(now.Errno), true
	}
	w.Resume(0)
	if i := w.slot.Intent.Now(); i.Unique == w.unique {
		w.Resume(i.Done)
	}
	return fuse.OK, false
}

// committed reports whether the unfinished line is in the log, through another request that a process before this one
// began. That request may still be sent again.
func (w *logWriter) committed() bool {
	return w.slot != nil && w.slot.Pending() && w.slot.Intent.Now().Unique != w.unique
}

// abandon drops the unfinished line if it is in the log. Call it when no other request of the writer is under way: then
// the one that committed the line is not sent again, because its process was killed.
func (w *logWriter) abandon(r *keep.Region) {
	if !w.committed() {
		return
	}
	w.Restore(appendlog.Rest{Line: w.Rest().Line + 1})
	old := *w.slot.Now()
	w.slot.Advance(keep.Done{Unique: old.Unique, Errno: old.Errno, Ended: w.slot.Intent.Now().Unique})
	r.Release(old.Partial)
}

// What the bits of a writer's slot say.
const (
	bitEnded uint32 = 1 << iota
	bitOver
)

func writerBits(r appendlog.Rest) (b uint32) {
	if r.Ended {
		b |= bitEnded
	}
	if r.Over {
		b |= bitOver
	}
	return b
}

// finish notes how the request ended.
func (w *logWriter) finish(r *keep.Region, st fuse.Status) {
	if w.slot == nil {
		return
	}
	old := w.slot.Now().Partial
	rest := w.Rest()
	partial := rest.Partial
	d := keep.Done{Unique: w.unique, Errno: int32(st), Bits: writerBits(rest), Ended: w.slot.Now().Ended}
	if w.slot.Intent.Now().Unique == w.unique {
		d.Ended = w.unique
	}
	if len(partial) > 0 {
		same := 0
		if rest.Line == w.line {
			same = int(old.Len) // it only grew
		}
		if same == 0 && old.Cap > 0 {
			d.Partial = r.Put(partial) // the old one counts until Advance
		} else {
			d.Partial = r.Grow(old, partial, same)
		}
	}
	w.slot.Advance(d)
	w.line = rest.Line
	if old.Cap > 0 && d.Partial.Off != old.Off {
		r.Release(old)
	}
}
