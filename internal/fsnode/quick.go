package fsnode

import (
	"bytes"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// quickRead is the largest READ for which no other reader is asked, in bytes.
const quickRead = 64 << 10

// quick tells that a request is answered in some microseconds as a rule, so that handing on the reading would cost more than
// it gains. It computes nothing, syncs nothing, and asks no other request's answer.
func (f *FS) quick(req []byte) bool {
	h := header(req)
	switch h.Opcode {
	case opWrite, opForget, opBatchForget, opInterrupt, opDestroy, opStatfs, opRelease, opReleasedir:
		return true
	case opRead:
		return len(req) >= int(unsafe.Sizeof(fuse.ReadIn{})) && (*fuse.ReadIn)(unsafe.Pointer(&req[0])).Size <= quickRead ||
			f.classOf(h.NodeId) == cGen
	case opGetattr:
		return f.classOf(h.NodeId) == cDir || f.holdsBytes(h.NodeId) || f.isMade(h.NodeId)
	case opOpen:
		return f.holdsBytes(h.NodeId) || f.isMade(h.NodeId)
	case opFlush:
		return f.holdsBytes(h.NodeId) && !f.opt.SyncOnClose
	case opLookup:
		return f.quickLookup(h, req)
	}
	return false
}

func (f *FS) classOf(id uint64) class { return f.tree.classes[kind(id)] }

// holdsBytes tells that a node is a file with bytes of its own.
func (f *FS) holdsBytes(id uint64) bool {
	c := f.classOf(id)
	return c == cLog || c == cPlain
}

// isMade tells that a node is a generated file of a session that need not be built.
func (f *FS) isMade(id uint64) bool {
	if f.classOf(id) != cGen {
		return false
	}
	n, err := f.node(id)
	return err == nil && f.made(n)
}

func (f *FS) quickLookup(h *fuse.InHeader, req []byte) bool {
	name, _, _ := bytes.Cut(req[unsafe.Sizeof(*h):], []byte{0})
	if k, ok := f.tree.byName[kind(h.NodeId)][string(name)]; ok {
		c := f.tree.classes[k]
		return c == cDir || c == cLog || c == cPlain
	}
	switch kind(h.NodeId) {
	case kHome, kOwner, kOwnerAgents, kOwnerModels, kContainer, kSessions, kPlain, kPinned, kChild, kContRoot:
		return true
	}
	return false
}
