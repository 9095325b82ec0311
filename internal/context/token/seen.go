package token

import (
	"encoding/binary"
	"math/bits"
)

// seen remembers the counts of short pieces, for text repeats itself: of ten pieces of real sessions, nine are
// there. A piece has a place for two, and takes that of the one of them that was asked for less lately, so nothing
// grows. It is small enough for a processor's second cache. No count depends on what was counted before.
type seen [1 << seenBits][2]seenSlot

const (
	seenBits = 13
	maxSeen  = 14 // the longest piece, in bytes, that a slot has room for
)

// seenSlot has the bytes of a piece (little endian, zeros behind), its length in byte 14 and its count in byte 15,
// which is 0 as long as it is not known.
type seenSlot struct{ low, high uint64 }

const (
	seenLength = 48 // the shift of the length in high
	seenCount  = 56 // the shift of the count in high
)

func (s *seenSlot) count() int { return int(s.high >> seenCount) }

func (s *seenSlot) setCount(n int) { s.high |= uint64(n) << seenCount }

// find gives the slot of the piece b[i:end], of 1 to maxSeen bytes.
func (s *seen) find(b []byte, i, end int) *seenSlot {
	k := keyOf(b, i, end)
	pair := &s[(k.low^bits.RotateLeft64(k.high, 23))*0x9E3779B97F4A7C15>>(64-seenBits)]
	if pair[0].is(k) {
		return &pair[0]
	}
	pair[0], pair[1] = pair[1], pair[0]
	if !pair[0].is(k) {
		pair[0] = k
	}
	return &pair[0]
}

func (s *seenSlot) is(k seenSlot) bool {
	return s.low == k.low && s.high&(1<<seenCount-1) == k.high
}

// keyOf gives the slot for a piece, without its count.
func keyOf(b []byte, i, end int) seenSlot {
	if i+16 > len(b) {
		b, i, end = append(make([]byte, 0, 16), b[i:end]...)[:16], 0, end-i
	}
	text, n := (*[16]byte)(b[i:]), uint(end-i)
	k := seenSlot{binary.LittleEndian.Uint64(text[:]), uint64(n) << seenLength}
	if n <= 8 {
		k.low &= ^uint64(0) >> ((64 - 8*n) % 64)
	} else {
		k.high |= binary.LittleEndian.Uint64(text[8:]) & (^uint64(0) >> ((128 - 8*n) % 64))
	}
	return k
}
