package keep

import (
	"sync/atomic"
	"unsafe"
)

// States of a slot.
const (
	never uint32 = iota // and none after it was used either
	free
	isHandle
	isWriter
)

// slot is what all slots begin with.
type slot struct {
	state atomic.Uint32
	index uint32
}

// Handle is the slot of an open file or folder. Its fields are set before Publish, and by one goroutine at a time.
type Handle struct {
	slot
	Fh      uint64 // the kernel's name for it
	Node    uint64 // node id
	Unique  uint64 // of the request that opened it
	UID     uint32 // who opened it
	Flags   uint32 // of open(2)
	Mode    uint32 // FOPEN_*: what the kernel was told
	Backing int32  // the kernel's hold on the file behind a log; 0: none
	Dir     uint32 // 1: a folder
	_       uint32
	Listed  uint64 // of a folder: how many names it had when all of them were given; 0: they were not yet
	Begun   Begun  // a change that was begun
	which   atomic.Uint32
	_       uint32
	was     [2]Shown
}

// Shown is the state of an open file or folder after a request.
type Shown struct {
	Unique uint64 // of the request
	Errno  int32
	Bits   uint32 // what else the file system notes
	Data   Extent // what it shows
}

// Now is how the open file stands.
func (h *Handle) Now() *Shown { return &h.was[h.which.Load()&1] }

// Advance makes s the open file's state, in one step.
func (h *Handle) Advance(s Shown) {
	next := 1 - h.which.Load()&1
	h.was[next] = s
	h.which.Store(next)
}

// Begun is a change that was begun: which request's, and how large the file was then.
type Begun struct {
	Unique uint64
	Size   int64
}

// Done is the state of a writer after a request.
type Done struct {
	Unique  uint64
	Errno   int32
	Bits    uint32 // what else the file system notes
	Partial Extent // the unfinished line
}

// Writer is the slot of one writer of a log.
type Writer struct {
	slot
	Fh    uint64 // of the open file
	Owner uint64 // lock owner: which process's
	Begun Begun
	which atomic.Uint32 // of was: the one that counts
	_     uint32
	was   [2]Done
}

// Now is how the writer stands.
func (w *Writer) Now() *Done { return &w.was[w.which.Load()&1] }

// Advance makes d the writer's state, in one step.
func (w *Writer) Advance(d Done) {
	next := 1 - w.which.Load()&1
	w.was[next] = d
	w.which.Store(next)
}

func (r *Region) slot(i int) *slot { return (*slot)(r.at(i)) }

func (r *Region) at(i int) unsafe.Pointer { return unsafe.Pointer(&r.mem[slotsAt+i*slotSize]) }

// take finds a slot, which does not count yet; nil when there is none: then what is open does not outlive the process.
func (r *Region) take() unsafe.Pointer {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.top
	if n := len(r.spare); n > 0 {
		i, r.spare = r.spare[n-1], r.spare[:n-1]
	} else if i == maxSlots {
		return nil
	} else {
		r.top++
		r.slot(i).state.Store(free)
	}
	p := r.at(i)
	clear(unsafe.Slice((*byte)(unsafe.Add(p, unsafe.Sizeof(slot{}))), slotSize-unsafe.Sizeof(slot{})))
	(*slot)(p).index = uint32(i)
	return p
}

// NewHandle gives a slot to fill in and Publish, nil when there is none.
func (r *Region) NewHandle() *Handle { return (*Handle)(r.take()) }

// NewWriter gives a writer's slot, which counts at once. It is nil when there is none.
func (r *Region) NewWriter(fh, owner uint64) *Writer {
	w := (*Writer)(r.take())
	if w != nil {
		w.Fh, w.Owner = fh, owner
		w.state.Store(isWriter)
	}
	return w
}

// Publish makes the slot count.
func (h *Handle) Publish() { h.state.Store(isHandle) }

// Drop gives back a handle's slot, and the bytes that it names.
func (r *Region) Drop(h *Handle) {
	data := h.Now().Data
	h.state.Store(free)
	r.drop(int(h.index), data)
}

// DropWriter gives back a writer's.
func (r *Region) DropWriter(w *Writer) {
	data := w.Now().Partial
	w.state.Store(free)
	r.drop(int(w.index), data)
}

func (r *Region) drop(i int, data Extent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spare = append(r.spare, i)
	r.release(data)
}

// Handles gives the slots of what is open, and Writers those of its writers: what a process before this one left.
func (r *Region) Handles() (out []*Handle) {
	for i := range r.top {
		if r.slot(i).state.Load() == isHandle {
			out = append(out, (*Handle)(r.at(i)))
		}
	}
	return out
}

// Writers: see Handles.
func (r *Region) Writers() (out []*Writer) {
	for i := range r.top {
		if r.slot(i).state.Load() == isWriter {
			out = append(out, (*Writer)(r.at(i)))
		}
	}
	return out
}

// extent gives what bytes a used slot names.
func (r *Region) extent(i int) (e Extent, ok bool) {
	switch r.slot(i).state.Load() {
	case isHandle:
		return (*Handle)(r.at(i)).Now().Data, true
	case isWriter:
		return (*Writer)(r.at(i)).Now().Partial, true
	}
	return e, false
}
