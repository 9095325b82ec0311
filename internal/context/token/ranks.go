package token

import (
	"encoding/binary"
	"math/bits"
)

// noRank is the rank of what is not a token: greater than any.
const noRank = 1<<rankBits - 1

const rankBits = 18

// ranks finds the rank of a token by its bytes. A slot of the table is four bytes, and frequent tokens have low
// ranks, so most of what a count touches stays in the processor's cache.
type ranks struct {
	slots []uint32 // open addressing, half full: part of the hash << rankBits | rank; all ones in an empty slot
	ends  []uint32 // by rank: where the token ends in text; it starts where the one before ends
	text  []byte   // the tokens by rank, and 8 bytes more, for load
	maybe []uint64 // a bit for each high part of a hash that a token has: of what is no token, five of six end here
	pairs []uint32 // by pairOf: the rank of a token of two bytes, with which each merge begins, or noRank
}

const (
	emptySlot = ^uint32(0)
	maybeBits = 20
)

// newRanks takes the length of the token of each rank (0 for none) and the bytes of all.
func newRanks(lengths, text []byte) (*ranks, error) {
	r := &ranks{
		slots: make([]uint32, 2*len(lengths)+1),
		ends:  make([]uint32, 1, len(lengths)+1),
		maybe: make([]uint64, 1<<maybeBits/64),
		pairs: make([]uint32, 1<<16),
	}
	for i := range r.slots {
		r.slots[i] = emptySlot
	}
	for i := range r.pairs {
		r.pairs[i] = noRank
	}
	end := 0
	for _, n := range lengths {
		end += int(n)
		r.ends = append(r.ends, uint32(end))
	}
	if end > len(text) || len(lengths) >= noRank {
		return nil, errVocab
	}
	r.text = append(make([]byte, 0, end+8), text[:end]...)
	r.text = append(r.text, make([]byte, 8)...)
	for rank, n := range lengths {
		if n > 0 {
			r.add(uint32(rank))
		}
	}
	return r, nil
}

func (r *ranks) add(rank uint32) {
	token := r.text[r.ends[rank]:r.ends[rank+1]]
	key := uint64(0)
	if len(token) > 8 {
		key = longKey(token)
	} else {
		key = load(token, 0, len(token))
	}
	if len(token) == 2 {
		r.pairs[pairOf(token, 0)] = rank
	}
	hash := hashOf(key)
	r.maybe[hash>>(70-maybeBits)] |= 1 << (hash >> (64 - maybeBits) % 64)
	at, tag := r.place(hash)
	for r.slots[at] != emptySlot {
		at = r.after(at)
	}
	r.slots[at] = tag | rank
}

// of gives the rank of b[i:end], which is not empty, or noRank.
func (r *ranks) of(b []byte, i, end int) uint32 {
	n := end - i
	if n > 8 {
		return r.ofLong(b[i:end])
	}
	key := load(b, i, n)
	hash := hashOf(key)
	if !r.mayBe(hash) {
		return noRank
	}
	for at, tag := r.place(hash); ; at = r.after(at) {
		slot := r.slots[at]
		if slot == emptySlot {
			return noRank
		}
		if (slot^tag)>>rankBits != 0 {
			continue
		}
		rank := slot & noRank
		from, to := int(r.ends[rank]), int(r.ends[rank+1])
		if to-from == n && load(r.text, from, n) == key {
			return rank
		}
	}
}

func (r *ranks) ofLong(token []byte) uint32 {
	hash := hashOf(longKey(token))
	if !r.mayBe(hash) {
		return noRank
	}
	for at, tag := r.place(hash); ; at = r.after(at) {
		slot := r.slots[at]
		if slot == emptySlot {
			return noRank
		}
		if (slot^tag)>>rankBits != 0 {
			continue
		}
		rank := slot & noRank
		if string(r.text[r.ends[rank]:r.ends[rank+1]]) == string(token) {
			return rank
		}
	}
}

// longKey makes one number of the first and the last 8 bytes of a longer token.
func longKey(token []byte) uint64 {
	last := binary.LittleEndian.Uint64(token[len(token)-8:])
	return binary.LittleEndian.Uint64(token) ^ bits.RotateLeft64(last*0xC2B2AE3D27D4EB4F, 32)
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

// pairOf is the index in ranks.pairs of b[i] and b[i+1].
func pairOf(b []byte, i int) uint16 { return binary.LittleEndian.Uint16(b[i:]) }

// hashOf has high bits that depend on all bits of a key.
func hashOf(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 }

// mayBe is false where no token has the hash.
func (r *ranks) mayBe(hash uint64) bool {
	return r.maybe[hash>>(70-maybeBits)]>>(hash>>(64-maybeBits)%64)&1 != 0
}

// place maps a hash to its first slot, by the high bits, and to a tag for that slot, by the bits after those.
func (r *ranks) place(hash uint64) (at int, tag uint32) {
	high, low := bits.Mul64(hash, uint64(len(r.slots)))
	return int(high), uint32(low>>32) &^ noRank
}

func (r *ranks) after(at int) int {
	if at++; at == len(r.slots) {
		return 0
	}
	return at
}
