package fsnode

import (
	"math/bits"
	"sync/atomic"

	"ctxfs/internal/session"
)

// watched are the kinds of a session's generated files whose attributes the kernel was given for long: it is told once when
// the session changes.
type watched [4]atomic.Uint64

func (w *watched) add(k kind) { w[k>>6].Or(1 << (k & 63)) }

// take gives the kinds and forgets them.
func (w *watched) take(each func(kind)) {
	for i := range w {
		if w[i].Load() == 0 {
			continue // as a rule
		}
		for set := w[i].Swap(0); set != 0; set &= set - 1 {
			each(kind(i<<6 | bits.TrailingZeros64(set)))
		}
	}
}

// watch gives what is watched of a session. Most sessions that the kernel knows are only listed, and have none.
func (e *entry) watch() *watched {
	if w := e.watched.Load(); w != nil {
		return w
	}
	e.watched.CompareAndSwap(nil, &watched{})
	return e.watched.Load()
}

// watch is called before the attributes of a generated file are computed that the kernel is to keep. What changes after this
// is told; that the kernel has the news before the attributes does no harm: it sees that they are older (fuse_change_attributes).
func (f *FS) watch(n node, x *session.Session) {
	n.e.watch().add(n.kind)
	x.Given()
}

// stale tells the kernel that what is made of a session is not what it was.
func (f *FS) stale(x *session.Session) {
	dev := f.dev.Load()
	id, ok := f.sessionID(x)
	if !ok || dev == nil {
		return
	}
	e := f.table.get(id >> 8)
	if e == nil {
		return
	}
	if w := e.watched.Load(); w != nil {
		w.take(func(k kind) {
			_ = dev.inodeNotify(id&^0xff|uint64(k), -1, 0) // ENOENT: the kernel does not know the node
		})
	}
}

// watchAll is for what a process before this one gave the kernel, of which nothing is known.
func (t *table) watchAll() {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, e := range t.byID {
		if e.kind == kSession {
			w := e.watch()
			for i := range w {
				w[i].Store(1<<64 - 1)
			}
		}
	}
}
