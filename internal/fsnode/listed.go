package fsnode

import (
	"encoding/binary"

	"ctxfs/internal/keep"
)

// Most folders that are read are given whole in one answer; only of others the names are noted for the next process.

// noteListed notes that a folder's names were given up to next.
func (f *FS) noteListed(fh, next uint64) {
	h := f.handles.get(fh)
	if h == nil || h.slot == nil || h.slot.Listed != 0 || h.slot.Now().Data.Cap > 0 {
		return
	}
	if next >= uint64(len(h.items)) {
		h.slot.Listed = uint64(len(h.items))
		return
	}
	h.slot.Advance(keep.Shown{Data: f.region.Put(packItems(h.items))})
}

// forgetListed says that what was noted of a folder's names does not count any more.
func (f *FS) forgetListed(h *handle) {
	if h.slot == nil {
		return
	}
	h.slot.Listed = 0
	if old := h.slot.Now().Data; old.Cap > 0 {
		h.slot.Advance(keep.Shown{})
		f.region.Release(old)
	}
}

// packItems writes names as uint64 id, uint64 ino, uint32 mode, uint32 length, name.
func packItems(items []item) []byte {
	var b []byte
	for i := range items {
		it := &items[i]
		b = binary.NativeEndian.AppendUint64(b, it.id)
		b = binary.NativeEndian.AppendUint64(b, it.ino)
		b = binary.NativeEndian.AppendUint32(b, it.mode)
		b = binary.NativeEndian.AppendUint32(b, uint32(len(it.name)))
		b = append(b, it.name...)
	}
	return b
}

func unpackItems(b []byte) (items []item) {
	const head = 24
	for len(b) >= head {
		n := int(binary.NativeEndian.Uint32(b[20:]))
		if len(b)-head < n {
			break
		}
		items = append(items, item{id: binary.NativeEndian.Uint64(b), ino: binary.NativeEndian.Uint64(b[8:]),
			mode: binary.NativeEndian.Uint32(b[16:]), name: string(b[head : head+n])})
		b = b[head+n:]
	}
	return items
}
