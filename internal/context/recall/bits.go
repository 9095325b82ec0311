package recall

import "math/bits"

// bitWriter packs numbers bit by bit, the lowest bit first.
type bitWriter struct {
	words []uint64
	cur   uint64
	used  uint // bits of cur
}

// put adds the lowest n bits of v, which must have no others; n is at most 64.
func (w *bitWriter) put(v uint64, n uint) {
	w.cur |= v << w.used
	if w.used += n; w.used >= 64 {
		w.words = append(w.words, w.cur)
		w.used -= 64
		w.cur = v >> (n - w.used)
	}
}

// at is how many bits have been put.
func (w *bitWriter) at() uint32 { return uint32(len(w.words))*64 + uint32(w.used) }

// close ends the stream, with a word more so that a read may look past the end.
func (w *bitWriter) close() []uint64 {
	out := make([]uint64, len(w.words)+2)
	copy(out, w.words)
	out[len(w.words)] = w.cur
	return out
}

// setWord writes 32 bits over the zeroes that were put at a place.
func (w *bitWriter) setWord(at, v uint32) {
	i, off := int(at/64), uint(at%64)
	if lo := uint64(v) << off; i < len(w.words) {
		w.words[i] |= lo
	} else {
		w.cur |= lo
		return
	}
	if off <= 32 {
		return
	}
	if hi := uint64(v) >> (64 - off); i+1 < len(w.words) {
		w.words[i+1] |= hi
	} else {
		w.cur |= hi
	}
}

// maxUnary is the quotient from which a Rice code gives the number itself, in 32 bits.
const maxUnary = 24

// rice codes v by its quotient by 2^b in unary, then the rest. b is at most 32.
func (w *bitWriter) rice(v uint32, b uint) {
	if q := uint(v >> b); q < maxUnary {
		w.put(1<<q|uint64(v&(1<<b-1))<<(q+1), q+1+b)
		return
	}
	w.put(1<<maxUnary|uint64(v)<<(maxUnary+1), maxUnary+1+32)
}

// riceFlag codes v as rice does, and a bit after it.
func (w *bitWriter) riceFlag(v uint32, b uint, flag bool) {
	bit := uint64(0)
	if flag {
		bit = 1
	}
	if q := uint(v >> b); q < maxUnary {
		w.put(1<<q|uint64(v&(1<<b-1))<<(q+1)|bit<<(q+1+b), q+2+b)
		return
	}
	w.rice(v, b)
	w.put(bit, 1)
}

// gamma codes v, from 1 to 2^30, in about twice its bits (Elias).
func (w *bitWriter) gamma(v uint32) {
	n := uint(bits.Len32(v)) - 1
	w.put(1<<n|uint64(v&(1<<n-1))<<(n+1), 2*n+1)
}

// bitReader reads what a bitWriter wrote.
type bitReader struct {
	words []uint64
	at    uint32
}

func (r *bitReader) peek() uint64 {
	i, off := r.at/64, r.at%64
	return r.words[i]>>off | r.words[i+1]<<1<<(63-off)
}

func (r *bitReader) word() uint32 {
	v := uint32(r.peek())
	r.at += 32
	return v
}

func (r *bitReader) bit() bool {
	v := r.words[r.at/64]>>(r.at%64)&1 != 0
	r.at++
	return v
}

func (r *bitReader) rice(b uint) uint32 {
	x := r.peek()
	q := uint(bits.TrailingZeros64(x))
	if x >>= q + 1; q < maxUnary {
		r.at += uint32(q + 1 + b)
		return uint32(q)<<b | uint32(x)&(1<<b-1)
	}
	r.at += maxUnary + 1 + 32
	return uint32(x)
}

func (r *bitReader) gamma() uint32 {
	x := r.peek()
	n := uint(bits.TrailingZeros64(x))
	r.at += uint32(2*n + 1)
	return 1<<n | uint32(x>>(n+1))&(1<<n-1)
}

// riceBits is the parameter that codes the gaps of d numbers below n in about the fewest bits.
func riceBits(n, d uint32) uint {
	if m := uint64(n) * 11 / 16 / uint64(d); m > 0 {
		return uint(bits.Len64(m)) - 1
	}
	return 0
}
