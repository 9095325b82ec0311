package archive

import (
	"encoding/binary"
	"fmt"
	"math"

	"ctxfs/internal/chunkstore"
)

// A log's extents are pairs: bytes that were new, which follow each other in the store, and a piece that stood there
// before. A pair is three numbers, one of each column: the length of the new bytes, the length of the piece, and the
// distance of its start from where it would be if the new bytes had replaced as many of what the last piece came from.
// Either length may be 0. The first new bytes, and those after a gap in the addresses, are written as a piece.
type walker struct {
	fresh int64 // where new bytes go on
	last  int64 // end of the last piece
}

// piece takes note of a piece, and of where new bytes go on after it.
func (w *walker) piece(e chunkstore.Extent) {
	w.last = e.End()
	if e.Addr >= w.fresh {
		w.fresh = e.End()
	}
}

func columns(list []chunkstore.Extent) (cols [3][]byte) {
	var w walker
	for i := 0; i < len(list); i++ {
		n := int64(0)
		if list[i].Addr == w.fresh && w.fresh > 0 { // an extent at 0 is written as a piece
			n = list[i].Len
			w.fresh += n
			i++
		}
		var e chunkstore.Extent
		dist := int64(0)
		if i < len(list) {
			e = list[i]
			dist = e.Addr - (w.last + n)
			w.piece(e)
		}
		cols[0] = binary.AppendUvarint(cols[0], uint64(n))     // #nosec G115 -- a length
		cols[1] = binary.AppendUvarint(cols[1], uint64(e.Len)) // #nosec G115 -- a length
		cols[2] = binary.AppendVarint(cols[2], dist)
	}
	return cols
}

// maxAddr bounds addresses and lengths.
const maxAddr = math.MaxInt64 / 4

func extents(cols [3][]byte) (out []chunkstore.Extent, err error) {
	var w walker
	add := func(e chunkstore.Extent) {
		if e.Len > 0 {
			out = append(out, e)
		}
	}
	for len(cols[0]) > 0 {
		n, a := binary.Uvarint(cols[0])
		size, b := binary.Uvarint(cols[1])
		dist, c := binary.Varint(cols[2])
		if a <= 0 || b <= 0 || c <= 0 || n > maxAddr || size > maxAddr || dist > maxAddr || dist < -maxAddr {
			return nil, fmt.Errorf("%w: extents", ErrCorrupt)
		}
		cols[0], cols[1], cols[2] = cols[0][a:], cols[1][b:], cols[2][c:]
		add(chunkstore.Extent{Addr: w.fresh, Len: int64(n)})
		w.fresh += int64(n)
		if size > 0 {
			e := chunkstore.Extent{Addr: w.last + int64(n) + dist, Len: int64(size)}
			if e.Addr < 0 || e.Addr > maxAddr {
				return nil, fmt.Errorf("%w: extents", ErrCorrupt)
			}
			w.piece(e)
			add(e)
		}
		if w.fresh > maxAddr || w.last > maxAddr || len(out) > maxExtents {
			return nil, fmt.Errorf("%w: extents", ErrCorrupt)
		}
	}
	if len(cols[1])+len(cols[2]) > 0 {
		return nil, fmt.Errorf("%w: extents", ErrCorrupt)
	}
	return out, nil
}
