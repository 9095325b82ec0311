package pack

import "ctxfs/internal/record"

// sideChain reports whether r is of a side chain: a child agent's record in the log of its parent, whose model never saw it. The
// parent's call and its result stand for it. A log that begins with such records is the child's own, up to its first other record.
func (w *Workset) sideChain(r *record.Record) bool {
	w.main = w.main || !r.Sidechain
	if r.Sidechain && w.main {
		w.sides++
		return true
	}
	return false
}

func (w *Workset) isSide(n int) bool { return w.metas[n-1].flags&flagSide != 0 }

// chooseSides puts records of side chains into a pack that has room for them beside all others: those that are pinned, and those that
// match a question that was given.
func (b *builder) chooseSides(room int) error {
	if len(b.forced) == 0 && b.in.Query == "" || b.w.sides == 0 {
		return nil
	}
	room -= b.force(room)
	if b.in.Query == "" {
		return nil
	}
	_, err := b.recall(b.w.Len(), room)
	return err
}

// recallable is how many records can be recalled: those before the window, and for a question those of side chains in it.
func (b *builder) recallable() int {
	if b.in.Query != "" && b.w.sides > 0 {
		return b.w.Len()
	}
	return b.start - 1
}

// aside reports whether record n stays out of the pack since it is of a side chain. It comes in only when it is pinned, or matches a
// question that was given.
func (b *builder) aside(n int) bool { return b.w.isSide(n) && !b.isChosen(n) }
