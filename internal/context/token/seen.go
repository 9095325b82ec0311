package token

import (
	"encoding/binary"
	"math/bits"
)

// seen remembers the counts of short pieces, for text repeats itself: nine of ten pieces of a session were there
// shortly before. A piece has one slot, and the next one with that slot takes it over, so nothing grows and no
// count depends on what was counted before. It is small enough for a processor's second cache.
type seen [1 << seenBits]seenSlot

const (
	seenBits = 14
	maxSeen  = 14 // the longest piece, in bytes, that a slot has room for
)

// seenSlot has the bytes of a piece (little endian, zeros behind), its length in byte 14 and its count in byte 15.
type seenSlot struct{ low, high uint64 }

const (
	seenLength = 48 // the shift of the length in high
	seenCount  = 56 // the shift of the count in high
)

// keyOf gives the slot of the piece b[i:end], of 1 to maxSeen bytes, without its count.
func keyOf(b []byte, i, end int) seenSlot {
	n := uint(end - i)
	if i+16 > len(b) {
		var tail [16]byte
		copy(tail[:], b[i:])
		b, i = tail[:], 0
	}
	k := seenSlot{low: binary.LittleEndian.Uint64(b[i:]), high: uint64(n) << seenLength}
	if n <= 8 {
		k.low &= ^uint64(0) >> (64 - 8*n)
	} else {
		k.high |= binary.LittleEndian.Uint64(b[i+8:]) & (^uint64(0) >> (128 - 8*n))
	}
	return k
}

// place gives the slot for a key: the high bits of a product depend on all bits of it.
func (s *seen) place(k seenSlot) *seenSlot {
	return &s[(k.low^bits.RotateLeft64(k.high, 23))*0x9E3779B97F4A7C15>>(64-seenBits)]
}

// count gives the count of the piece that a slot has, and whether it is the one of a key.
func (s *seenSlot) count(k seenSlot) (n int, ok bool) {
	return int(s.high >> seenCount), s.low == k.low && s.high&(1<<seenCount-1) == k.high
}

func (s *seenSlot) put(k seenSlot, n int) {
	*s = seenSlot{k.low, k.high | uint64(n)<<seenCount}
}
