package recall

import "math/bits"

// The vocabulary knows a term by 32 bits of a hash: a collision makes two words one, which costs a little rank and
// nothing else.
func key(h uint64) uint32 { return max(uint32(h>>32), 1) }

// hash hashes t[i:end] with its ASCII letters in lower case, 8 bytes at a time.
func hash[T string | []byte](t T, i, end int) uint64 {
	const a, b = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	h := uint64(end-i) * b
	for ; end-i > 8; i += 8 {
		h = mix(h^lowerWord(load(t, i)), a)
	}
	var last uint64
	if n := uint(end - i); i+8 <= len(t) {
		last = load(t, i) & (^uint64(0) >> (64 - 8*n))
	} else {
		for j := end - 1; j >= i; j-- {
			last = last<<8 | uint64(t[j])
		}
	}
	return mix(mix(h^lowerWord(last), a), b)
}

// mix folds the 128 bits of a product.
func mix(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

func load[T string | []byte](t T, i int) uint64 {
	t = t[i : i+8]
	return uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 | uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
}

// lowerWord makes those of 8 bytes lower case that are ASCII capitals.
func lowerWord(x uint64) uint64 {
	const ones = 0x0101010101010101
	low := x & (0x7f * ones)
	capital := (low + (0x80-'A')*ones) &^ (low + (0x7f-'Z')*ones) &^ x & (0x80 * ones)
	return x | capital>>2
}
