package fsnode

import (
	"os"
	"slices"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/keep"
	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// restore opens again what a process before this one had open. What cannot be is EBADF to whoever has it.
func (f *FS) restore() error {
	if f.region == nil || f.region.Workers() < 2 {
		return nil
	}
	f.store.AllGiven = true
	f.table.watchAll()
	writers := map[uint64][]*keep.Writer{}
	for _, w := range f.region.Writers() {
		writers[w.Fh] = append(writers[w.Fh], w)
	}
	slots := f.region.Handles()
	f.eventsFirst(slots)
	f.store.Unfinished = f.unfinished(slots, writers)
	defer func() { f.store.Unfinished = nil }()
	f.opened = map[uint64]uint64{}
	for _, s := range slots {
		h, err := f.restored(s)
		if err != nil {
			f.region.Drop(s)
			_ = f.opt.Kept.Files.Drop(orphanName(s.Fh)) // if it is one
			continue
		}
		h.slot = s
		f.handles.restore(s.Fh, h)
		f.opened[s.Unique] = s.Fh
		for _, w := range writers[s.Fh] {
			h.restoreWriter(f.region, w)
		}
		delete(writers, s.Fh)
	}
	for _, s := range f.region.Writers() {
		if writers[s.Fh] != nil {
			f.region.DropWriter(s)
		}
	}
	return nil
}

// eventsFirst sorts the slots of events.jsonl before all others: opening another log may append an event, and the intents
// of events.jsonl are settled by its length before that.
func (f *FS) eventsFirst(slots []*keep.Handle) {
	order := func(s *keep.Handle) int {
		if n, err := f.node(s.Node); err == nil && n.kind == kEvents {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(slots, func(a, b *keep.Handle) int { return order(a) - order(b) })
}

// unfinished tells of which logs a write was going on.
func (f *FS) unfinished(slots []*keep.Handle, writers map[uint64][]*keep.Writer) func(*session.Session, string) bool {
	type log struct {
		x    *session.Session
		name string
	}
	going := map[log]bool{}
	for _, s := range slots {
		for _, w := range writers[s.Fh] {
			if !w.Intent.Now().Undecided() {
				continue
			}
			if n, err := f.node(s.Node); err == nil && f.class(n) == cLog {
				if x, err := f.session(n); err == nil {
					going[log{x, f.tree.specs[n.kind].name}] = true
				}
			}
		}
	}
	return func(x *session.Session, name string) bool { return going[log{x, name}] }
}

// restored makes the handle of an open file again.
func (f *FS) restored(s *keep.Handle) (*handle, error) {
	n, err := f.node(s.Node)
	if err != nil {
		return nil, err
	}
	if s.Dir != 0 {
		return f.restoredDir(n, s)
	}
	now := s.Now()
	h := &handle{node: n, write: now.Bits&bitWrite != 0, dirty: now.Bits&bitDirty != 0, add: now.Bits&bitAdd != 0, failed: now.Bits&bitFailed != 0}
	if file := f.opt.Kept.Files.File(orphanName(s.Fh)); file != nil {
		if h, err = plainHandle(n, file, h.write); err == nil {
			h.orphan.Store(true)
		}
		return h, err
	}
	switch f.class(n) {
	case cLog:
		return h, f.restoreLog(h, s)
	case cPlain:
		_, rel, err := f.at(n)
		if err != nil {
			return nil, err
		}
		file, err := f.store.Dir().OpenFile(rel, int(s.Flags&plainFlags)&^(unix.O_APPEND|unix.O_TRUNC)|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		return plainHandle(n, file, h.write)
	case cProgram:
		h.file, err = os.Open("/proc/self/exe")
		return h, err
	}
	if err := f.settleControl(n, s); err != nil {
		return nil, err
	}
	h.data = f.region.Bytes(now.Data)
	f.restoreShown(h, s.Backing)
	if h.write {
		h.data = append([]byte(nil), h.data...) // it changes, and what is kept of it must not before it is told
	}
	return h, nil
}

func (f *FS) restoredDir(n node, s *keep.Handle) (h *handle, err error) {
	h = &handle{node: n}
	if n.kind == kSessions {
		if h.dir, err = f.folder(n); err != nil {
			return nil, err
		}
	}
	if s.Now().Data.Cap > 0 {
		h.items = unpackItems(f.region.Bytes(s.Now().Data))
		return h, nil
	}
	if s.Listed == 0 {
		return h, nil // it was not read yet
	}
	h.items, err = f.list(n, session.Caller{UID: s.UID})
	if uint64(len(h.items)) > s.Listed {
		h.items = h.items[:s.Listed] // all of them were given: what came since is not of this listing
	}
	return h, err
}

func (f *FS) restoreLog(h *handle, s *keep.Handle) (err error) {
	if h.sess, err = f.session(h.node); err != nil {
		return err
	}
	if h.log, err = h.sess.Log(f.tree.specs[h.node.kind].name); err != nil {
		return err
	}
	h.unsynced = h.write // for all that is known
	direct := s.Now().Bits&bitDirect != 0
	// The kernel still has the hold that another process took.
	b := f.backings[h.node.id]
	if b == nil {
		b = &backing{idle: make(chan struct{})}
		f.backings[h.node.id] = b
	}
	b.id = max(b.id, s.Backing)
	b.users++
	if h.backed, h.direct = true, direct; direct {
		b.direct++
	}
	if h.read = !h.write && !h.direct && s.Mode&fuse.FOPEN_PASSTHROUGH == 0; h.read {
		b.read++
	}
	return nil
}

// restoreWriter makes a writer of a log go on where it was.
func (h *handle) restoreWriter(r *keep.Region, s *keep.Writer) {
	if h.log == nil {
		return
	}
	if h.writers == nil {
		h.writers = map[uint64]*logWriter{}
	}
	w := &logWriter{Writer: h.log.NewWriter()}
	w.keep(s)
	now := s.Now()
	w.Restore(appendlog.Rest{Partial: append([]byte(nil), r.Bytes(now.Partial)...), Ended: now.Bits&bitEnded != 0, Over: now.Bits&bitOver != 0})
	if i := s.Intent.Now(); i.Undecided() {
		s.Intent.Set(i.Settle(h.log.Recovered()))
	}
	h.writers[s.Owner] = w
}

// restore puts a handle back under the number that the kernel knows.
func (hs *handles) restore(fh uint64, h *handle) {
	h.uid, h.held = h.slot.UID, int64(len(h.data)+itemBytes*len(h.items))
	hs.quotas.restore(h.uid, h.held)
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.open[fh] = h
}

// status is the error of a status that was kept; nil of OK.
func status(st fuse.Status) error {
	if st.Ok() {
		return nil
	}
	return unix.Errno(st)
}
