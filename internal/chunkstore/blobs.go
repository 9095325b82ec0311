package chunkstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"ctxfs/internal/cas"
)

// renewAfter is how old, in seconds, the last put of a blob must be for another put to write that down. It has to be
// well below the age at which a collection takes blobs that nothing names.
const renewAfter = 600

// Put keeps data and gives its id. When it returns, the blob is on disk, and young: a collection spares blobs that a
// record is about to name. A blob that is there, but cannot be read, is stored again.
func (s *Store) Put(data []byte) (id cas.ID, err error) {
	err = s.Update(func(tx *Tx) error {
		id, err = tx.Put(data)
		return err
	})
	return id, err
}

// Get gives a blob's bytes, checked against its id. A blob that is not there: an error that is fs.ErrNotExist; one
// that is damaged: ErrCorrupt and cas.ErrCorrupt.
func (s *Store) Get(id cas.ID) ([]byte, error) {
	b := s.blob(id)
	for try := 0; b == nil && try < 2; try++ { // twice: its record may be moving
		if err := s.look(); err != nil {
			return nil, fmt.Errorf("blob %v: %w", id, err)
		}
		b = s.blob(id)
	}
	if b == nil {
		return nil, fmt.Errorf("blob %v: %w", id, fs.ErrNotExist)
	}
	data, err := s.read(b)
	if err != nil {
		return nil, fmt.Errorf("blob %v: %w", id, err)
	}
	return data, nil
}

func (s *Store) read(b *blob) ([]byte, error) {
	data := make([]byte, b.size)
	err := s.ReadExtents(data, b.extents)
	if err == nil && cas.Sum(data) != b.id {
		err = ErrCorrupt
	}
	if errors.Is(err, ErrCorrupt) {
		err = errors.Join(cas.ErrCorrupt, err)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

func (s *Store) blob(id cas.ID) *blob {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.blobs[id]
}

// Has tells whether a blob is there. It does not look at its bytes.
func (s *Store) Has(id cas.ID) bool {
	return s.blob(id) != nil || s.look() == nil && s.blob(id) != nil
}

// Each calls fn with the id and size of every blob, in id order, and stops at its first error. Files in the store's
// folder that are not the store's go to odd, which may be nil.
func (s *Store) Each(fn func(id cas.ID, size int64) error, odd func(name string)) error {
	if err := s.look(); err != nil {
		return err
	}
	s.mu.RLock()
	all := slices.SortedFunc(maps.Values(s.blobs), func(a, b *blob) int { return bytes.Compare(a.id[:], b.id[:]) })
	s.mu.RUnlock()
	if err := s.odd(odd); err != nil {
		return err
	}
	for _, b := range all {
		if err := fn(b.id, b.size); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) odd(odd func(name string)) error {
	if odd == nil {
		return nil
	}
	l, err := s.list()
	if err != nil {
		return err
	}
	for _, name := range l.others {
		odd(name)
	}
	return nil
}

// stage adds a blob; it is durable after sync.
func (s *Store) stage(data []byte) (cas.ID, error) {
	id, now := cas.Sum(data), s.opt.Now().Unix()
	if len(data) > MaxBlob {
		return id, fmt.Errorf("a blob of %d bytes is too large", len(data))
	}
	b := &blob{id: id, time: now, size: int64(len(data))}
	if old := s.blob(id); old != nil {
		if have, err := s.read(old); err == nil && bytes.Equal(have, data) {
			if old.time+renewAfter > now {
				return id, nil
			}
			b.extents = old.extents
			return id, s.record(b)
		}
	}
	exts, err := s.add(nil, data)
	if err != nil {
		return id, err
	}
	b.extents = exts
	return id, s.record(b)
}

// record adds the record of a blob to the current frame.
func (s *Store) record(b *blob) error {
	p, err := s.grow()
	if err != nil {
		return err
	}
	rec := appendBlob(nil, b)
	p.fresh = appendRecord(p.fresh, kindBlob, 0, rec)
	s.mu.Lock()
	p.blobs = append(p.blobs, rec...)
	s.blobs[b.id] = b
	s.mu.Unlock()
	return s.afterGrowth(p)
}
