package token

// heap is the room to merge a piece as a whole, kept between calls.
type heap struct {
	next, prev []int32  // of the part that starts at a byte
	pairs      []uint32 // the rank of that part joined with the next
	queue      []uint64 // rank << 32 | start, the lowest first; entries may be out of date
}

// keepHeap is the length in bytes up to which the room for a piece is kept for the next one.
const keepHeap = 1 << 16

// whole merges as scan does, with a heap of the pairs: n log n for a piece of any length.
func (s *room) whole(r *ranks, b []byte, keep bool) tokens {
	h := &s.heap
	s.work += h.merge(r, b)
	t := tokens{keep: keep}
	for at := 0; at < len(b); {
		at = int(h.next[at])
		t.add(at)
	}
	if len(b) > keepHeap {
		*h = heap{}
	}
	return t
}

func (h *heap) merge(r *ranks, b []byte) (steps int) {
	h.start(r, b)
	for ; len(h.queue) > 0; steps++ {
		top := h.pop()
		at := int32(uint32(top))
		if h.pairs[at] != uint32(top>>32) {
			continue // this pair has changed since
		}
		h.join(at)
		h.pair(r, b, at)
		if before := h.prev[at]; before >= 0 {
			h.pair(r, b, before)
		}
	}
	return steps
}

func (h *heap) start(r *ranks, b []byte) {
	if cap(h.next) < len(b)+1 {
		h.next, h.prev, h.pairs = make([]int32, len(b)+1), make([]int32, len(b)+1), make([]uint32, len(b)+1)
	}
	h.next, h.prev, h.pairs = h.next[:len(b)+1], h.prev[:len(b)+1], h.pairs[:len(b)+1]
	h.queue = h.queue[:0]
	for i := range h.next {
		h.next[i], h.prev[i] = int32(i+1), int32(i-1)
	}
	for i := range b {
		h.pair(r, b, int32(i))
	}
}

// join makes one part of the part at a byte and the next one.
func (h *heap) join(at int32) {
	gone := h.next[at]
	h.pairs[gone] = noRank
	h.next[at] = h.next[gone]
	h.prev[h.next[at]] = at
}

// pair ranks the part at a byte with the next one and puts it on the heap.
func (h *heap) pair(r *ranks, b []byte, at int32) {
	h.pairs[at] = noRank
	if int(h.next[at]) >= len(b) {
		return
	}
	rank := r.of(b, int(at), int(h.next[h.next[at]]))
	h.pairs[at] = rank
	if rank != noRank {
		h.push(uint64(rank)<<32 | uint64(at))
	}
}

func (h *heap) push(v uint64) {
	h.queue = append(h.queue, v)
	q, i := h.queue, len(h.queue)-1
	for i > 0 && q[(i-1)/2] > v {
		q[i] = q[(i-1)/2]
		i = (i - 1) / 2
	}
	q[i] = v
}

func (h *heap) pop() uint64 {
	q := h.queue
	top, v := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	h.queue = q
	i := 0
	for {
		child := 2*i + 1
		if child >= len(q) {
			break
		}
		if child+1 < len(q) && q[child+1] < q[child] {
			child++
		}
		if v <= q[child] {
			break
		}
		q[i] = q[child]
		i = child
	}
	if len(q) > 0 {
		q[i] = v
	}
	return top
}
