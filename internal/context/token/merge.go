package token

// maxScan is the length in bytes up to which looking through all pairs for the lowest rank is faster than a
// heap of them.
const maxScan = 96

// scan merges the bytes of b[i:end], at least 2 and at most maxScan, pair by pair: always the pair that is the
// token of the lowest rank, the leftmost of equals, until no pair is a token. It gives the number of parts left.
func (r *ranks) scan(b []byte, i, end int) int {
	var starts [maxScan + 2]int   // of the parts, and twice the end
	var pairs [maxScan + 1]uint32 // the rank of each part joined with the next
	n := end - i
	for j := range n {
		starts[j] = i + j
		pairs[j] = noRank
		if j+1 < n {
			pairs[j] = r.of(b, i+j, i+j+2)
		}
	}
	starts[n] = end
	for {
		at := lowest(pairs[:n])
		if pairs[at] == noRank {
			return n
		}
		copy(starts[at+1:n+1], starts[at+2:n+1])
		copy(pairs[at+1:n], pairs[at+2:n])
		n--
		pairs[n] = noRank
		pairs[at] = noRank
		if at+2 <= n {
			pairs[at] = r.of(b, starts[at], starts[at+2])
		}
		if at > 0 {
			pairs[at-1] = r.of(b, starts[at-1], starts[at+1])
		}
	}
}

func lowest(pairs []uint32) int {
	at := 0
	for j, rank := range pairs {
		if rank < pairs[at] {
			at = j
		}
	}
	return at
}
