package chunkstore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Counts say what Check read.
type Counts struct {
	Packs, Frames, Blobs int
	Bytes                int64 // of frames and journals, decompressed
}

// Check reads all of the store from disk, and reports what is wrong, by the name of the file or the id of the blob. It
// changes nothing. What a crash left at the end of a file is ErrTorn.
func (s *Store) Check(report func(name string, err error)) (Counts, error) {
	var n Counts
	if err := s.look(); err != nil {
		return n, err
	}
	if s.id == "" {
		report(formatName, fmt.Errorf("%w: it does not name the store", ErrCorrupt))
	}
	s.mu.RLock()
	packs, waiting := s.packs, s.pending
	blobs := slices.Collect(maps.Values(s.blobs))
	s.mu.RUnlock()
	for _, p := range packs {
		n.Packs++
		s.checkPack(p, &n, report)
	}
	for _, p := range waiting {
		if err := s.checkPending(p.base, &n, report); err != nil {
			return n, err
		}
	}
	slices.SortFunc(blobs, func(a, b *blob) int { return slices.Compare(a.id[:], b.id[:]) })
	for _, b := range blobs {
		n.Blobs++
		if _, err := s.read(b); err != nil {
			report(b.id.String(), err)
		}
	}
	return n, s.checkNames(report)
}

func (s *Store) checkPack(p *pack, n *Counts, report func(string, error)) {
	switch {
	case p.badHead || p.gap || p.torn && !p.cut:
		report(p.name, fmt.Errorf("%w: bytes in it are no frame", ErrCorrupt))
	case p.cut:
		report(p.name, ErrTorn)
	}
	for _, fr := range p.frames {
		n.Frames++
		n.Bytes += int64(fr.raw)
		if _, err := fr.load.load(fr.raw); err != nil {
			report(p.name, err)
		}
	}
}

func (s *Store) checkPending(base int64, n *Counts, report func(string, error)) error {
	p, err := s.openPending(base)
	if err != nil {
		return err
	}
	defer func() { _ = p.close() }() // only read
	n.Bytes += int64(p.raw)
	if p.damaged {
		report(p.damagedName(), ErrCorrupt)
		return nil
	}
	if p.tail == nil {
		return nil
	}
	st, err := p.tail.Stat()
	if err == nil && st.Size() > p.size {
		report(p.tailName(), fmt.Errorf("%w: %d of its %d bytes", ErrTorn, st.Size()-p.size, st.Size()))
	}
	return err
}

// damagedName is the file to blame.
func (p *pending) damagedName() string {
	if p.tail == nil {
		return p.partName()
	}
	return p.tailName()
}

// checkNames looks at lists of replaced packs, and at files that were set aside.
func (s *Store) checkNames(report func(string, error)) error {
	l, err := s.list()
	if err != nil {
		return err
	}
	for _, name := range l.gone {
		data, err := s.dir.ReadFile(name, 1<<20)
		if err == nil {
			_, err = parseGone(data)
		}
		if err != nil {
			report(name, err)
		}
	}
	for _, name := range l.others {
		if strings.HasPrefix(name, badPrefix) {
			report(name, fmt.Errorf("%w: it was set aside", ErrCorrupt))
		}
	}
	return nil
}
