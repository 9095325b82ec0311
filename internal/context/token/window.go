package token

// windowSize is the length in bytes of what is merged at once of a long piece, in room that stays in the
// processor's first cache.
const (
	windowSize = 1 << windowBits
	windowBits = 9
	blockSize  = 16
	blocks     = windowSize / blockSize
)

// window merges as scan does, and finds the lowest rank by the least of each block.
type window struct {
	pairs  [windowSize]uint32     // at the first byte of each part: rank<<windowBits | place, as in scan
	least  [blocks]uint32         // of each block of pairs
	next   [windowSize]uint16     // the first byte of the part after the one that starts here
	prev   [windowSize + 1]uint16 // and of the one before
	starts []int                  // in the piece: of the last tokens, which the next window may change
}

// merge leaves in next the parts of b, 2 to windowSize bytes, and gives the number of merges.
func (w *window) merge(r *ranks, b []byte) (merges int) {
	w.start(r, b)
	for ; ; merges++ {
		least := min(least16(w.least[:16]), least16(w.least[16:]))
		if least == noPair {
			return merges
		}
		at := int(least % windowSize)
		gone := int(w.next[at])
		after := int(w.next[gone])
		w.next[at], w.prev[after] = uint16(after), uint16(at)
		w.pairs[gone], w.pairs[at] = noPair, noPair
		if after < len(b) {
			w.pairs[at] = windowPair(r.of(b, at, int(w.next[after])), at)
		}
		if at > 0 {
			before := int(w.prev[at])
			w.pairs[before] = windowPair(r.of(b, before, after), before)
			if before/blockSize != at/blockSize {
				w.renew(before / blockSize)
			}
		}
		w.renew(at / blockSize)
		if gone/blockSize != at/blockSize {
			w.renew(gone / blockSize)
		}
	}
}

func (w *window) start(r *ranks, b []byte) {
	for i := range b {
		w.next[i], w.prev[i+1] = uint16(i+1), uint16(i)
	}
	last := len(b) - 1
	for i := range last {
		w.pairs[i] = windowPair(r.pairs[pairOf(b, i)], i)
	}
	for i := last; i < windowSize; i++ {
		w.pairs[i] = noPair
	}
	for i := range w.least {
		w.renew(i)
	}
}

func windowPair(rank uint32, at int) uint32 {
	if rank == noRank {
		return noPair
	}
	return rank<<windowBits | uint32(at)
}

// renew finds the least pair of a block again.
func (w *window) renew(block int) {
	w.least[block] = least16(w.pairs[block*blockSize:])
}

// least16 gives the least of the first 16, by a tree, not a chain, so that the processor compares several at once.
func least16(pairs []uint32) uint32 {
	p := (*[16]uint32)(pairs)
	return min(
		min(min(min(p[0], p[1]), min(p[2], p[3])), min(min(p[4], p[5]), min(p[6], p[7]))),
		min(min(min(p[8], p[9]), min(p[10], p[11])), min(min(p[12], p[13]), min(p[14], p[15]))))
}
