package chunkstore

import (
	"slices"
	"sort"
)

// frame is some bytes of the address space that are stored, and decompressed, together.
type frame struct {
	segs  []Extent // its bytes, one after another
	raw   int      // their number
	blobs []byte   // records of blobs that stand in it
	pack  *pack    // nil: a journal or a part
	// held are the bytes, when this process keeps them: a journal that it writes. They only grow, at the end.
	held []byte
	load loader
}

// loader gives at least the first need bytes of a frame, verified.
type loader interface {
	load(need int) ([]byte, error)
	// size is how many bytes load can give; zero when it gives all anyway.
	size() int
}

// seg is a piece of the address space: its bytes start at off in frame fr.
type seg struct {
	Extent
	off int
	fr  *frame
}

// space knows where each address is: sorted, without overlap.
type space []seg

// newSpace gives every address one place. Where two frames hold the same addresses, as after a crash between two
// steps, the bytes are the same too, and the earlier frame in list counts.
func newSpace(list []*frame) space {
	var all []seg
	order := map[*frame]int{}
	for i, fr := range list {
		order[fr] = i
		off := 0
		for _, e := range fr.segs {
			all = append(all, seg{e, off, fr})
			off += int(e.Len)
		}
	}
	slices.SortFunc(all, func(a, b seg) int {
		if a.Addr != b.Addr {
			return int(min(max(a.Addr-b.Addr, -1), 1))
		}
		return order[a.fr] - order[b.fr]
	})
	out, end := space{}, int64(0)
	for _, s := range all {
		if over := end - s.Addr; over > 0 {
			s.Addr, s.Len, s.off = s.Addr+over, s.Len-over, s.off+int(over)
		}
		if s.Len > 0 {
			out = append(out, s)
			end = s.End()
		}
	}
	return out
}

// find gives the piece that holds addr.
func (sp space) find(addr int64) (seg, bool) {
	i := sort.Search(len(sp), func(i int) bool { return sp[i].End() > addr })
	if i == len(sp) || sp[i].Addr > addr {
		return seg{}, false
	}
	return sp[i], true
}

// place is where some bytes of a read come from: need is how many bytes of the frame that takes.
type place struct {
	fr   *frame
	held []byte
	off  int
	n    int
}

// places resolves extents. It is false when a part of them is nowhere.
func (sp space) places(list []Extent) ([]place, bool) {
	var out []place
	for _, e := range list {
		for e.Len > 0 {
			s, ok := sp.find(e.Addr)
			if !ok {
				return nil, false
			}
			n := min(e.Len, s.End()-e.Addr)
			out = append(out, place{fr: s.fr, held: s.fr.held, off: s.off + int(e.Addr-s.Addr), n: int(n)})
			e.Addr, e.Len = e.Addr+n, e.Len-n
		}
	}
	return out, true
}
