package chunkstore

import (
	"container/list"
	"encoding/binary"
)

// What a match must bring, in bytes, to be worth an extent: zstd finds what repeats within one frame itself, so only
// long repeats are taken there; elsewhere shorter ones; and where the last match would go on after a change that kept
// the length, shorter ones still.
const (
	minNear = 512
	minFar  = 128
	minNext = 64
	maxSkip = 96 // how long such a change may be
)

const (
	fineSlots = 20      // log2 of the size of the table of recent positions
	residents = 16      // frames that are kept decompressed to compare with
	loadEvery = 1 << 18 // one frame may be read back for so many bytes of input
)

// matcher finds what stands in the store already.
type matcher struct {
	s    *Store
	gear *gearTable
	// fine has recent positions: an address in the low 40 bits, and a tag. It is direct-mapped, so older ones make room.
	fine []uint64
	// coarse has the anchors of all frames.
	coarse map[uint32]int64
	known  map[*frame]bool // frames whose anchors are in coarse
	// resident are frames that can be compared with, by frame; recent orders them.
	resident map[*frame]*list.Element
	recent   *list.List
	credit   int // bytes of input not yet spent on reading frames back
}

type resident struct {
	fr  *frame
	raw []byte
}

func newMatcher(s *Store) *matcher {
	return &matcher{s: s, gear: newGear(), fine: make([]uint64, 1<<fineSlots), coarse: map[uint32]int64{}, known: map[*frame]bool{},
		resident: map[*frame]*list.Element{}, recent: list.New(), credit: 8 * loadEvery}
}

// learn takes in the anchors of frames that are new, and forgets frames that are gone.
func (m *matcher) learn(frames []*frame) {
	now := make(map[*frame]bool, len(frames))
	for _, fr := range frames {
		now[fr] = true
		if !m.known[fr] {
			m.learnFrame(fr)
		}
	}
	m.known = now
	for fr, el := range m.resident {
		if !now[fr] {
			m.recent.Remove(el)
			delete(m.resident, fr)
		}
	}
}

func (m *matcher) learnFrame(fr *frame) {
	if src, ok := fr.load.(*sealed); ok {
		off, i := 0, 0
		for _, a := range src.anchors() { // their offsets ascend
			for i < len(fr.segs) && off+int(fr.segs[i].Len) < a.off {
				off += int(fr.segs[i].Len)
				i++
			}
			if i < len(fr.segs) {
				m.coarse[a.tag] = fr.segs[i].Addr + int64(a.off-off)
			}
		}
		return
	}
	// A journal, or a part: all its positions are recent ones.
	raw := fr.held
	if raw == nil {
		var err error
		if raw, err = fr.load.load(fr.raw); err != nil {
			return
		}
		m.keep(fr, raw)
	}
	m.index(fr, raw[:fr.raw])
}

// index enters the sampled positions of a frame.
func (m *matcher) index(fr *frame, raw []byte) {
	off := 0
	for _, e := range fr.segs {
		b := raw[off : off+int(e.Len)]
		for pos, fp := m.gear.next(b, 0, 0); pos <= len(b); pos, fp = m.gear.next(b, pos, fp) {
			if pos >= window {
				m.enter(fp, e.Addr+int64(pos))
			}
		}
		off += len(b)
	}
}

func (m *matcher) enter(fp uint64, addr int64) {
	h := mix(fp)
	m.fine[h>>(64-fineSlots)] = h<<fineSlots>>40<<40 | uint64(addr)&(1<<40-1) // #nosec G115 -- an address
	if fp&coarseMask == 0 {
		m.coarse[tagOf(fp)] = addr
	}
}

// match is a piece of known bytes: n bytes of the input from at on stand at addr.
type match struct {
	at, n int
	addr  int64
}

// find looks for the bytes around data[pos], not before from. fp is the hash of the window before pos.
func (m *matcher) find(data []byte, from, pos int, fp uint64) (match, bool) {
	h := mix(fp)
	x := m.fine[h>>(64-fineSlots)]
	if x != 0 && x>>40 == h<<fineSlots>>40 {
		if f, ok := m.compare(data, from, pos, int64(x&(1<<40-1)), false); ok {
			return f, true
		}
	}
	if fp&coarseMask == 0 {
		if addr, ok := m.coarse[tagOf(fp)]; ok {
			return m.compare(data, from, pos, addr, true)
		}
	}
	return match{}, false
}

// compare takes the byte before addr for that before data[pos], and sees how far they agree in both directions.
func (m *matcher) compare(data []byte, from, pos int, addr int64, load bool) (match, bool) {
	known, off, near := m.piece(addr-1, load)
	if known == nil {
		return match{}, false
	}
	off++ // known[off] is at addr
	back := commonEnd(data[from:pos], known[:off])
	if back == 0 {
		return match{}, false
	}
	n := back + common(data[pos:], known[off:])
	if n < m.s.opt.Tuning.MinFar || near && n < m.s.opt.Tuning.MinNear {
		return match{}, false
	}
	return match{at: pos - back, n: n, addr: addr - int64(back)}, true
}

// piece gives the piece of the address space that holds addr, and where in it. near says that new bytes go to the same
// frame. It is nil when the frame is not at hand, and may not be read back for this.
func (m *matcher) piece(addr int64, load bool) (known []byte, off int, near bool) {
	sg, ok := m.s.space.find(addr)
	if !ok {
		return nil, 0, false
	}
	raw := sg.fr.held
	if raw == nil {
		raw = m.bytes(sg.fr, load)
	}
	if len(raw) < sg.off+int(sg.Len) {
		return nil, 0, false
	}
	cur := m.s.current()
	return raw[sg.off : sg.off+int(sg.Len)], int(addr - sg.Addr), cur != nil && cur.frame == sg.fr
}

// bytes gives those of a frame that is resident, or reads it back.
func (m *matcher) bytes(fr *frame, load bool) []byte {
	if el, ok := m.resident[fr]; ok {
		m.recent.MoveToFront(el)
		return el.Value.(*resident).raw
	}
	if !load || m.credit < loadEvery {
		return nil
	}
	m.credit -= loadEvery
	raw, err := fr.load.load(fr.raw)
	if err != nil {
		return nil // what cannot be read is stored once more
	}
	m.keep(fr, raw)
	m.index(fr, raw)
	return raw
}

// keep makes fr resident.
func (m *matcher) keep(fr *frame, raw []byte) {
	m.resident[fr] = m.recent.PushFront(&resident{fr, raw})
	for m.recent.Len() > residents {
		el := m.recent.Back()
		delete(m.resident, el.Value.(*resident).fr)
		m.recent.Remove(el)
	}
}

// follow looks whether the bytes after a match go on as they do in the store, at once (over a frame's end) or after a
// change of some bytes that kept their number.
func (m *matcher) follow(data []byte, last match) (match, bool) {
	pos := last.at + last.n
	end := last.addr + int64(last.n)
	known, off, _ := m.piece(end, false)
	minNext := m.s.opt.Tuning.MinNext
	if known == nil || len(data)-pos < minNext || len(known)-off < minNext {
		return match{}, false
	}
	in, was := data[pos:], known[off:]
	for k := range min(maxSkip, len(in)-minNext+1, len(was)-minNext+1) {
		if binary.LittleEndian.Uint64(in[k:]) != binary.LittleEndian.Uint64(was[k:]) {
			continue
		}
		if n := common(in[k:], was[k:]); n >= minNext {
			return match{at: pos + k, n: n, addr: end + int64(k)}, true
		}
	}
	return match{}, false
}
