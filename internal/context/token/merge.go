package token

// maxScan is the length in bytes up to which looking through all pairs for the lowest rank is faster than a
// heap of them.
const (
	maxScan = 1<<posBits - 1
	posBits = 6
)

// noPair is greater than any rank<<posBits | position.
const noPair = ^uint32(0)

// scan merges the bytes of b[i:end], at least 2 and at most maxScan, pair by pair: always the pair that is the
// token of the lowest rank, the leftmost of equals, until no pair is a token. It gives the number of parts left.
func (r *ranks) scan(b []byte, i, end int) int {
	var (
		// pairs has, at the first byte of each part, the rank of that part joined with the next, and the place
		// itself, so that the least number is the lowest rank and the leftmost.
		pairs      [1 << posBits]uint32
		next, prev [1 << posBits]uint8 // the first bytes of the parts beside
	)
	n := end - i
	for j := range n {
		next[j], prev[j] = uint8(j+1), uint8(j-1)
		pairs[j] = noPair
		if j+1 < n {
			pairs[j] = pairAt(r.pairs[pairOf(b, i+j)], j)
		}
	}
	for parts := n; ; parts-- {
		least := noPair
		for _, p := range pairs[:n] {
			least = min(least, p)
		}
		if least == noPair {
			return parts
		}
		at := least % (1 << posBits)
		gone := next[at]
		after := next[gone]
		next[at], prev[after] = after, uint8(at)
		pairs[gone], pairs[at] = noPair, noPair
		if int(after) < n {
			pairs[at] = pairAt(r.of(b, i+int(at), i+int(next[after])), int(at))
		}
		if at > 0 {
			before := int(prev[at])
			pairs[before] = pairAt(r.of(b, i+before, i+int(after)), before)
		}
	}
}

func pairAt(rank uint32, pos int) uint32 {
	if rank == noRank {
		return noPair
	}
	return rank<<posBits | uint32(pos)
}
