// Package chunkstore keeps an owner's cold bytes: blobs by their id, and logs that were archived. What stands in the
// store already is not stored again, down to pieces of some hundred bytes; what is new goes, raw, into a journal that
// fsync makes durable, and later, in compressed frames of 3 MiB, into pack files. docs/store-format.md describes
// every file.
//
// Every byte of the store has an address for life: the first byte ever stored has address 0, and addresses are not
// used twice. A blob, or a log, is a list of extents of that address space. So a reader needs to know where frames
// are, and no table of chunks.
//
// One process writes at a time (flock on the store's file "lock", held for one call), any number read beside it.
// Package archive stands on this one; this one knows cas and beneath.
package chunkstore

import "errors"

const (
	// FrameSize is how many bytes a full frame holds before compression. Larger frames compress better, and a read
	// has to decompress more: 4 MiB saves another 1.4 % and pushes the 99th percentile of a 4 KB read past 10 ms.
	FrameSize = 3 << 20
	// PackSize is where a pack file is full.
	PackSize = 64 << 20
	// maxMeta bounds what a frame says about itself.
	maxMeta = 16 << 20
	// metaFull ends a frame early when it names so many blobs.
	metaFull = 1 << 20
	// maxPending is how many full frames may wait in journals for their compression: 48 MiB.
	maxPending = 16
	// maxAddr bounds addresses, so that sums do not overflow.
	maxAddr = 1 << 61
	// MaxBlob is the largest blob, in bytes.
	MaxBlob = 1 << 30
)

var (
	// ErrCorrupt says that stored bytes are not those that were put. They are not given.
	ErrCorrupt = errors.New("stored bytes are damaged")
	// ErrTorn says that a file ends with bytes that are nothing: what a crash left, as a rule, of something that was not
	// acknowledged, or that stands elsewhere too. All that was acknowledged can be read, or is reported for itself.
	ErrTorn = errors.New("a crash left bytes at the end")
	// ErrFormat says that the store was made by a later version.
	ErrFormat = errors.New("unknown store format")
	// ErrEmpty says that a store to be read was never written to: a crash, or a full disk, ended what made its folder.
	ErrEmpty = errors.New("nothing was stored yet")
	// ErrReadOnly is the error of a write through a store opened for reading.
	ErrReadOnly = errors.New("the store is open for reading only")
)

// Extent is a piece of the address space: Len bytes from Addr on.
type Extent struct {
	Addr, Len int64
}

// End is the first address after e.
func (e Extent) End() int64 { return e.Addr + e.Len }

// join adds e to list, which is in the order of the content, as part of its last extent when it goes on there.
func join(list []Extent, e Extent) []Extent {
	if n := len(list); n > 0 && list[n-1].End() == e.Addr {
		list[n-1].Len += e.Len
		return list
	}
	return append(list, e)
}
