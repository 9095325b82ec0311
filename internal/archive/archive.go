package archive

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/chunkstore"
)

// MaxIndex is the largest index file, in bytes.
const MaxIndex = 64 << 20

// Add stores what plain gives, and gives its index. The caller makes the index durable before the Update that tx is of
// ends: until then nothing names the stored bytes.
func Add(tx *chunkstore.Tx, s *chunkstore.Store, plain io.Reader) (*Index, error) {
	st, err := tx.Add(plain)
	if err != nil {
		return nil, err
	}
	return &Index{Store: s.ID(), Size: st.Size, Sum: st.Sum, Extents: st.Extents}, nil
}

// Extend gives the index of a log that is archived as x and goes on with what tail gives. The old part is read, for the
// hash, and not stored again.
func Extend(tx *chunkstore.Tx, s *chunkstore.Store, x *Index, tail io.Reader) (*Index, error) {
	old, err := NewReader(s, x)
	if err != nil {
		return nil, err
	}
	h := newHash()
	if err := old.each(h.write); err != nil {
		return nil, err
	}
	if h.sum() != x.Sum {
		return nil, fmt.Errorf("%w: the archive to extend", chunkstore.ErrCorrupt)
	}
	st, err := tx.Add(io.TeeReader(tail, h.h))
	if err != nil {
		return nil, err
	}
	return &Index{Store: s.ID(), Size: x.Size + st.Size, Sum: h.sum(), Extents: slices.Concat(x.Extents, st.Extents)}, nil
}

// Create archives what plain gives under the name rel, below dir. The bytes and the index are on disk when it
// returns. The plain file stays: Verify it against Open, then remove it.
func Create(s *chunkstore.Store, dir *beneath.Dir, rel string, plain io.Reader, own beneath.Owner) (*Index, error) {
	var x *Index
	err := s.Update(func(tx *chunkstore.Tx) (err error) { // the bytes cannot be collected meanwhile
		if x, err = Add(tx, s, plain); err != nil {
			return err
		}
		if err := tx.Sync(); err != nil {
			return err
		}
		b, err := x.Encode()
		if err != nil {
			return err
		}
		return dir.WriteFile(rel, b, 0o400, own)
	})
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w", rel, err)
	}
	return x, nil
}

// Load reads the index at rel.
func Load(dir *beneath.Dir, rel string) (*Index, error) {
	b, err := dir.ReadFile(rel, MaxIndex)
	if err != nil {
		return nil, err
	}
	x, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rel, err)
	}
	return x, nil
}

// Open gives a reader of the archive whose index is at rel.
func Open(s *chunkstore.Store, dir *beneath.Dir, rel string) (*Reader, error) {
	x, err := Load(dir, rel)
	if err != nil {
		return nil, err
	}
	return NewReader(s, x)
}

// Verify reads all of an archive and all of the plain file, whose size is size, and gives ErrDiffers unless they are the
// same bytes, and those of the index's hash.
func Verify(r *Reader, plain io.ReaderAt, size int64) error {
	if r.Size() != size {
		return fmt.Errorf("%w: %d bytes, not %d", ErrDiffers, r.Size(), size)
	}
	a, b := make([]byte, verifyPiece), make([]byte, verifyPiece)
	h := newHash()
	for off := int64(0); off < size; off += verifyPiece {
		n := int(min(verifyPiece, size-off))
		if err := readFull(r, a[:n], off); err != nil {
			return err
		}
		if err := readFull(plain, b[:n], off); err != nil {
			return err
		}
		if i := differ(a[:n], b[:n]); i >= 0 {
			return fmt.Errorf("%w at byte %d", ErrDiffers, off+int64(i))
		}
		if err := h.write(a[:n]); err != nil {
			return err
		}
	}
	if h.sum() != r.Sum() {
		return fmt.Errorf("%w: its hash is another", ErrDiffers)
	}
	return nil
}

// Check reads all of an archive and holds it against its hash.
func Check(r *Reader) error { return Extract(r, io.Discard) }

// Extract writes all of an archive to w, and holds it against its hash. After an error what was written does not count.
func Extract(r *Reader, w io.Writer) error {
	h := newHash()
	err := r.each(func(b []byte) error {
		_, err := w.Write(b)
		return errors.Join(err, h.write(b))
	})
	if err != nil {
		return err
	}
	if h.sum() != r.Sum() {
		return fmt.Errorf("%w: %w", chunkstore.ErrCorrupt, cas.ErrCorrupt)
	}
	return nil
}

// each reads the log piece by piece.
func (r *Reader) each(fn func([]byte) error) error {
	buf := make([]byte, verifyPiece)
	for off := int64(0); off < r.Size(); off += verifyPiece {
		n := int(min(verifyPiece, r.Size()-off))
		if err := readFull(r, buf[:n], off); err != nil {
			return err
		}
		if err := fn(buf[:n]); err != nil {
			return err
		}
	}
	return nil
}

const verifyPiece = 1 << 20

func readFull(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
