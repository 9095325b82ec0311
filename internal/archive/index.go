// Package archive keeps a log that nobody appends to in its owner's chunk store, where it takes a tenth of its size, and
// reads it from there at any offset. What is left in the log's place is an index: a small file with the extents of the
// log's bytes. Bytes that are appended later go to a plain file beside it: a Reader is the prefix of appendlog.NewAfter.
//
// docs/store-format.md describes the index. The package knows chunkstore, cas and beneath.
package archive

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/chunkstore"

	"github.com/klauspost/compress/zstd"
	"lukechampine.com/blake3"
)

var (
	// ErrCorrupt says that an index is damaged. It is a chunkstore.ErrCorrupt too.
	ErrCorrupt = fmt.Errorf("archive index: %w", chunkstore.ErrCorrupt)
	// ErrFormat says that an index was made by a later version.
	ErrFormat = errors.New("unknown archive format")
	// ErrStore says that an index is not of this store.
	ErrStore = errors.New("the archive is of another store")
	// ErrDiffers says that an archive does not have the bytes of the plain file.
	ErrDiffers = errors.New("the archive differs from the plain file")
)

// Index says what a log's bytes are.
type Index struct {
	Store   string // chunkstore.Store.ID
	Size    int64  // of the log in bytes
	Sum     cas.ID // of all its bytes
	Extents []chunkstore.Extent
}

// An index file: a head, three columns each compressed by zstd, and the BLAKE3-256 of all that. Numbers are
// little-endian:
//
//	 0  magic "CTXFSAR\n"
//	 8  version, 1
//	12  lengths of the three columns in the file
//	24  id of the store, 16 bytes
//	40  size of the log
//	48  BLAKE3-256 of the log
const (
	magic    = "CTXFSAR\n"
	version  = 1
	headSize = 80
	// maxExtents bounds what an index is in memory, whoever wrote it: a log of about 6 GB. An index of a few kilobytes can
	// decompress to that.
	maxExtents = 4 << 20
	// maxColumn bounds a column when decompressed. Numbers of a log this long take two or three bytes.
	maxColumn = 8 * maxExtents
)

// Encode gives the index file's bytes. Of more pieces than may be read again it is beneath.ErrTooLarge.
func (x *Index) Encode() ([]byte, error) {
	if len(x.Extents) > maxExtents {
		return nil, fmt.Errorf("archive: a log of %d pieces: %w", len(x.Extents), beneath.ErrTooLarge)
	}
	id, err := hex.DecodeString(x.Store)
	if err != nil || len(id) != 16 && len(id) != 0 {
		return nil, fmt.Errorf("%w: %q", ErrStore, x.Store)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(128<<10), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, err
	}
	defer enc.Close()
	b := make([]byte, headSize)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], version)
	copy(b[24:], id)
	binary.LittleEndian.PutUint64(b[40:], uint64(x.Size)) // #nosec G115 -- a length
	copy(b[48:], x.Sum[:])
	for i, col := range columns(x.Extents) {
		if len(col) > maxColumn {
			return nil, fmt.Errorf("archive: a column of %d bytes: %w", len(col), beneath.ErrTooLarge)
		}
		n := len(b)
		b = enc.EncodeAll(col, b)
		binary.LittleEndian.PutUint32(b[12+4*i:], uint32(len(b)-n)) // #nosec G115 -- a column is at most maxColumn
	}
	if len(b) > MaxIndex-len(x.Sum) {
		return nil, fmt.Errorf("archive: an index of %d bytes: %w", len(b), beneath.ErrTooLarge)
	}
	sum := blake3.Sum256(b)
	return append(b, sum[:]...), nil
}

// Parse reads an index file.
func Parse(b []byte) (*Index, error) {
	n := len(b) - 32
	if n < headSize || string(b[:8]) != magic {
		return nil, fmt.Errorf("%w: not an index", ErrCorrupt)
	}
	if blake3.Sum256(b[:n]) != [32]byte(b[n:]) {
		return nil, fmt.Errorf("%w: checksum", ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return nil, fmt.Errorf("%w: version %d", ErrFormat, v)
	}
	size, err := sizeOf(b)
	if err != nil {
		return nil, err
	}
	x := &Index{Store: hex.EncodeToString(b[24:40]), Size: size, Sum: cas.ID(b[48:80])}
	cols, err := readColumns(b[:n])
	if err != nil {
		return nil, err
	}
	x.Extents, err = extents(cols)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, e := range x.Extents {
		if total += e.Len; total > x.Size { // before it can overflow
			break
		}
	}
	if total != x.Size {
		return nil, fmt.Errorf("%w: size", ErrCorrupt)
	}
	return x, nil
}

func readColumns(b []byte) (cols [3][]byte, err error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxColumn))
	if err != nil {
		return cols, err
	}
	defer dec.Close()
	rest := b[headSize:]
	for i := range cols {
		n := int(binary.LittleEndian.Uint32(b[12+4*i:]))
		if n > len(rest) {
			return cols, fmt.Errorf("%w: columns", ErrCorrupt)
		}
		if cols[i], err = dec.DecodeAll(rest[:n], nil); err != nil {
			return cols, fmt.Errorf("%w: columns: %v", ErrCorrupt, err)
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return cols, fmt.Errorf("%w: columns", ErrCorrupt)
	}
	return cols, nil
}

// SizeOf reads the length of the log from an index's head alone: it is checked only when the index is parsed.
func SizeOf(index io.ReaderAt) (int64, error) {
	var head [headSize]byte
	if _, err := index.ReadAt(head[:], 0); err != nil || string(head[:8]) != magic {
		return 0, fmt.Errorf("%w: not an index", ErrCorrupt)
	}
	return sizeOf(head[:])
}

func sizeOf(head []byte) (int64, error) {
	size := binary.LittleEndian.Uint64(head[40:])
	if size > maxAddr {
		return 0, fmt.Errorf("%w: size", ErrCorrupt)
	}
	return int64(size), nil
}
