package swap

import (
	"encoding/hex"

	"lukechampine.com/blake3"
)

// Hash is a BLAKE3 digest.
type Hash [32]byte

// Sum hashes data.
func Sum(data []byte) Hash { return blake3.Sum256(data) }

// String is the content id of design.md section 6: "blake3-" and 64 hex digits.
func (h Hash) String() string { return "blake3-" + hex.EncodeToString(h[:]) }

// kept is the lowest level above the lines whose hashes are kept; those between are cheap to compute again.
const kept = 3

// Tree holds the hashes of a growing log, so that any range of it has a hash without reading it again. The hash of
// one record is BLAKE3 of its line ('\n' included); of an aligned range, BLAKE3 of its halves' hashes; of any
// other range, BLAKE3 of the hashes of its aligned parts in order (see Split). Memory: 40 bytes a record.
type Tree struct {
	lines  []Hash
	levels [][]Hash // levels[i][j]: the j-th aligned range of 2^(i+kept) records
}

// Add folds the next line.
func (t *Tree) Add(line []byte) {
	t.lines = append(t.lines, Sum(line))
	n := len(t.lines)
	for k := kept; n&(1<<k-1) == 0; k++ {
		if len(t.levels) <= k-kept {
			t.levels = append(t.levels, nil)
		}
		t.levels[k-kept] = append(t.levels[k-kept], t.join(k, n>>k-1))
	}
}

// Len is the number of lines folded.
func (t *Tree) Len() int { return len(t.lines) }

// Hash gives the hash of r, which must lie within the folded lines.
func (t *Tree) Hash(r Range) Hash {
	parts := r.Split()
	if len(parts) == 1 {
		return t.node(parts[0].node())
	}
	var all []byte
	for _, p := range parts {
		h := t.node(p.node())
		all = append(all, h[:]...)
	}
	return Sum(all)
}

func (t *Tree) node(k, j int) Hash {
	switch {
	case k == 0:
		return t.lines[j]
	case k >= kept:
		return t.levels[k-kept][j]
	}
	return t.join(k, j)
}

func (t *Tree) join(k, j int) Hash {
	l, r := t.node(k-1, 2*j), t.node(k-1, 2*j+1)
	return Sum(append(l[:], r[:]...))
}

// Find gives the aligned range of the first upTo records whose reference has the given id. It tries them all,
// small ones last: a lookup of a name, not something a pack does.
func (t *Tree) Find(id string, upTo int) (Range, bool) {
	if upTo > t.Len() {
		upTo = t.Len()
	}
	for k := len(t.levels) + kept - 1; k >= 0; k-- {
		for j := 0; (j+1)<<k <= upTo; j++ {
			r := Range{j<<k + 1, (j + 1) << k}
			if RangeChunk(r, t.node(k, j)).ID() == id {
				return r, true
			}
		}
	}
	return Range{}, false
}
