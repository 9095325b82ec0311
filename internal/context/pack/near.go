package pack

import (
	"fmt"
	"strings"

	"ctxfs/internal/dedup"
	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// near knows which tool outputs are nearly the same as an earlier one, of which a pack may show them as what changed.
type near struct {
	fold *dedup.Near
	like map[dedup.Place][]dedup.Like
}

func newNear() *near { return &near{dedup.NewNear(), map[dedup.Place][]dedup.Like{}} }

// add folds a tool's output.
func (x *near) add(text string, at dedup.Place) {
	if like := x.fold.Add(text, at); like != nil {
		x.like[at] = like
	}
}

// near writes block i of r by its difference from an output that stands in the pack before it, whole, when that takes
// at most two thirds of the text, and no more than the block may take. ok tells whether it does.
func (f *flow) near(r *record.Record, i int, text string, total, limit int) (short string, kept int, ok bool) {
	if f.whole == nil || total <= cutMarker {
		return "", 0, false
	}
	for _, l := range f.w.near.like[dedup.Place{Rec: uint32(r.N), Block: uint32(i + 1)}] {
		old, in := f.whole[l.At]
		if !in {
			continue
		}
		short, kept = f.changed(guard(text), old, l.At, swap.BlockRef(r.N, i+1), total)
		if kept > 0 && kept <= total*2/3 && kept <= limit+cutMarker {
			return short, kept, true
		}
	}
	return "", 0, false
}

// changed writes text by its difference from old, which stands at a place in the pack; 0 tokens when it cannot.
func (f *flow) changed(text, old string, at dedup.Place, ref string, total int) (string, int) {
	a, b := strings.Split(strings.TrimSuffix(old, "\n"), "\n"), strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	hunks, ok := diffLines(a, b)
	if !ok {
		return "", 0
	}
	var out strings.Builder
	name := strings.TrimPrefix(swap.BlockRef(int(at.Rec), int(at.Block)), "messages:")
	fmt.Fprintf(&out, "[... %d tokens, as %s but for what follows: cat %s]\n", total, name, swap.OpenPath(ref))
	writeHunks(&out, hunks, a, b)
	return out.String(), f.w.tok.Count(out.String())
}

// stands notes that block i of r stands whole in the pack.
func (f *flow) stands(r *record.Record, i int, text string) {
	if f.whole != nil && r.Blocks[i].Kind == record.ToolResult {
		f.whole[dedup.Place{Rec: uint32(r.N), Block: uint32(i + 1)}] = text
	}
}
