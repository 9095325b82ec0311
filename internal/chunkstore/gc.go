package chunkstore

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"ctxfs/internal/cas"
)

// Live says what a collection must keep. Who cannot read one of the archives' indexes does not know its extents, and
// must not collect.
type Live struct {
	// Blob tells whether a blob is named by something. Nil: none is.
	Blob func(cas.ID) bool
	// Extents are those of all archives.
	Extents []Extent
	// Before is the time before which a blob must have been put last to be taken, if nothing names it.
	Before time.Time
	// Waste is the share of a pack that must be dead to be worth writing the pack anew; zero is a fifth.
	Waste float64
	// Compress writes those packs anew too that were compressed quickly when their bytes came in: 6 % smaller, at some
	// 30 MB of content a second.
	Compress bool
	// Limit is how many packs are written anew at most, so that writers do not wait long; zero: all. See
	// Collection.More.
	Limit int
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
	More bool     // Limit left packs out: collect again
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
	c.Plan, c.old, c.temps, c.segs, c.More = nil, nil, nil, map[*frame][]seg{}, false
	for _, sg := range c.s.space {
		c.segs[sg.fr] = append(c.segs[sg.fr], sg)
	}
	c.keep = c.alive(live.Extents, c.s.packs)
	few := c.few()
	for _, p := range c.s.packs {
		c.judge(p, &live, few)
	}
	c.empties()
	c.keep = c.alive(live.Extents, c.old)
	c.leftovers()
}

// fewPacks is how many packs that are not half full may stand about.
const fewPacks = 8

// few tells whether there are few packs that are not half full. Each collection may leave one.
func (c *Collection) few() bool {
	n := 0
	for _, p := range c.s.packs {
		if p.size < PackSize/2 {
			n++
		}
	}
	return n <= fewPacks
}

// judge looks whether a pack is to go.
func (c *Collection) judge(p *pack, live *Live, few bool) {
	total, kept := c.weigh(p)
	if len(p.frames) == 0 || p.dirty() && !c.complete() {
		return
	}
	reason, gain := "", float64(total-kept)/float64(total)
	switch {
	case kept == 0:
		reason = "nothing in it is in use"
	case gain > live.Waste:
		reason = fmt.Sprintf("%d of %d bytes are in use; written anew", kept, total)
	case live.Compress && p.quick:
		reason, gain = "it was compressed quickly; written anew", gain+0.06
	case !few && p.size < PackSize/2:
		reason = "there are many small ones; put together"
	case p.cut && !p.gap && !p.badHead:
		reason = "a crash left bytes at its end; written anew"
	default:
		return
	}
	if live.Limit > 0 && len(c.old) >= live.Limit {
		c.More = true
		return
	}
	c.old = append(c.old, p)
	c.Plan = append(c.Plan, Removal{p.name, int64(float64(p.size) * gain), reason})
}

// empties takes along packs without a frame, which collections left. One stays, to say which addresses are free.
func (c *Collection) empties() {
	if len(c.old) == 0 {
		return
	}
	for _, p := range c.s.packs {
		if len(p.frames) == 0 && !p.dirty() {
			c.old = append(c.old, p)
			c.Plan = append(c.Plan, Removal{p.name, p.size, "it is empty"})
		}
	}
}

// weigh adds up the bytes and records of a pack, and those of them that are alive.
func (c *Collection) weigh(p *pack) (total, kept int64) {
	for _, fr := range p.frames {
		total += int64(fr.raw)
		for _, sg := range c.segs[fr] {
			kept += length(overlap(c.keep, sg.Extent))
		}
		eachBlob(fr.blobs, func(b *blob, rec []byte) {
			total += int64(len(rec))
			if c.needed(b, rec) {
				kept += int64(len(rec))
			}
		})
	}
	return total, kept
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
