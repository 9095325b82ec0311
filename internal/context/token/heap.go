package token

// scratch is the room that a long piece needs, kept between calls.
type scratch struct {
	next, prev []int32  // of the part that starts at a byte
	pairs      []uint32 // the rank of that part joined with the next
	heap       []uint64 // rank << 32 | start, the lowest first; entries may be out of date
}

// keepScratch is the length in bytes of a piece whose room is not kept for the next one.
const keepScratch = 1 << 16

// long merges as scan does, with a heap of the pairs: n log n for a piece of any length.
func (e *Encoding) long(b []byte) int {
	s := e.room()
	n := s.merge(e.ranks, b)
	if len(b) <= keepScratch {
		e.scratch.Put(s)
	}
	return n
}

// ends gives the end of each token of a piece that is no token itself.
func (e *Encoding) ends(b []byte) []int32 {
	s := e.room()
	ends := make([]int32, 0, s.merge(e.ranks, b))
	for at := s.next[0]; len(ends) < cap(ends); at = s.next[at] {
		ends = append(ends, at)
	}
	return ends
}

func (e *Encoding) room() *scratch {
	s, ok := e.scratch.Get().(*scratch)
	if !ok {
		s = new(scratch)
	}
	return s
}

func (s *scratch) merge(r *ranks, b []byte) int {
	s.start(r, b)
	parts := len(b)
	for len(s.heap) > 0 {
		top := s.pop()
		at := int32(uint32(top))
		if s.pairs[at] != uint32(top>>32) {
			continue // this pair has changed since
		}
		s.join(at)
		parts--
		s.pair(r, b, at)
		if before := s.prev[at]; before >= 0 {
			s.pair(r, b, before)
		}
	}
	return parts
}

func (s *scratch) start(r *ranks, b []byte) {
	if cap(s.next) < len(b)+1 {
		s.next, s.prev, s.pairs = make([]int32, len(b)+1), make([]int32, len(b)+1), make([]uint32, len(b)+1)
	}
	s.next, s.prev, s.pairs = s.next[:len(b)+1], s.prev[:len(b)+1], s.pairs[:len(b)+1]
	s.heap = s.heap[:0]
	for i := range s.next {
		s.next[i], s.prev[i] = int32(i+1), int32(i-1)
	}
	for i := range b {
		s.pair(r, b, int32(i))
	}
}

// join makes one part of the part at a byte and the next one.
func (s *scratch) join(at int32) {
	gone := s.next[at]
	s.pairs[gone] = noRank
	s.next[at] = s.next[gone]
	s.prev[s.next[at]] = at
}

// pair ranks the part at a byte with the next one and puts it on the heap.
func (s *scratch) pair(r *ranks, b []byte, at int32) {
	s.pairs[at] = noRank
	if int(s.next[at]) >= len(b) {
		return
	}
	rank := r.of(b, int(at), int(s.next[s.next[at]]))
	s.pairs[at] = rank
	if rank != noRank {
		s.push(uint64(rank)<<32 | uint64(at))
	}
}

func (s *scratch) push(v uint64) {
	s.heap = append(s.heap, v)
	h, i := s.heap, len(s.heap)-1
	for i > 0 && h[(i-1)/2] > v {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = v
}

func (s *scratch) pop() uint64 {
	h := s.heap
	top, v := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	s.heap = h
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if v <= h[child] {
			break
		}
		h[i] = h[child]
		i = child
	}
	if len(h) > 0 {
		h[i] = v
	}
	return top
}
