package archive

import (
	"bytes"
	"fmt"
	"io"
	"sort"
	"strings"

	"ctxfs/internal/cas"
	"ctxfs/internal/chunkstore"

	"lukechampine.com/blake3"
)

// Reader reads an archived log at any offset. It holds 16 bytes for each extent, about 1 % of the log. It is safe for
// concurrent use.
type Reader struct {
	s     *chunkstore.Store
	size  int64
	sum   cas.ID
	start []int64 // offset in the log of each extent
	addr  []int64
}

// NewReader reads the log of x. An index of another store is ErrStore.
func NewReader(s *chunkstore.Store, x *Index) (*Reader, error) {
	if id := s.ID(); id != "" && strings.Trim(x.Store, "0") != "" && x.Store != id {
		return nil, fmt.Errorf("%w: %s, not %s", ErrStore, x.Store, id)
	}
	r := &Reader{s: s, size: x.Size, sum: x.Sum, start: make([]int64, 0, len(x.Extents)), addr: make([]int64, 0, len(x.Extents))}
	at := int64(0)
	for _, e := range x.Extents {
		r.start, r.addr = append(r.start, at), append(r.addr, e.Addr)
		at += e.Len
	}
	return r, nil
}

// Size is the length of the log in bytes.
func (r *Reader) Size() int64 { return r.size }

// Close does nothing: the store stays open. It is there for appendlog.Prefix.
func (r *Reader) Close() error { return nil }

// Sum is the hash of the log.
func (r *Reader) Sum() cas.ID { return r.sum }

// ReadAt reads the log's bytes, as io.ReaderAt. It decompresses the frames that they stand in and no others. Damage is
// chunkstore.ErrCorrupt, and then no byte of p counts.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("archive: read at %d", off)
	}
	n := min(int64(len(p)), max(0, r.size-off))
	if n > 0 {
		if err := r.s.ReadExtents(p[:n], r.extents(off, n)); err != nil {
			return 0, err
		}
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// extents gives those of n bytes from off on, which are within the log.
func (r *Reader) extents(off, n int64) (out []chunkstore.Extent) {
	i := sort.Search(len(r.start), func(i int) bool { return r.start[i] > off }) - 1
	for end := off + n; off < end; i++ {
		stop := r.size
		if i+1 < len(r.start) {
			stop = r.start[i+1]
		}
		stop = min(stop, end)
		out = append(out, chunkstore.Extent{Addr: r.addr[i] + off - r.start[i], Len: stop - off})
		off = stop
	}
	return out
}

// differ gives the first index at which a and b, of one length, differ; -1 when they do not.
func differ(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// hash is BLAKE3 over pieces.
type hash struct{ h *blake3.Hasher }

func newHash() hash { return hash{blake3.New(32, nil)} }

func (h hash) write(b []byte) error {
	_, err := h.h.Write(b)
	return err
}

func (h hash) sum() (id cas.ID) {
	h.h.Sum(id[:0])
	return id
}
