package chunkstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"
)

// seal compresses the frames that are full into packs. With all, the one that is not full too: into a part file, where
// it can still grow. A crash between two steps leaves bytes that stand in two files, which is no harm.
func (s *Store) seal(all bool) error {
	enc, err := newEncoder(s.opt.Level, s.opt.Tuning.Frame)
	if err != nil {
		return err
	}
	defer enc.Close()
	stay, done := s.moving()
	defer done()
	for i := 0; i < len(s.pending); {
		p := s.pending[i]
		switch {
		case p.closed:
			err = s.sealPack(p, enc, stay)
		case all && p.tail != nil && !stay:
			i++
			err = s.sealPart(p, enc)
		default:
			i++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// moving tells whether files must stay although their bytes are elsewhere.
func (s *Store) moving() (stay bool, done func()) {
	if s.opt.Moving == nil {
		return false, func() {}
	}
	done, err := s.opt.Moving()
	if err != nil {
		return true, func() {}
	}
	return false, done
}

// tidy removes what a seal that did not come to its end left: the end of a pack that was not written whole, when the journal
// that it was made of is there, or the journal. Whether the pack reached the disk is not known.
func (s *Store) tidy() error {
	if n := len(s.packs); n > 0 && len(s.pending) > 0 {
		if p := s.packs[n-1]; p.cut && !p.gap && !p.badHead {
			if err := p.f.Truncate(p.size); err != nil {
				return err
			}
			p.torn, p.cut = false, false
		}
	}
	stay, done := s.moving()
	defer done()
	for _, p := range s.pending {
		if !s.covered(p) {
			continue
		}
		for _, q := range s.packs {
			if err := s.syncPack(q); err != nil {
				return err
			}
		}
		if err := s.forget(p, stay); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) syncPack(p *pack) error {
	if err := s.flush(p.f); err != nil {
		return &os.PathError{Op: "fdatasync", Path: p.name, Err: err}
	}
	return nil
}

// frameOf compresses p.
func (p *pending) frameOf(enc *zstd.Encoder, dec *zstd.Decoder) ([]byte, []byte, error) {
	raw := p.held
	if raw == nil {
		var err error
		if raw, err = p.frame.load.load(p.raw); err != nil {
			return nil, nil, err
		}
	}
	raw = raw[:p.raw]
	m := &meta{segs: p.segs, anchors: anchorsOf(newGear(), raw), blobs: p.blobs}
	data := appendFrame(nil, m, raw, enc)
	return data, raw, proved(data, raw, dec)
}

// proved reads a frame back before its bytes are given up elsewhere.
func proved(data, raw []byte, dec *zstd.Decoder) error {
	h, err := parseHead(data)
	if err != nil {
		return err
	}
	got, err := h.decode(dec, data[headSize+h.meta:], h.raw)
	if err == nil && !bytes.Equal(got, raw) {
		err = fmt.Errorf("%w: compressed bytes do not come back", ErrCorrupt)
	}
	return err
}

// anchorsOf chooses the anchors of a frame's bytes.
func anchorsOf(g *gearTable, raw []byte) (out []anchor) {
	for pos, fp := g.next(raw, 0, 0); pos <= len(raw); pos, fp = g.next(raw, pos, fp) {
		if fp&coarseMask == 0 && pos >= window {
			out = append(out, anchor{tagOf(fp), pos})
		}
	}
	return out
}

// covered tells whether a pack has all of p: the last seal did not come to remove it.
func (s *Store) covered(p *pending) bool {
	for _, e := range p.segs {
		list, ok := s.space.places([]Extent{e})
		if !ok {
			return false
		}
		for _, pl := range list {
			if pl.fr == p.frame {
				return false
			}
		}
	}
	return p.raw > 0
}

// sealPack moves p into a pack.
func (s *Store) sealPack(p *pending, enc *zstd.Encoder, stay bool) error {
	data, raw, err := p.frameOf(enc, s.dec)
	if err != nil {
		return err
	}
	fr, err := s.appendPack(data, s.quick(), p.damaged)
	if err != nil {
		return err
	}
	if err := s.forget(p, stay); err != nil {
		return err
	}
	if s.writer != nil && fr != nil {
		s.writer.keep(fr, raw)
	}
	return nil
}

// forget removes the files of p, whose bytes are elsewhere now, unless they must stay. Damaged files are kept under another name.
func (s *Store) forget(p *pending, stay bool) error {
	for _, name := range []string{p.tailName(), p.partName()} {
		var err error
		if stay {
			break
		}
		if p.damaged {
			err = s.dir.Rename(name, badPrefix+name, 0)
		} else {
			err = s.dir.Unlink(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	var rest []*pending
	for _, q := range s.pending {
		if q != p {
			rest = append(rest, q)
		}
	}
	s.install(s.packs, rest)
	return nil
}

// quick tells whether frames are sealed with less than the best compression.
func (s *Store) quick() bool { return s.opt.Level < bestLevel }

// bestLevel is that of collections.
const bestLevel = zstd.SpeedBestCompression

// appendPack puts a frame at the end of the pack that is not full, or of a new one.
func (s *Store) appendPack(data []byte, quick, fresh bool) (*frame, error) {
	p, err := s.growingPack(quick, fresh)
	if err != nil {
		return nil, err
	}
	_, err = p.f.Write(data)
	if err == nil {
		err = s.syncPack(p)
	}
	if err != nil {
		// The next flush would say that all is well, and the journal that has these bytes would go.
		return nil, errors.Join(err, p.f.Truncate(p.size))
	}
	n := len(p.frames)
	if err := p.scan(s.dec); err != nil {
		return nil, err
	}
	if len(p.frames) == n {
		return nil, ErrCorrupt // what was just written reads otherwise: the pack was not clean
	}
	return p.frames[n], nil
}

func (s *Store) growingPack(quick, fresh bool) (*pack, error) {
	if n := len(s.packs); n > 0 && !fresh {
		if p := s.packs[n-1]; !p.dirty() && p.size < PackSize && p.quick == quick {
			return p, nil
		}
	}
	return s.newPack(quick)
}

// nextPack is the number of the pack to come.
func (s *Store) nextPack() int64 {
	if n := len(s.packs); n > 0 {
		last, _ := parseName(s.packs[n-1].name)
		return last + 1
	}
	return 0
}

// newPack makes an empty pack, the last of all.
func (s *Store) newPack(quick bool) (*pack, error) {
	name := packPrefix + hex16(s.nextPack())
	if err := s.dir.WriteFile(name, newPackHead(s.next, quick), 0o600, s.opt.Owner); err != nil {
		return nil, err
	}
	p, err := s.openPack(name)
	if err != nil {
		return nil, err
	}
	s.packs = append(s.packs[:len(s.packs):len(s.packs)], p)
	return p, nil
}

// sealPart compresses a frame that may still grow into a file of its own.
func (s *Store) sealPart(p *pending, enc *zstd.Encoder) error {
	data, _, err := p.frameOf(enc, s.dec)
	if err != nil {
		return err
	}
	if err := s.dir.WriteFile(p.partName(), data, 0o600, s.opt.Owner); err != nil {
		return err
	}
	if err := s.dir.Unlink(p.tailName()); err != nil {
		return err
	}
	if err := s.openPart(p); err != nil {
		return err
	}
	p.tail, p.size, p.synced = nil, 0, true
	p.stamp = s.stampOf(p)
	return nil
}
