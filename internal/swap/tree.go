package swap

import (
	"encoding/hex"
	"fmt"

	"lukechampine.com/blake3"
)

// Hash is a BLAKE3 digest.
type Hash [32]byte

// Sum hashes data.
func Sum(data []byte) Hash { return blake3.Sum256(data) }

// String is the content id of design.md section 6: "blake3-" and 64 hex digits.
func (h Hash) String() string { return "blake3-" + hex.EncodeToString(h[:]) }

// kept is the lowest level whose hashes are kept: those of 16 lines. Below it lines are read again.
const kept = 4

// Tree holds the hashes of a growing log, so that any range of it has a hash without reading it again. The hash of an
// aligned range of up to 16 records is BLAKE3 of its bytes; of a larger one, BLAKE3 of its halves' hashes; of any other
// range, BLAKE3 of the hashes of its aligned parts in order (see Split). Memory: 4 bytes a record, and what stands
// between.
type Tree struct {
	count  int
	open   *blake3.Hasher // of the lines after the last 16
	levels [][]Hash       // levels[i][j]: the j-th aligned range of 2^(i+kept) records
	small  map[Range]Hash // some of those below
}

// maxSmall is how many hashes of small ranges are remembered.
const maxSmall = 4096

// Lines gives line n of the log ('\n' included).
type Lines func(n int) ([]byte, error)

// Add folds the next line.
func (t *Tree) Add(line []byte) {
	if t.open == nil {
		t.open = blake3.New(len(Hash{}), nil)
	}
	_, _ = t.open.Write(line) // a hash takes every write
	if t.count++; t.count%(1<<kept) != 0 {
		return
	}
	var h Hash
	t.open.Sum(h[:0])
	t.open.Reset()
	for k := kept; ; k++ {
		if len(t.levels) == k-kept {
			t.levels = append(t.levels, nil)
		}
		level := append(t.levels[k-kept], h)
		t.levels[k-kept] = level
		if len(level)%2 != 0 {
			return
		}
		h = join(level[len(level)-2], h)
	}
}

// Len is the number of lines folded.
func (t *Tree) Len() int { return t.count }

// Hash gives the hash of r, which must lie within the folded lines. At each end of r it reads up to 15 of them.
func (t *Tree) Hash(r Range, lines Lines) (Hash, error) {
	parts := r.Split()
	if len(parts) == 1 {
		return t.aligned(parts[0], lines)
	}
	var all []byte
	for _, p := range parts {
		h, err := t.aligned(p, lines)
		if err != nil {
			return Hash{}, err
		}
		all = append(all, h[:]...)
	}
	return Sum(all), nil
}

func (t *Tree) aligned(r Range, lines Lines) (Hash, error) {
	k, j := r.node()
	if k >= kept {
		return t.levels[k-kept][j], nil
	}
	if h, ok := t.small[r]; ok {
		return h, nil
	}
	var all []byte
	for n := r.A; n <= r.B; n++ {
		line, err := lines(n)
		if err != nil {
			return Hash{}, fmt.Errorf("hash of %s: %w", r.Ref(), err)
		}
		if all == nil && r.A == r.B {
			all = line
			break
		}
		all = append(all, line...)
	}
	if t.small == nil || len(t.small) >= maxSmall {
		t.small = map[Range]Hash{}
	}
	h := Sum(all)
	t.small[r] = h
	return h, nil
}

// Plain reports whether the hash of r is BLAKE3 of its bytes.
func Plain(r Range) bool { return len(r.Split()) == 1 && r.Len() <= 1<<kept }

func join(l, r Hash) Hash { return Sum(append(l[:], r[:]...)) }

// Find gives the aligned range of the first upTo records whose reference has the given id. It tries them all,
// small ones last: a lookup of a name, not something a pack does.
func (t *Tree) Find(id string, upTo int, lines Lines) (Range, bool, error) {
	upTo = min(upTo, t.count)
	for k := len(t.levels) + kept - 1; k >= 0; k-- {
		for j := 0; (j+1)<<k <= upTo; j++ {
			r := Range{j<<k + 1, (j + 1) << k}
			h, err := t.aligned(r, lines)
			if err != nil {
				return Range{}, false, err
			}
			if RangeChunk(r, h).ID() == id {
				return r, true, nil
			}
		}
	}
	return Range{}, false, nil
}
