package chunkstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// pending is a frame that may still grow: a part (a frame in a file of its own, part-<base>) and a journal
// (tail-<base>) with what came after it. One of the two may be missing.
type pending struct {
	*frame
	base  int64
	part  *frame
	tail  *os.File
	size  int64 // how much of the journal is valid
	stamp stamp // of the files, when they were read or written last
	// closed: it is full, or damaged, and waits to be compressed.
	closed  bool
	damaged bool
	// For the writer:
	written int    // how many bytes of held are in the journal, or the part
	fresh   []byte // records of blobs that are not in the journal yet
	synced  bool
	durable int64 // length of the journal that a flush told to be on disk, or that was there when this process took it over
}

// stamp tells whether files changed.
type stamp struct {
	tail, part uint64
	size       int64
}

func (p *pending) tailName() string { return tailPrefix + hex16(p.base) }
func (p *pending) partName() string { return partPrefix + hex16(p.base) }

func hex16(n int64) string { return fmt.Sprintf("%016x", n) }

// close closes the files of p. Others may have files of the same names open.
func (p *pending) close() error {
	var err error
	if p.tail != nil {
		err = p.tail.Close()
	}
	if p.part != nil {
		err = errors.Join(err, p.part.load.(*sealed).f.Close())
	}
	return err
}

// end is the first address after p.
func (p *pending) end() int64 {
	if n := len(p.segs); n > 0 {
		return p.segs[n-1].End()
	}
	return p.base
}

// stampOf looks at the files of the frame-to-be at base.
func (s *Store) stampOf(p *pending) (st stamp) {
	if t, err := s.dir.Stat(p.tailName()); err == nil {
		st.tail, st.size = t.Ino, t.Size
	}
	if t, err := s.dir.Stat(p.partName()); err == nil {
		st.part = t.Ino
	}
	return st
}

// openPending reads what is on disk of the frame-to-be at base.
func (s *Store) openPending(base int64) (*pending, error) {
	p := &pending{frame: &frame{}, base: base}
	p.stamp = s.stampOf(p)
	if err := s.openPart(p); err != nil {
		return nil, err
	}
	flags := unix.O_RDONLY
	if !s.opt.ReadOnly {
		flags = unix.O_RDWR | unix.O_APPEND
	}
	f, err := s.openFile(p.tailName(), flags)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		p.tail = f
	}
	if p.tail == nil && p.part == nil && !p.damaged {
		return nil, err // both went away since they were listed: their bytes are in a pack by now
	}
	l := &journal{base: base, part: p.part, tail: p.tail}
	p.frame.load = l
	c, err := l.read()
	if err != nil {
		return nil, err
	}
	p.segs, p.raw, p.blobs, p.size = c.segs, len(c.bytes), c.blobs, c.size
	p.written = p.raw
	p.damaged = p.damaged || c.damaged
	p.closed = p.damaged || p.raw >= s.opt.Tuning.Frame || len(p.blobs) >= metaFull
	return p, nil
}

func (s *Store) openPart(p *pending) error {
	f, err := s.openFile(p.partName(), unix.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	fr, _, err := readFrame(f, 0, st.Size(), s.dec)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if fr == nil || len(fr.segs) > 0 && fr.segs[0].Addr != p.base {
		p.damaged = true
		return f.Close()
	}
	p.part = fr
	return nil
}

// content is what the files of a frame-to-be hold.
type content struct {
	segs    []Extent
	bytes   []byte
	blobs   []byte
	size    int64 // valid length of the journal
	damaged bool
}

// journal loads a pending frame, for those that do not hold its bytes. It never changes: a reader may be in it while
// the writer goes on with other files.
type journal struct {
	base int64
	part *frame
	tail *os.File
}

// read takes the part's bytes, then those of the journal that come after them.
func (p *journal) read() (*content, error) {
	c := &content{}
	if p.part != nil {
		b, err := p.part.load.load(p.part.raw)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return nil, err
		}
		c.damaged = err != nil
		c.blobs = append(c.blobs, p.part.blobs...)
		if err == nil {
			c.bytes = append(make([]byte, 0, FrameSize+64), b...)
			c.segs = append(c.segs, p.part.segs...)
		}
	}
	if p.tail == nil {
		return c, nil
	}
	data, err := io.ReadAll(io.NewSectionReader(p.tail, 0, math.MaxInt64))
	if err != nil {
		return nil, err
	}
	list, valid, damaged := scanJournal(data)
	if len(data) >= journalHead && !bytes.HasPrefix(data, newJournal(p.base)) && !headLost(data) {
		damaged = true
	}
	c.size, c.damaged = valid, c.damaged || damaged
	for _, r := range list {
		c.add(r)
	}
	return c, nil
}

func (c *content) add(r record) {
	if r.kind == kindBlob {
		if _, n, err := parseBlob(r.body); err == nil && n == len(r.body) {
			c.blobs = append(c.blobs, r.body...)
		}
		return
	}
	if r.kind != kindData {
		return
	}
	if n := len(c.segs); n > 0 {
		over := min(max(c.segs[n-1].End()-r.addr, 0), int64(len(r.body))) // the part has it
		r.addr, r.body = r.addr+over, r.body[over:]
	}
	if len(r.body) > 0 {
		c.segs = join(c.segs, Extent{r.addr, int64(len(r.body))})
		c.bytes = append(c.bytes, r.body...)
	}
}

// load gives all bytes, verified again.
func (p *journal) load(need int) ([]byte, error) {
	c, err := p.read()
	if err == nil && len(c.bytes) < need {
		err = fmt.Errorf("%w: %s", ErrCorrupt, tailPrefix+hex16(p.base))
	}
	if err != nil {
		return nil, err
	}
	return c.bytes, nil
}

func (p *journal) size() int { return 0 }
