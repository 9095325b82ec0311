package chunkstore

import "encoding/binary"

// window is how many bytes a gear hash depends on: each step shifts one bit out at the top.
const window = 64

// Positions whose hash has fineBits zero bits at the top are looked up; those with coarseBits are kept on disk, with
// their frame, as anchors.
const (
	fineBits   = 5
	coarseBits = 12
	fineMask   = (1<<fineBits - 1) << (64 - fineBits)
	coarseMask = (1<<coarseBits - 1) << (64 - coarseBits)
)

// Sampling names how positions are chosen. It stands in every pack file.
const Sampling = "gear64-splitmix-5-12"

type gearTable [256]uint64

// newGear gives the table of the gear hash (Xia et al., Ddelta, 2014): 256 numbers of splitmix64 from a fixed seed.
// Anchors on disk depend on it.
func newGear() *gearTable {
	var g gearTable
	x := uint64(0x9E3779B97F4A7C15)
	for i := range g {
		x += 0x9E3779B97F4A7C15
		z := x
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		g[i] = z ^ z>>31
	}
	return &g
}

// next looks for the first sampled position after at: data[pos-1] ends its window, and pos is over len(data) when there
// is none. fp is the hash before data[at].
func (g *gearTable) next(data []byte, at int, fp uint64) (pos int, hash uint64) {
	for i, c := range data[at:] {
		fp = fp<<1 + g[c]
		if fp&fineMask == 0 {
			return at + i + 1, fp
		}
	}
	return len(data) + 1, fp
}

// at is the hash of the window that ends before data[pos].
func (g *gearTable) at(data []byte, pos int) uint64 {
	fp := uint64(0)
	for _, c := range data[max(0, pos-window):pos] {
		fp = fp<<1 + g[c]
	}
	return fp
}

// mix spreads a sampled hash, whose top bits are zero, over all bits.
func mix(fp uint64) uint64 { return fp * 0x9E3779B97F4A7C15 }

// tagOf is what an anchor keeps of a hash.
func tagOf(fp uint64) uint32 { return uint32(mix(fp) >> 32) }

// common is the length of the common head of a and b.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n && binary.LittleEndian.Uint64(a[i:]) == binary.LittleEndian.Uint64(b[i:]); i += 8 {
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// commonEnd is the length of the common tail of a and b.
func commonEnd(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	return i
}
