package chunkstore

import "slices"

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
