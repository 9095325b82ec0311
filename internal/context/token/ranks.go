package token

import (
	"encoding/binary"
	"math/bits"
)

// noRank is the rank of what is not a token: greater than any.
const noRank = ^uint32(0)

// ranks finds the rank of a token by its bytes. Most tokens are short, so those of up to 8 and of up to 16 bytes
// are held in the slots of two open-addressing tables, half full; the few others are in a map.
type ranks struct {
	short  []slot8
	medium []slot16
	long   map[string]uint32
}

// slot8 holds a token as a little-endian number. meta is its length << 24 | its rank, 0 in an empty slot.
type slot8 struct {
	key  uint64
	meta uint32
}

type slot16 struct {
	lo, hi uint64
	meta   uint32
}

const (
	lenShift = 24
	rankMask = 1<<lenShift - 1
)

func newRanks(lengths, text []byte) (*ranks, error) {
	short, medium := 0, 0
	for _, n := range lengths {
		switch {
		case n <= 8:
			short++
		case n <= 16:
			medium++
		}
	}
	r := &ranks{
		short:  make([]slot8, 2*short+1),
		medium: make([]slot16, 2*medium+1),
		long:   make(map[string]uint32, len(lengths)-short-medium),
	}
	at := 0
	for rank, n := range lengths {
		end := at + int(n)
		if end > len(text) {
			return nil, errVocab
		}
		if n > 0 {
			r.add(text, at, end, uint32(rank))
		}
		at = end
	}
	return r, nil
}

func (r *ranks) add(b []byte, i, end int, rank uint32) {
	meta := uint32(end-i)<<lenShift | rank
	switch n := end - i; {
	case n <= 8:
		key := load(b, i, n)
		at := hash(key, 0, len(r.short))
		for r.short[at].meta != 0 {
			at = after(at, len(r.short))
		}
		r.short[at] = slot8{key, meta}
	case n <= 16:
		lo, hi := load(b, i, 8), load(b, i+8, n-8)
		at := hash(lo, hi, len(r.medium))
		for r.medium[at].meta != 0 {
			at = after(at, len(r.medium))
		}
		r.medium[at] = slot16{lo, hi, meta}
	default:
		r.long[string(b[i:end])] = rank
	}
}

// of gives the rank of b[i:end], which is not empty, or noRank.
func (r *ranks) of(b []byte, i, end int) uint32 {
	n := end - i
	if n > 8 {
		return r.ofLonger(b, i, end)
	}
	key := load(b, i, n)
	for at := hash(key, 0, len(r.short)); ; at = after(at, len(r.short)) {
		slot := &r.short[at]
		if slot.key == key && int(slot.meta>>lenShift) == n {
			return slot.meta & rankMask
		}
		if slot.meta == 0 {
			return noRank
		}
	}
}

func (r *ranks) ofLonger(b []byte, i, end int) uint32 {
	n := end - i
	if n > 16 {
		if rank, ok := r.long[string(b[i:end])]; ok {
			return rank
		}
		return noRank
	}
	lo, hi := load(b, i, 8), load(b, i+8, n-8)
	for at := hash(lo, hi, len(r.medium)); ; at = after(at, len(r.medium)) {
		slot := &r.medium[at]
		if slot.lo == lo && slot.hi == hi && int(slot.meta>>lenShift) == n {
			return slot.meta & rankMask
		}
		if slot.meta == 0 {
			return noRank
		}
	}
}

// load reads the n bytes (1 to 8) at b[i] as a little-endian number.
func load(b []byte, i, n int) uint64 {
	if i+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[i:]) & (^uint64(0) >> (64 - 8*uint(n)))
	}
	var key uint64
	for j, c := range b[i : i+n] {
		key |= uint64(c) << (8 * j)
	}
	return key
}

// hash maps a key to one of n slots: the high half of a product depends on all bits of the key.
func hash(lo, hi uint64, n int) int {
	h := lo*0x9E3779B97F4A7C15 ^ bits.RotateLeft64(hi*0xC2B2AE3D27D4EB4F, 32)
	h ^= h >> 32
	at, _ := bits.Mul64(h*0xD6E8FEB86659FD93, uint64(n))
	return int(at)
}

func after(at, n int) int {
	if at++; at == n {
		return 0
	}
	return at
}
