package chunkstore

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
	"lukechampine.com/blake3"
)

// A pack file starts with a head of 64 bytes, numbers little-endian, and goes on with frames:
//
//	 0  magic "CTXFSPK\n"
//	 8  version, 1
//	12  FrameSize
//	16  the lowest address that was not in use when the pack was made
//	24  Sampling, padded with zeros
//	44  1: its frames were compressed quickly, and a collection may do better; else 0
//	48  BLAKE3 of head[0:48], its first 16 bytes
const (
	packMagic = "CTXFSPK\n"
	packHead  = 64
	version   = 1
)

// pack is one pack file.
type pack struct {
	name   string
	f      *os.File // closed by the runtime when no frame of it is left: a read may still be in it
	size   int64    // how far it was scanned
	next   int64    // of its head
	quick  bool     // of its head
	frames []*frame
	// Bytes that are no frame: the head, some between frames, the end. cut: the end is a frame that was not written whole.
	badHead, gap, torn, cut bool
}

// dirty tells whether a frame of p may be hidden. Nothing is appended to such a pack, and no address after it is sure
// to be free.
func (p *pack) dirty() bool { return p.badHead || p.gap || p.torn }

func newPackHead(next int64, quick bool) []byte {
	b := make([]byte, packHead)
	copy(b, packMagic)
	binary.LittleEndian.PutUint32(b[8:], version)
	binary.LittleEndian.PutUint32(b[12:], FrameSize)
	binary.LittleEndian.PutUint64(b[16:], uint64(next)) // #nosec G115 -- an address
	copy(b[24:44], Sampling)
	if quick {
		b[44] = 1
	}
	sum := blake3.Sum256(b[:48])
	copy(b[48:], sum[:16])
	return b
}

// parsePackHead gives the pack's lowest free address, and whether it was compressed quickly.
func parsePackHead(b []byte) (next int64, quick bool, err error) {
	if len(b) < packHead || string(b[:8]) != packMagic {
		return 0, false, fmt.Errorf("%w: this is not a pack file", ErrCorrupt)
	}
	if sum := blake3.Sum256(b[:48]); string(sum[:16]) != string(b[48:packHead]) {
		return 0, false, fmt.Errorf("%w: a pack file's head", ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return 0, false, fmt.Errorf("%w: pack files of version %d", ErrFormat, v)
	}
	free := binary.LittleEndian.Uint64(b[16:])
	if free > maxAddr {
		return 0, false, fmt.Errorf("%w: a pack file's head", ErrCorrupt)
	}
	return int64(free), b[44] == 1, nil
}

// sealed loads a frame from a file.
type sealed struct {
	f   *os.File
	off int64 // of its zstd frame
	head
	dec *zstd.Decoder
}

func (s *sealed) load(need int) ([]byte, error) {
	z := make([]byte, s.z)
	if _, err := s.f.ReadAt(z, s.off); err == io.EOF {
		return nil, fmt.Errorf("%w: %s is cut off", ErrCorrupt, s.f.Name())
	} else if err != nil {
		return nil, err
	}
	raw, err := s.decode(s.dec, z, need)
	if err != nil {
		return nil, fmt.Errorf("%s at %d: %w", s.f.Name(), s.off, err)
	}
	return raw, nil
}

func (s *sealed) size() int { return s.raw }

// scan reads what was appended to the pack since the last scan. A head or meta that is damaged hides its frame; the
// next intact frame is looked for behind it.
func (p *pack) scan(dec *zstd.Decoder) error {
	st, err := p.f.Stat()
	if err != nil {
		return err
	}
	p.torn, p.cut = false, false
	for at := p.size; at < st.Size(); {
		fr, n, err := readFrame(p.f, at, st.Size(), dec)
		if err != nil {
			return err
		}
		if fr == nil {
			p.cut = !p.torn && n > 0
			p.torn = true
			if at, err = p.resync(at+1, st.Size()); err != nil {
				return err
			}
			continue
		}
		p.gap, p.torn, p.cut = p.gap || p.torn, false, false
		fr.pack = p
		p.frames = append(p.frames, fr)
		at += n
		p.size = at
	}
	if p.torn && !p.cut && !p.gap { // else nothing can be told of it, or nothing need be
		p.cut, err = p.endLost(st.Size())
	}
	return err
}

// endLost tells whether what stands behind the last frame is one of which the disk did not get all.
func (p *pack) endLost(size int64) (bool, error) {
	from := p.size / sector * sector
	b := make([]byte, min(size-from, maxFrame))
	if _, err := p.f.ReadAt(b, from); err != nil {
		return false, err
	}
	return lost(b, int(p.size-from), len(b)), nil
}

// maxFrame bounds what is read to judge a frame that is not whole: one is no longer than 28 MiB and a head.
const maxFrame = 29 << 20

// sound reads the bytes of a frame, and tells whether they are what was written.
func (s *sealed) sound() (bool, error) {
	z := make([]byte, s.z)
	if _, err := s.f.ReadAt(z, s.off); err == io.EOF {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return blake3.Sum256(z) == s.sum, nil
}

// drop takes the last frame of the pack off: it was not written whole.
func (p *pack) drop() {
	last := len(p.frames) - 1
	src := p.frames[last].load.(*sealed)
	p.size = src.off - int64(src.meta) - headSize
	p.frames = p.frames[:last:last]
	p.torn, p.cut = true, true
}

// resync looks for the next head from at on.
func (p *pack) resync(at, size int64) (int64, error) {
	buf := make([]byte, 1<<20)
	for ; at < size; at += int64(len(buf) - len(frameMagic)) {
		n, err := p.f.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if i := findFrame(buf[:n], 0); i < n {
			return at + int64(i), nil
		}
		if err == io.EOF {
			break
		}
	}
	return size, nil
}

// readFrame reads what a frame at off says about itself, and gives its length. A frame that is not intact, or not
// whole, is nil; its length is not 0 then if the file seems to end within it.
func readFrame(f *os.File, off, size int64, dec *zstd.Decoder) (*frame, int64, error) {
	hb := make([]byte, headSize)
	if off+headSize > size {
		return nil, headSize, nil
	}
	if _, err := f.ReadAt(hb, off); err != nil {
		return nil, 0, err
	}
	h, err := parseHead(hb)
	if err != nil {
		return nil, 0, nil
	}
	if off+h.length() > size {
		return nil, h.length(), nil
	}
	mb := make([]byte, h.meta)
	if _, err := f.ReadAt(mb, off+headSize); err != nil {
		return nil, 0, err
	}
	if !h.checks(hb, mb) {
		return nil, 0, nil
	}
	m, err := parseMeta(mb, h.raw)
	if err != nil {
		return nil, 0, nil
	}
	src := &sealed{f: f, off: off + headSize + int64(h.meta), head: h, dec: dec}
	return &frame{segs: m.segs, raw: h.raw, blobs: m.blobs, load: src}, h.length(), nil
}

// anchorsOf reads the anchors of a frame again: only a writer needs them, and only once.
func (s *sealed) anchors() []anchor {
	mb := make([]byte, s.meta)
	if _, err := s.f.ReadAt(mb, s.off-int64(s.meta)); err != nil {
		return nil // what is not found is stored once more
	}
	m, err := parseMeta(mb, s.raw)
	if err != nil {
		return nil
	}
	return m.anchors
}
