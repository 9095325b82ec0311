// Package swap names what is out of the prompt window but not out of storage: ranges of the log as references
// that stay stable while the log grows, each with a hash by which the expanded bytes can be checked
// (context-runtime-abi, "Swap"; design.md section 6). It holds hashes, never text, and does no I/O.
package swap

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Range is records A to B of a log, both included, numbered from 1.
type Range struct{ A, B int }

// Len is the number of records in r.
func (r Range) Len() int { return r.B - r.A + 1 }

// String is the range as the specifications write it: "12-18", or "12" for one record.
func (r Range) String() string {
	if r.A == r.B {
		return strconv.Itoa(r.A)
	}
	return strconv.Itoa(r.A) + "-" + strconv.Itoa(r.B)
}

// Ref is the range as a reference: "messages:12-18".
func (r Range) Ref() string { return "messages:" + r.String() }

// ParseRange reads "12", "12-18" or either with the prefix "messages:". Numbers start at 1.
func ParseRange(s string) (Range, error) {
	lo, hi, two := strings.Cut(strings.TrimPrefix(s, "messages:"), "-")
	if !two {
		hi = lo
	}
	a, errA := number(lo)
	b, errB := number(hi)
	if errA != nil || errB != nil || a < 1 || b < a {
		return Range{}, fmt.Errorf("%q is no range of records (as messages:12 or messages:12-18)", s)
	}
	return Range{a, b}, nil
}

// number reads plain digits only: a name must have one spelling, so no sign and no leading zero.
func number(s string) (int, error) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, fmt.Errorf("%q is no record number", s)
	}
	return strconv.Atoi(s)
}

// Split cuts r into the fewest aligned ranges: each is 2^k records long and starts after a multiple of 2^k
// records. A range of n records becomes at most 2*log2(n) of them, and an append changes none of those that exist.
func (r Range) Split() []Range {
	var out []Range
	for at := r.A - 1; at < r.B; {
		k := bits.Len(uint(r.B-at)) - 1
		if z := bits.TrailingZeros(uint(at)); at > 0 && z < k {
			k = z
		}
		out = append(out, Range{at + 1, at + 1<<k})
		at += 1 << k
	}
	return out
}

// node gives the level k and the index of an aligned range at that level.
func (r Range) node() (k, j int) {
	k = bits.Len(uint(r.Len())) - 1
	return k, (r.A - 1) >> k
}
