package chunkstore

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"ctxfs/internal/cas"
)

// Live says what a collection must keep.
type Live struct {
	// Blob tells whether a blob is named by something. Nil: none is.
	Blob func(cas.ID) bool
	// Extents are those of all archives.
	Extents []Extent
	// Before is the time before which a blob must have been put last to be taken, if nothing names it.
	Before time.Time
	// Waste is the share of a pack that must be dead to be worth writing the pack anew; zero is a fifth.
	Waste float64
}

// Removal is one file that a collection takes away.
type Removal struct {
	Name   string // in the store's folder
	Bytes  int64  // how much smaller the store gets, estimated when the file is rewritten
	Reason string
}

// Collection is a collection under way: it has the right to write, so nothing is added meanwhile. A caller looks up
// what is alive after it was begun, not before.
type Collection struct {
	s    *Store
	Plan []Removal
	keep []Extent // sorted, joined
	// Packs that go, and which of their frames are copied first.
	old   []*pack
	temps []string
	dead  func(*blob) bool
	segs  map[*frame][]seg
}

// Collect begins a collection, and ends it when fn returns. fn makes a plan, and may run it.
func (s *Store) Collect(fn func(c *Collection) error) error {
	return s.update(func() error { return fn(&Collection{s: s}) })
}

// Make plans: packs with nothing alive go, packs with much waste are written anew. What stands in a journal, or in the
// part file, stays: it is young.
func (c *Collection) Make(live Live) {
	if live.Waste == 0 {
		live.Waste = 0.2
	}
	c.dead = func(b *blob) bool {
		return b.time < live.Before.Unix() && (live.Blob == nil || !live.Blob(b.id))
	}
	c.Plan, c.old, c.temps, c.segs = nil, nil, nil, map[*frame][]seg{}
	for _, sg := range c.s.space {
		c.segs[sg.fr] = append(c.segs[sg.fr], sg)
	}
	c.keep = c.alive(live.Extents, c.s.packs)
	for _, p := range c.s.packs {
		c.judge(p, live.Waste)
	}
	c.keep = c.alive(live.Extents, c.old)
	c.leftovers()
}

// alive gives all extents to keep when the packs of old are written anew: those of dead blobs only where their
// records stay behind, since a blob that can be looked up must be whole.
func (c *Collection) alive(roots []Extent, old []*pack) []Extent {
	keep := slices.Clone(roots)
	each := func(fr *frame, fresh bool) {
		eachBlob(fr.blobs, func(b *blob, _ []byte) {
			if !fresh || !c.dead(c.s.blobs[b.id]) {
				keep = append(keep, b.extents...)
			}
		})
	}
	for _, p := range c.s.packs {
		for _, fr := range p.frames {
			each(fr, slices.Contains(old, p))
		}
	}
	for _, p := range c.s.pending {
		each(p.frame, false)
	}
	return union(keep)
}

func eachBlob(recs []byte, fn func(b *blob, rec []byte)) {
	for len(recs) > 0 {
		b, n, err := parseBlob(recs)
		if err != nil {
			return // they were parsed before
		}
		fn(b, recs[:n])
		recs = recs[n:]
	}
}

// union sorts extents and joins those that touch.
func union(list []Extent) []Extent {
	slices.SortFunc(list, func(a, b Extent) int { return int(min(max(a.Addr-b.Addr, -1), 1)) })
	var out []Extent
	for _, e := range list {
		if n := len(out); n > 0 && e.Addr <= out[n-1].End() {
			out[n-1].Len = max(out[n-1].End(), e.End()) - out[n-1].Addr
		} else if e.Len > 0 {
			out = append(out, e)
		}
	}
	return out
}

// overlap gives the parts of e that stand in list, which is sorted.
func overlap(list []Extent, e Extent) (out []Extent) {
	i, _ := slices.BinarySearchFunc(list, e.Addr, func(x Extent, at int64) int { return int(min(max(x.End()-at, -1), 1)) })
	for ; i < len(list) && list[i].Addr < e.End(); i++ {
		from, to := max(list[i].Addr, e.Addr), min(list[i].End(), e.End())
		if from < to {
			out = append(out, Extent{from, to - from})
		}
	}
	return out
}

// judge looks how much of a pack is alive.
func (c *Collection) judge(p *pack, waste float64) {
	raw, live, recs, names := int64(0), int64(0), 0, 0
	for _, fr := range p.frames {
		raw += int64(fr.raw)
		for _, sg := range c.segs[fr] {
			live += length(overlap(c.keep, sg.Extent))
		}
		eachBlob(fr.blobs, func(b *blob, rec []byte) {
			recs += len(rec)
			if c.needed(b, rec) {
				names += len(rec)
			}
		})
	}
	total, kept := raw+int64(recs), live+int64(names)
	if len(p.frames) == 0 || p.dirty() && !c.complete() || float64(total-kept) <= waste*float64(total) {
		return
	}
	reason := fmt.Sprintf("%d of %d bytes are in use; written anew", kept, total)
	if kept == 0 {
		reason = "nothing in it is in use"
	}
	c.old = append(c.old, p)
	c.Plan = append(c.Plan, Removal{p.name, int64(float64(p.size) * float64(total-kept) / float64(total)), reason})
}

func length(list []Extent) (n int64) {
	for _, e := range list {
		n += e.Len
	}
	return n
}

// complete tells whether all that is alive can be found. Else a frame that a pack hides may be wanted.
func (c *Collection) complete() bool {
	_, ok := c.s.space.places(c.keep)
	return ok
}

// needed tells whether a record counts: that of a blob alive, and no younger one replaced it.
func (c *Collection) needed(b *blob, rec []byte) bool {
	cur := c.s.blobs[b.id]
	return !c.dead(cur) && bytes.Equal(rec, appendBlob(nil, cur))
}

// leftovers plans for files that crashes left: temporary ones, and packs that were replaced already.
func (c *Collection) leftovers() {
	l, err := c.s.list()
	if err != nil {
		return
	}
	gone := map[string]bool{}
	for _, name := range l.gone {
		c.add(name, "the collection it belongs to is over")
		data, _ := c.s.dir.ReadFile(name, 1<<20)
		old, _ := parseGone(data)
		for _, p := range old {
			gone[p] = true
		}
	}
	for _, name := range l.packs {
		if gone[name] {
			c.add(name, "a collection replaced it")
		}
	}
	for _, name := range l.others {
		if strings.HasPrefix(name, tempPrefix) {
			c.add(name, "temporary file that a crash left")
		}
	}
	// A list of replaced packs goes last: as long as it is there, they are not looked at.
	slices.SortStableFunc(c.temps, func(a, b string) int {
		return strings.Compare(goneLast(a), goneLast(b))
	})
}

func goneLast(name string) string {
	if strings.HasPrefix(name, gonePrefix) {
		return "~" + name
	}
	return name
}

func (c *Collection) add(name, reason string) {
	st, err := c.s.dir.Stat(name)
	if err != nil {
		return
	}
	c.temps = append(c.temps, name)
	c.Plan = append(c.Plan, Removal{name, st.Size, reason})
}
