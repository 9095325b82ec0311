package keep

import (
	"math/bits"
	"slices"

	"golang.org/x/sys/unix"
)

// Extent is where bytes stand in the arena. Zero: nowhere.
type Extent struct {
	Off, Len, Cap uint64
}

// sound tells whether an extent is one that alloc gave.
func (e Extent) sound() bool {
	if e.Cap == 0 {
		return e.Off == 0 && e.Len == 0
	}
	return e.Cap >= least && e.Cap&(e.Cap-1) == 0 && e.Len <= e.Cap && e.Off >= least && e.Cap <= arenaSize && e.Off <= arenaSize-e.Cap
}

// least is the smallest room that is given, and large that from which on memory goes back to the system at once.
const (
	least = 256
	large = 256 << 10
)

// arena gives room in powers of two. What is given back is given again for the same size. Its state is this process's: the
// next one starts from what the slots name.
type arena struct {
	mem  []byte
	end  uint64                  // nothing stands from here on
	free [bits.UintSize][]uint64 // by the logarithm of the size
	uses map[uint64]int          // by offset: how many slots name what stands there
}

// start takes note of what is used; between that, memory goes back to the system.
func (a *arena) start(mem []byte, used []Extent) {
	a.mem, a.uses = mem, map[uint64]int{}
	slices.SortFunc(used, func(x, y Extent) int { return int(x.Off) - int(y.Off) })
	a.end = least // offset 0 is no room
	for _, e := range used {
		if e.Cap == 0 {
			continue
		}
		if a.uses[e.Off]++; e.Off > a.end {
			a.punch(a.end, e.Off-a.end)
		}
		a.end = max(a.end, e.Off+e.Cap)
	}
	a.punch(a.end, uint64(len(mem))-a.end)
}

// punch gives memory back. That this fails costs memory, nothing else.
func (a *arena) punch(off, n uint64) {
	const page = 4096
	first, last := (off+page-1)&^(page-1), (off+n)&^(page-1)
	if last > first {
		_ = unix.Madvise(a.mem[first:last:last], unix.MADV_REMOVE)
	}
}

// alloc gives room for n bytes, zero when there is none.
func (a *arena) alloc(n uint64) Extent {
	class := bits.Len64(max(n, least) - 1)
	size := uint64(1) << class
	if list := a.free[class]; len(list) > 0 {
		off := list[len(list)-1]
		a.free[class] = list[:len(list)-1]
		a.uses[off] = 1
		return Extent{Off: off, Cap: size}
	}
	if size > uint64(len(a.mem)) || a.end > uint64(len(a.mem))-size {
		return Extent{}
	}
	off := a.end
	a.end += size
	a.uses[off] = 1
	return Extent{Off: off, Cap: size}
}

// release takes back one use of an extent.
func (a *arena) release(e Extent) {
	if e.Cap == 0 {
		return
	}
	if a.uses[e.Off]--; a.uses[e.Off] > 0 {
		return
	}
	delete(a.uses, e.Off)
	if e.Cap >= large {
		a.punch(e.Off, e.Cap)
	}
	class := bits.Len64(e.Cap - 1)
	a.free[class] = append(a.free[class], e.Off)
}
