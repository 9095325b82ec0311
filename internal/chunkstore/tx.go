package chunkstore

import (
	"errors"
	"io"

	"ctxfs/internal/cas"

	"lukechampine.com/blake3"
)

// Tx is the right to write, held by one at a time over all processes. What it adds is named by nothing at first, so a
// caller that keeps extents elsewhere (an archive's index) has to make that durable before its Update returns: a
// collection, which has the same right, would remove them.
type Tx struct {
	s *Store
}

// Update calls fn with the right to write, and makes durable what it added. It waits for other writers.
func (s *Store) Update(fn func(tx *Tx) error) error {
	return s.update(func() error {
		if err := fn(&Tx{s}); err != nil {
			return err
		}
		return s.sync()
	})
}

// Put adds a blob, as Store.Put, but it is on disk only after Sync.
func (tx *Tx) Put(data []byte) (cas.ID, error) { return tx.s.stage(data) }

// Sync makes durable what was added so far.
func (tx *Tx) Sync() error { return tx.s.sync() }

// Seal compresses what waits in journals: full frames go to packs, the last one to a part file. Without it that
// happens when many wait.
func (tx *Tx) Seal() error {
	if err := tx.s.sync(); err != nil {
		return err
	}
	return tx.s.seal(true)
}

// Stream is what Add stored.
type Stream struct {
	Extents []Extent
	Size    int64
	Sum     cas.ID // of all bytes
}

// addPiece is how much of an input is looked at in one go.
const addPiece = 4 << 20

// Add stores what r gives. It is on disk after Sync.
func (tx *Tx) Add(r io.Reader) (*Stream, error) {
	st := &Stream{}
	hash := blake3.New(32, nil)
	buf := make([]byte, addPiece)
	for {
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			_, _ = hash.Write(buf[:n]) // never fails
			exts, aerr := tx.s.add(st.Extents, buf[:n])
			if aerr != nil {
				return nil, aerr
			}
			st.Extents, st.Size = exts, st.Size+int64(n)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	hash.Sum(st.Sum[:0])
	return st, nil
}
