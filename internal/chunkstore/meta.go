package chunkstore

import (
	"encoding/binary"
	"fmt"

	"ctxfs/internal/cas"
)

// meta is what a frame says about itself.
type meta struct {
	segs    []Extent // the addresses of its bytes, one after another
	anchors []anchor // where its bytes are likely to be found again
	blobs   []byte   // records of blobs, as appendBlob writes them
}

// anchor is a sampled position: the window that ends before off (counted in the frame) has a hash with this tag.
type anchor struct {
	tag uint32
	off int
}

func (m *meta) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(len(m.segs)))
	end := int64(0)
	for _, s := range m.segs {
		b = appendInt(b, s.Addr-end)
		b = appendInt(b, s.Len)
		end = s.End()
	}
	b = binary.AppendUvarint(b, uint64(len(m.anchors)))
	last := 0
	for _, a := range m.anchors {
		b = binary.LittleEndian.AppendUint32(b, a.tag)
		b = appendInt(b, int64(a.off-last))
		last = a.off
	}
	return append(b, m.blobs...)
}

// parseMeta reads what encode wrote for a frame of raw bytes.
func parseMeta(b []byte, raw int) (*meta, error) {
	d := &decoder{b: b}
	m := &meta{}
	sum, end := int64(0), int64(0)
	for range d.count(2) {
		s := Extent{Addr: end + d.int(maxAddr), Len: d.int(2 * FrameSize)}
		end = s.End()
		sum += s.Len
		if end < 0 || end > maxAddr {
			d.fail()
		}
		m.segs = append(m.segs, s)
	}
	if d.bad || sum != int64(raw) {
		return nil, fmt.Errorf("%w: a frame's addresses", ErrCorrupt)
	}
	last := 0
	for range d.count(5) {
		tag := binary.LittleEndian.Uint32(d.bytes(4))
		last += int(d.int(2 * FrameSize))
		if d.bad || last > raw {
			return nil, fmt.Errorf("%w: a frame's anchors", ErrCorrupt)
		}
		m.anchors = append(m.anchors, anchor{tag: tag, off: last})
	}
	m.blobs = d.b
	for rest := m.blobs; len(rest) > 0; {
		_, n, err := parseBlob(rest)
		if err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return m, nil
}

// blob is a record of one blob: its extents give its bytes.
type blob struct {
	id      cas.ID
	time    int64 // of the last put, in seconds since 1970
	size    int64
	extents []Extent
}

// appendBlob writes a record: id, time, size, number of extents, and of each its length and the distance of its start
// from the end of the one before.
func appendBlob(b []byte, r *blob) []byte {
	b = append(b, r.id[:]...)
	b = appendInt(b, r.time)
	b = appendInt(b, r.size)
	b = binary.AppendUvarint(b, uint64(len(r.extents)))
	end := int64(0)
	for _, e := range r.extents {
		b = appendInt(b, e.Len)
		b = binary.AppendVarint(b, e.Addr-end)
		end = e.End()
	}
	return b
}

// parseBlob reads one record and gives its length.
func parseBlob(b []byte) (*blob, int, error) {
	d := &decoder{b: b}
	r := &blob{}
	copy(r.id[:], d.bytes(len(r.id)))
	r.time, r.size = d.int(1<<40), d.int(MaxBlob)
	sum, end := int64(0), int64(0)
	for range d.count(2) {
		e := Extent{Len: d.int(MaxBlob)}
		e.Addr = end + d.signed()
		end = e.End()
		sum += e.Len
		if d.bad || e.Addr < 0 || e.Addr > maxAddr || sum > r.size {
			return nil, 0, fmt.Errorf("%w: a blob's extents", ErrCorrupt)
		}
		r.extents = append(r.extents, e)
	}
	if d.bad || sum != r.size {
		return nil, 0, fmt.Errorf("%w: a blob's record", ErrCorrupt)
	}
	return r, len(b) - len(d.b), nil
}

// appendInt adds an address, a length or a time, which is never negative.
func appendInt(b []byte, n int64) []byte { return binary.AppendUvarint(b, uint64(n)) } // #nosec G115

// decoder takes numbers off the head of b. After something that cannot be, bad is set and all is zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) fail() int64 {
	d.b, d.bad = nil, true
	return 0
}

// int takes a number that is at most limit.
func (d *decoder) int(limit int64) int64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > uint64(limit) { // #nosec G115 -- limits are constants, or lengths
		return d.fail()
	}
	d.b = d.b[n:]
	return int64(v) // #nosec G115 -- at most limit
}

// count takes the number of things that follow, each at least size bytes long.
func (d *decoder) count(size int) int64 { return d.int(int64(len(d.b) / size)) }

func (d *decoder) signed() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 || v > maxAddr || v < -maxAddr {
		return d.fail()
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bytes(n int) []byte {
	if len(d.b) < n {
		d.fail()
		return make([]byte, n)
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}
