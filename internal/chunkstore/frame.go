package chunkstore

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"lukechampine.com/blake3"
)

// A frame is a head of 80 bytes, meta, and one zstd frame. All numbers are little-endian.
//
//	 0  magic "CFR1"
//	 4  length of the bytes when decompressed
//	 8  length of meta
//	12  length of the zstd frame
//	16  BLAKE3-256 of the zstd frame
//	48  BLAKE3 of head[0:48] and meta, its first 32 bytes
const (
	frameMagic = "CFR1"
	headSize   = 80
)

// head is the fixed part of a frame.
type head struct {
	raw, meta, z int
	sum, check   [32]byte
}

// length is that of the whole frame in bytes.
func (h *head) length() int64 { return headSize + int64(h.meta) + int64(h.z) }

// parseHead reads a head and holds its lengths to their bounds. Whether it is intact tells checks.
func parseHead(b []byte) (head, error) {
	var h head
	if len(b) < headSize || string(b[:4]) != frameMagic {
		return h, fmt.Errorf("%w: no frame starts here", ErrCorrupt)
	}
	raw, meta, z := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	if raw > 2*FrameSize || meta > maxMeta || z > 4*FrameSize {
		return h, fmt.Errorf("%w: a frame's lengths are out of bounds", ErrCorrupt)
	}
	h = head{raw: int(raw), meta: int(meta), z: int(z), sum: [32]byte(b[16:]), check: [32]byte(b[48:])}
	return h, nil
}

// checks tells whether head (its bytes) and meta are those that were written.
func (h *head) checks(headBytes, meta []byte) bool { return headSum(headBytes, meta) == h.check }

func headSum(headBytes, meta []byte) [32]byte {
	hash := blake3.New(32, nil)
	_, _ = hash.Write(headBytes[:48]) // never fails
	_, _ = hash.Write(meta)
	return [32]byte(hash.Sum(nil))
}

// appendFrame adds a frame of raw to dst.
func appendFrame(dst []byte, m *meta, raw []byte, enc *zstd.Encoder) []byte {
	mb := m.encode()
	start := len(dst)
	dst = append(dst, make([]byte, headSize)...)
	dst = append(dst, mb...)
	dst = enc.EncodeAll(raw, dst)
	h := dst[start:]
	z := h[headSize+len(mb):]
	copy(h, frameMagic)
	binary.LittleEndian.PutUint32(h[4:], uint32(len(raw))) // #nosec G115 -- at most 2*FrameSize
	binary.LittleEndian.PutUint32(h[8:], uint32(len(mb)))  // #nosec G115 -- at most maxMeta
	binary.LittleEndian.PutUint32(h[12:], uint32(len(z)))  // #nosec G115 -- at most 4*FrameSize
	sum := blake3.Sum256(z)
	copy(h[16:], sum[:])
	check := headSum(h, mb)
	copy(h[48:], check[:])
	return dst
}

// newEncoder gives an encoder for frames of size bytes. Single-threaded: callers choose what runs beside what.
func newEncoder(level zstd.EncoderLevel, size int) (*zstd.Encoder, error) {
	window := zstd.MinWindowSize
	for window < size {
		window *= 2
	}
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(window), zstd.WithZeroFrames(true))
}

func newDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(4*FrameSize), zstd.WithDecoderMaxWindow(16<<20))
}

// decode gives at least the first need of h.raw bytes of z, and as few more as that takes.
func (h *head) decode(dec *zstd.Decoder, z []byte, need int) ([]byte, error) {
	if blake3.Sum256(z) != h.sum {
		return nil, fmt.Errorf("%w: a frame's checksum does not match", ErrCorrupt)
	}
	if part := blocks(z, need); part < len(z) {
		// A zstd frame that ends early gives what it holds beside the error (io.ErrUnexpectedEOF).
		raw, _ := dec.DecodeAll(z[:part:part], make([]byte, 0, h.raw+64))
		if len(raw) >= need && len(raw) <= h.raw {
			return raw, nil
		}
	}
	raw, err := dec.DecodeAll(z, make([]byte, 0, h.raw+64))
	if err != nil || len(raw) != h.raw {
		return nil, fmt.Errorf("%w: a frame gives %d bytes of %d: %v", ErrCorrupt, len(raw), h.raw, err)
	}
	return raw, nil
}

// blockSize is what a zstd block holds at most, and what all but the last of a frame hold (RFC 8878, 3.1.1.2).
const blockSize = 128 << 10

// blocks is where the zstd blocks that hold the first need bytes end.
func blocks(z []byte, need int) int {
	var zh zstd.Header
	if err := zh.Decode(z); err != nil || zh.Skippable {
		return len(z)
	}
	at := zh.HeaderSize
	for have := 0; have < need && at+3 <= len(z); have += blockSize {
		bh := int(z[at]) | int(z[at+1])<<8 | int(z[at+2])<<16
		n := bh >> 3
		if bh>>1&3 == 1 { // one byte, repeated
			n = 1
		}
		at += 3 + n
		if bh&1 == 1 {
			return len(z)
		}
	}
	return min(at, len(z))
}

// findFrame looks for the next thing that could be a frame's head in b, from at on; len(b) when there is none.
func findFrame(b []byte, at int) int {
	if at < len(b) {
		if i := bytes.Index(b[at:], []byte(frameMagic)); i >= 0 {
			return at + i
		}
	}
	return len(b)
}
