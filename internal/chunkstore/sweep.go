package chunkstore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ctxfs/internal/beneath"

	"github.com/klauspost/compress/zstd"
	"lukechampine.com/blake3"
)

const tempPrefix = beneath.TempPrefix

// goneLine starts a file that names packs which a collection replaced: one name a line, and the BLAKE3 of all that.
const goneLine = "ctxfs replaced packs 1\n"

func formatGone(packs []*pack) []byte {
	b := []byte(goneLine)
	for _, p := range packs {
		b = append(b, p.name+"\n"...)
	}
	return fmt.Appendf(b, "%x\n", blake3.Sum256(b))
}

// parseGone gives the names of the packs.
func parseGone(data []byte) ([]string, error) {
	n := len(data) - 65
	if n < len(goneLine) || fmt.Sprintf("%x\n", blake3.Sum256(data[:n])) != string(data[n:]) {
		return nil, fmt.Errorf("%w: list of replaced packs", ErrCorrupt)
	}
	text, ok := strings.CutPrefix(string(data[:n]), goneLine)
	if !ok {
		return nil, fmt.Errorf("%w: list of replaced packs", ErrFormat)
	}
	return strings.Fields(text), nil
}

// Run carries the plan out, and gives by how much the store shrank, in bytes. First all that is alive in the old packs is
// written to new ones; then one file says that the old ones do not count any more; then they are removed. A pack that
// cannot be read whole stays as it is, and is in the error.
func (c *Collection) Run() (freed int64, err error) {
	var errs []error
	for _, name := range c.temps {
		st, err := c.s.dir.Stat(name)
		if err == nil {
			err = c.s.dir.Unlink(name)
		}
		if err == nil {
			freed += st.Size
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if len(c.old) == 0 {
		return freed, errors.Join(errs...)
	}
	w := &sweeper{c: c, before: len(c.s.packs)}
	err = w.run()
	return freed + w.freed, errors.Join(append(errs, err)...)
}

type sweeper struct {
	c      *Collection
	enc    *zstd.Encoder
	before int // packs there were
	freed  int64
	// The frame that is being filled.
	segs  []Extent
	raw   []byte
	blobs []byte
}

func (w *sweeper) run() (err error) {
	s := w.c.s
	if w.enc, err = newEncoder(bestLevel, s.opt.Tuning.Frame); err != nil {
		return err
	}
	defer w.enc.Close()
	bad := w.unreadable()
	if len(w.c.old) == 0 {
		return bad
	}
	if _, err := s.newPack(false); err != nil { // also when it stays empty: it says which addresses are free
		return err
	}
	for _, p := range w.c.old {
		if err := w.pack(p); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	return errors.Join(bad, w.commit())
}

// unreadable takes packs off the plan that are damaged: their bytes are not to be lost for good.
func (w *sweeper) unreadable() error {
	var errs []error
	w.c.old = slices.DeleteFunc(w.c.old, func(p *pack) bool {
		for _, fr := range p.frames {
			if _, err := fr.load.load(fr.raw); err != nil {
				errs = append(errs, fmt.Errorf("%s stays: %w", p.name, err))
				return true
			}
		}
		return false
	})
	if errs != nil {
		// What stays keeps its records, and these their extents.
		w.c.keep = union(append(w.c.alive(nil, w.c.old), w.c.keep...))
	}
	return errors.Join(errs...)
}

// pack copies what is alive in p.
func (w *sweeper) pack(p *pack) error {
	for _, fr := range p.frames {
		raw, err := fr.load.load(fr.raw)
		if err != nil {
			return err
		}
		eachBlob(fr.blobs, func(b *blob, rec []byte) {
			if w.c.needed(b, rec) {
				w.blobs = append(w.blobs, rec...)
			}
		})
		for _, sg := range w.c.segs[fr] {
			if err := w.copy(raw, sg); err != nil {
				return err
			}
		}
		if len(w.blobs) >= metaFull {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *sweeper) copy(raw []byte, sg seg) error {
	for _, e := range overlap(w.c.keep, sg.Extent) {
		b := raw[sg.off+int(e.Addr-sg.Addr):][:e.Len]
		for len(b) > 0 {
			n := min(len(b), w.c.s.opt.Tuning.Frame-len(w.raw))
			if k := len(w.segs); k > 0 && w.segs[k-1].End() > e.Addr {
				n = 0 // a frame's addresses ascend
			}
			if n > 0 {
				w.segs = join(w.segs, Extent{e.Addr, int64(n)})
				w.raw = append(w.raw, b[:n]...)
			}
			b, e.Addr = b[n:], e.Addr+int64(n)
			if len(w.raw) >= w.c.s.opt.Tuning.Frame || n == 0 {
				if err := w.flush(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// flush writes the frame.
func (w *sweeper) flush() error {
	if len(w.raw) == 0 && len(w.blobs) == 0 {
		return nil
	}
	m := &meta{segs: w.segs, anchors: anchorsOf(newGear(), w.raw), blobs: w.blobs}
	data := appendFrame(nil, m, w.raw, w.enc)
	if err := proved(data, w.raw, w.c.s.dec); err != nil {
		return err
	}
	if _, err := w.c.s.appendPack(data, false, false); err != nil {
		return err
	}
	w.segs, w.raw, w.blobs = nil, nil, nil
	return nil
}

// commit makes the old packs count no more, and removes them.
func (w *sweeper) commit() error {
	s := w.c.s
	fresh := s.packs[w.before:]
	name := gonePrefix + hex16(s.nextPack())
	if err := s.dir.WriteFile(name, formatGone(w.c.old), 0o600, s.opt.Owner); err != nil {
		return err
	}
	for _, p := range w.c.old {
		if err := s.dir.Unlink(p.name); err != nil {
			return err
		}
		w.freed += p.size
	}
	for _, p := range fresh {
		w.freed -= p.size
	}
	if err := s.dir.Sync("."); err != nil {
		return err
	}
	if err := s.dir.Unlink(name); err != nil {
		return err
	}
	s.install(slices.DeleteFunc(slices.Clone(s.packs), func(p *pack) bool { return slices.Contains(w.c.old, p) }), s.pending)
	return nil
}
