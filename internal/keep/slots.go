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
	last    pair[Shown]
	Intent  pair[ControlIntent]
}

// Pending reports whether a request changed the file as it intended, and the open file's state is still the one before that
// request: the process died in between.
func (h *Handle) Pending() bool {
	i := h.Intent.Now()
	return i.Made && i.Unique != h.Now().Ended
}

// pair is a value that changes in one step: a process that is killed leaves either the old value or the new one.
type pair[T any] struct {
	which atomic.Uint32 // its lowest bit is the index of the value that counts
	_     uint32
	was   [2]T
}

// Now returns the value. It is valid until the second Set after it.
func (p *pair[T]) Now() *T { return &p.was[p.which.Load()&1] }

// Set replaces the value. One goroutine at a time may call it.
func (p *pair[T]) Set(v T) {
	next := 1 - p.which.Load()&1
	p.was[next] = v
	p.which.Store(next)
}

// Shown is the state of an open file or folder after a request.
type Shown struct {
	Unique uint64 // of the request
	Errno  int32
	Bits   uint32 // what else the file system notes
	Data   Extent // what it shows
	Ended  uint64 // the last intent that this state includes
}

// Now returns the state of the open file after its last finished request.
func (h *Handle) Now() *Shown { return h.last.Now() }

// Advance makes s the open file's state, in one step.
func (h *Handle) Advance(s Shown) { h.last.Set(s) }

// ControlIntent records that a request replaces the content of a control file. It is set under the lock that orders the
// changes of the file, before the change and after it. So at most one intent of a file is neither made nor zero, and the
// file's content says whether that change was made.
type ControlIntent struct {
	Unique uint64   // the request; 0: there is no intent
	Len    uint64   // length of the new content in bytes
	Sum    [16]byte // first half of the BLAKE3 hash of the new content
	Made   bool     // the content was replaced
}

// LogIntent records that a request appends lines to a log. It is set under the lock that orders the appends of the log,
// before the write and after it. So of the intents of a log at most one is undecided (Len > 0), and what stands in the
// log from At on is the beginning of its lines.
type LogIntent struct {
	Unique uint64 // the request; 0: there is no intent
	Done   int64  // bytes of the request's lines that are in the log
	At     int64  // offset in the log at which the next ones are being written
	Len    int64  // how many bytes are being written; 0: none, and Done is all there is
}

// Undecided reports whether the process that recorded i died before it recorded the outcome.
func (i *LogIntent) Undecided() bool { return i.Len > 0 }

// Settle decides i, given the length of the log when it was opened after the crash.
func (i *LogIntent) Settle(size int64) LogIntent {
	return LogIntent{Unique: i.Unique, Done: i.Done + min(max(size-i.At, 0), i.Len)}
}

// Done is the state of a writer after a request.
type Done struct {
	Unique  uint64
	Errno   int32
	Bits    uint32 // what else the file system notes
	Partial Extent // the unfinished line
	Ended   uint64 // the last intent that this state includes
}

// Writer is the slot of one writer of a log.
type Writer struct {
	slot
	Fh     uint64 // of the open file
	Owner  uint64 // lock owner: which process's
	last   pair[Done]
	Intent pair[LogIntent]
}

// Now returns the state of the writer after its last finished request.
func (w *Writer) Now() *Done { return w.last.Now() }

// Advance makes d the writer's state, in one step.
func (w *Writer) Advance(d Done) { w.last.Set(d) }

// Pending reports whether lines that a request intended are in the log, and the writer's state is still the one before
// that request: the process died in between.
func (w *Writer) Pending() bool {
	i := w.Intent.Now()
	return i.Done > 0 && i.Unique != w.Now().Ended
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
