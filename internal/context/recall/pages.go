package recall

import "encoding/binary"

// pageSize is how much posting memory is taken at once: small enough for a short session, and no copying on growth.
const pageSize = 1 << 14

// pages holds the postings of all terms as chains of chunks. A chunk starts with a link (4 bytes) to the next one,
// 0 while there is none: the low 28 bits are its place, the high 4 its class, which gives its size. A place counts in
// units of 4 bytes, from 1: an index ends at 1 GiB, and what comes later is not found.
type pages struct {
	all  [][]byte
	next uint32 // first free offset, in bytes
}

const (
	linkLen   = 4
	lastClass = 12
	placeBits = 28
)

// classSize gives a chunk's size: 8, 12, 16, 24, 32 ... 512.
func classSize(class uint32) int { return (2 + int(class&1)) << (class/2 + 2) }

func (p *pages) at(place uint32) []byte {
	off := (place - 1) * 4
	return p.all[off/pageSize][off%pageSize:]
}

// alloc gives the place of n fresh bytes, all in one page; 0 when the index is full.
func (p *pages) alloc(n uint32) uint32 {
	if used := p.next % pageSize; used == 0 || pageSize-used < n {
		if len(p.all) >= 1<<(placeBits+2)/pageSize-1 {
			return 0
		}
		p.next = uint32(len(p.all)) * pageSize
		p.all = append(p.all, make([]byte, pageSize))
	}
	place := p.next/4 + 1
	p.next += n
	return place
}

// write appends b, which is at most 10 bytes, to t's chain. A posting is never split over two chunks.
func (p *pages) write(t *term, b []byte) bool {
	if t.head == 0 || classSize(uint32(t.class))-int(t.used) < len(b) {
		if !p.extend(t, len(b)) {
			return false
		}
	}
	copy(p.at(t.tail)[t.used:], b)
	t.used += uint16(len(b))
	return true
}

// extend gives t a new last chunk. What is left of the old one is zeroes, which no posting starts with.
func (p *pages) extend(t *term, need int) bool {
	class := uint32(0)
	if t.head != 0 {
		class = min(uint32(t.class)+1, lastClass)
	}
	for classSize(class) < need+linkLen {
		class++
	}
	place := p.alloc(uint32(classSize(class)))
	if place == 0 {
		return false
	}
	linked := place | class<<placeBits
	if t.head == 0 {
		t.head = linked
	} else {
		binary.LittleEndian.PutUint32(p.at(t.tail), linked)
	}
	t.tail, t.class, t.used = place, uint8(class), linkLen
	return true
}

// posting is one record that has a term, and how often.
type posting struct{ doc, tf uint32 }

// read appends t's postings up to record upTo to out.
func (p *pages) read(t *term, upTo uint32, out []posting) []posting {
	if t.df == 1 {
		if t.last <= upTo {
			out = append(out, posting{t.last, t.tail})
		}
		return out
	}
	doc := uint32(0)
	for chunk := t.head; chunk != 0; {
		b := p.at(chunk & (1<<placeBits - 1))[:classSize(chunk>>placeBits)]
		for at := linkLen; at < len(b) && b[at] != 0; {
			v, n := binary.Uvarint(b[at:])
			at += n
			tf := uint64(1)
			if v&1 == 1 {
				tf, n = binary.Uvarint(b[at:])
				at += n
			}
			if doc += uint32(v >> 1); doc > upTo {
				return out
			}
			out = append(out, posting{doc, uint32(tf)})
		}
		chunk = binary.LittleEndian.Uint32(b)
	}
	return out
}
