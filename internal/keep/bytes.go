package keep

// Bytes gives what stands in an extent. It is memory of the region: valid until the slot that names it is dropped.
func (r *Region) Bytes(e Extent) []byte {
	if e.Cap == 0 {
		return nil
	}
	return r.mem[arenaAt+e.Off : arenaAt+e.Off+e.Len : arenaAt+e.Off+e.Cap]
}

// Put copies data into the arena. When there is no room the extent is zero.
func (r *Region) Put(data []byte) Extent { return r.put(data, uint64(len(data))) }

func (r *Region) put(data []byte, room uint64) Extent {
	if len(data) == 0 {
		return Extent{}
	}
	r.mu.Lock()
	e := r.arena.alloc(room)
	r.mu.Unlock()
	if e.Cap > 0 {
		e.Len = uint64(len(data))
		copy(r.Bytes(e), data)
	}
	return e
}

// Grow gives an extent that holds data, of which the first same bytes stand in e already: in the same room where there is
// some. e stays as it is, and is to be given back when the other has another place.
func (r *Region) Grow(e Extent, data []byte, same int) Extent {
	if e.Cap < uint64(len(data)) || e.Cap == 0 {
		return r.put(data, uint64(len(data))*2)
	}
	next := Extent{Off: e.Off, Len: uint64(len(data)), Cap: e.Cap}
	copy(r.Bytes(next)[same:], data[same:])
	return next
}

// Release gives an extent back that no slot names any more.
func (r *Region) Release(e Extent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release(e)
}

// maxIdle is how many bytes are kept that no open file shows: the next open may show the same. 4 MiB.
const maxIdle = 4 << 20

// textKey is a slice by where it stands: bytes that do not change are not compared.
type textKey struct {
	first *byte
	n     int
}

// text is a copy of a slice.
type text struct {
	data []byte // the original, so that its place is not taken by another
	ext  Extent
}

// Share is Put for bytes that never change and that many may show: they are copied once while somebody shows them, and a
// while longer.
func (r *Region) Share(data []byte) Extent {
	if len(data) == 0 {
		return Extent{}
	}
	key := textKey{&data[0], len(data)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.texts[key]; t != nil {
		r.arena.uses[t.ext.Off]++
		return t.ext
	}
	e := r.arena.alloc(uint64(len(data)))
	if e.Cap == 0 {
		return e
	}
	e.Len = uint64(len(data))
	copy(r.Bytes(e), data)
	t := &text{data: data, ext: e}
	r.arena.uses[e.Off]++ // the table's own
	r.texts[key] = t
	r.idle = append(r.idle, t)
	if r.held += len(data); r.held > maxIdle {
		r.forget()
	}
	return e
}

// forget takes the oldest texts out of the table; mu is held. Who shows one still has it.
func (r *Region) forget() {
	for r.held > maxIdle/2 && len(r.idle) > 0 {
		t := r.idle[0]
		r.idle = r.idle[1:]
		r.held -= len(t.data)
		delete(r.texts, textKey{&t.data[0], len(t.data)})
		r.arena.release(t.ext)
	}
}

// release gives back one use of an extent; mu is held.
func (r *Region) release(e Extent) { r.arena.release(e) }
