package fsnode

import (
	"ctxfs/internal/cas"
	"ctxfs/internal/keep"
	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// control reports whether h is a control file that is open for writing.
func (h *handle) control() bool { return h.write && h.log == nil && h.file == nil }

// carried reports whether a process before this one carried the request out, and with which status.
func (h *handle) carried(unique uint64) (fuse.Status, bool) {
	if h.slot == nil || unique&keep.Resent == 0 || h.slot.Now().Unique != unique&^keep.Resent {
		return fuse.OK, false
	}
	return fuse.Status(h.slot.Now().Errno), true
}

// committed reports whether the bytes that h still holds for its file are in the file, through another request that a
// process before this one began. That request may still be sent again. h's lock is held.
func (h *handle) committed() bool {
	return h.slot != nil && h.add && h.slot.Pending() && h.slot.Intent.Now().Unique != h.request&^keep.Resent
}

// abandon drops the bytes that h still holds for its file if they are in the file. Call it when no other request changes
// what h holds: then the one that changed the file is not sent again, because its process was killed. h's lock is held.
func (f *FS) abandon(h *handle) {
	if !h.committed() {
		return
	}
	h.data, h.dirty = nil, false
	old := *h.slot.Now()
	h.slot.Advance(keep.Shown{Unique: old.Unique, Errno: old.Errno, Bits: h.bits(), Ended: h.slot.Intent.Now().Unique})
	f.region.Release(old.Data)
}

// changeControl makes what was written to an open control file the file's content, or adds it. A request that was sent
// again does not change the file a second time: its intent says whether the process before this one changed it. h's lock
// is held.
func (f *FS) changeControl(h *handle, x *session.Session, name string, by session.Caller) error {
	change := session.Change{Append: h.add}
	if h.slot != nil {
		intent := h.slot.Intent.Now()
		if h.request&keep.Resent != 0 && intent.Unique == h.request&^keep.Resent && intent.Made {
			return x.SyncControl(name) // the process may have died before the new name was durable
		}
		change.Intent = controlIntent{h.slot, h.request &^ keep.Resent}
	}
	return x.ChangeControl(name, h.data, by, change)
}

// controlIntent records in the slot of an open file how a request changes a control file.
type controlIntent struct {
	slot   *keep.Handle
	unique uint64
}

// Begin implements session.Intent.
func (c controlIntent) Begin(content []byte) { c.slot.Intent.Set(intentOf(c.unique, content)) }

// End implements session.Intent.
func (c controlIntent) End(made bool) {
	i := *c.slot.Intent.Now()
	if i.Made = made; !made {
		i = keep.ControlIntent{}
	}
	c.slot.Intent.Set(i)
}

func intentOf(unique uint64, content []byte) keep.ControlIntent {
	sum := cas.Sum(content)
	return keep.ControlIntent{Unique: unique, Len: uint64(len(content)), Sum: [16]byte(sum[:16])}
}

// settleControl decides an intent of which the process died before it recorded the outcome. Nothing may change the file
// between that process's death and this call: then the file's content is the one that the intent records, or the old one.
func (f *FS) settleControl(n node, s *keep.Handle) error {
	i := s.Intent.Now()
	if i.Unique == 0 || i.Made {
		return nil
	}
	x, err := f.session(n)
	if err != nil {
		return err
	}
	now, err := x.StoredControl(f.tree.specs[n.kind].file)
	if err != nil {
		return err
	}
	controlIntent{s, i.Unique}.End(intentOf(i.Unique, now) == *i)
	return nil
}
