package chunkstore

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

func (s *Store) matcher() *matcher {
	if s.writer == nil {
		m := newMatcher(s)
		var frames []*frame
		for _, sg := range s.space {
			frames = append(frames, sg.fr)
		}
		m.learn(frames)
		s.mu.Lock()
		s.writer = m
		s.mu.Unlock()
	}
	return s.writer
}

// current is the frame that takes new bytes; nil when the next write has to begin one.
func (s *Store) current() *pending {
	if n := len(s.pending); n > 0 && s.pending[n-1].writable() && s.pending[n-1].end() == s.next {
		return s.pending[n-1]
	}
	return nil
}

// writable tells whether this process may append to p.
func (p *pending) writable() bool { return !p.closed && p.held != nil }

// grow gives the frame that takes new bytes.
func (s *Store) grow() (*pending, error) {
	if p := s.current(); p != nil {
		return p, nil
	}
	if n := len(s.pending); n > 0 {
		if p, err := s.adopt(s.pending[n-1]); p != nil || err != nil {
			return p, err
		}
	}
	for _, p := range s.pending {
		p.closed = true
	}
	p := &pending{frame: &frame{held: make([]byte, 0, s.opt.Tuning.Frame+64)}, base: s.next}
	s.mu.Lock()
	s.pending = append(slices.Clip(s.pending), p)
	if s.writer != nil {
		s.writer.known[p.frame] = true // its bytes are entered as they come
	}
	s.mu.Unlock()
	return p, nil
}

// adopt goes on with a frame-to-be that another process, or a crash, left. A torn end of its journal is cut off: the
// lock says that nobody is writing it.
func (s *Store) adopt(p *pending) (*pending, error) {
	if p.closed || p.end() != s.next {
		return nil, nil
	}
	c, err := (&journal{p.base, p.part, p.tail}).read()
	if err != nil {
		return nil, err
	}
	if len(c.bytes) != p.raw || c.damaged {
		return nil, fmt.Errorf("%w: %s", ErrCorrupt, p.tailName())
	}
	if p.tail != nil {
		if err := p.tail.Truncate(p.size); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	p.held = append(make([]byte, 0, s.opt.Tuning.Frame+64), c.bytes...)
	s.mu.Unlock()
	p.written, p.durable = p.raw, p.size
	p.stamp = s.stampOf(p)
	return p, nil
}

// literal stores new bytes, and gives their place.
func (s *Store) literal(b []byte) (out []Extent, err error) {
	for len(b) > 0 {
		p, err := s.grow()
		if err != nil {
			return nil, err
		}
		n := max(0, min(len(b), s.opt.Tuning.Frame-p.raw))
		out = join(out, s.extend(p, b[:n]))
		b = b[n:]
		if err := s.afterGrowth(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// extend adds bytes to the end of p, and so of the address space.
func (s *Store) extend(p *pending, b []byte) Extent {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := Extent{s.next, int64(len(b))}
	if n := len(s.space); n > 0 && s.space[n-1].fr == p.frame && s.space[n-1].End() == e.Addr {
		s.space[n-1].Len += e.Len
	} else {
		s.space = append(s.space, seg{e, p.raw, p.frame})
	}
	p.held = append(p.held, b...)
	p.segs = join(p.segs, e)
	p.raw += len(b)
	s.next = e.End()
	return e
}

// afterGrowth writes to the journal what has gathered, and closes a frame that is full.
func (s *Store) afterGrowth(p *pending) error {
	if p.raw-p.written >= dataRecord {
		if err := s.writeTail(p); err != nil {
			return err
		}
	}
	if p.raw < s.opt.Tuning.Frame && len(p.blobs) < metaFull {
		return nil
	}
	if err := s.syncTail(p); err != nil {
		return err
	}
	p.closed = true
	if s.waiting() > maxPending {
		return s.seal(false)
	}
	return nil
}

// waiting counts the frames that are full and not compressed yet.
func (s *Store) waiting() (n int) {
	for _, p := range s.pending {
		if p.closed {
			n++
		}
	}
	return n
}

// writeTail appends to the journal what is not in it yet.
func (s *Store) writeTail(p *pending) error {
	if p.written == p.raw && len(p.fresh) == 0 {
		return nil
	}
	if p.tail == nil {
		if err := s.makeTail(p); err != nil {
			return err
		}
	}
	var b []byte
	if p.size == 0 { // also where a crash left a journal without a head
		b = newJournal(p.base)
	}
	for p.written < p.raw {
		n := min(p.raw-p.written, dataRecord)
		b = appendRecord(b, kindData, p.end()-int64(p.raw-p.written), p.held[p.written:p.written+n])
		p.written += n
	}
	b = append(b, p.fresh...)
	if _, err := p.tail.Write(b); err != nil {
		return err // the store is stale now: the next write starts from what is on disk
	}
	p.fresh = nil
	p.size += int64(len(b))
	p.synced = false
	p.stamp.size = p.size
	return nil
}

func (s *Store) makeTail(p *pending) error {
	f, err := s.create(p.tailName())
	if err != nil {
		return err
	}
	p.tail, p.size = f, 0
	p.stamp = s.stampOf(p)
	return nil
}

// create makes a file that is appended to. Its name is durable when it returns.
func (s *Store) create(name string) (*os.File, error) {
	f, err := s.dir.Create(name, unix.O_RDWR|unix.O_APPEND, 0o600, s.opt.Owner)
	if err != nil {
		return nil, err
	}
	if err = f.Chmod(0o600); err == nil { // past the umask
		err = s.dir.Sync(".")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// syncTail writes the journal and waits for the disk.
func (s *Store) syncTail(p *pending) error {
	if err := s.writeTail(p); err != nil {
		return err
	}
	if p.synced || p.tail == nil {
		return nil
	}
	if err := s.flush(p.tail); err != nil {
		return s.rescue(p, &os.PathError{Op: "fdatasync", Path: p.tailName(), Err: err})
	}
	p.synced, p.durable = true, p.size
	return nil
}

// rescue keeps what a failed flush may have left in memory only. The kernel tells of that once, and the next flush would say
// that all is well: so the bytes go to a new file. Where that fails too, they are taken back, as nobody was told of them.
func (s *Store) rescue(p *pending, failed error) error {
	enc, err := newEncoder(s.opt.Level, s.opt.Tuning.Frame)
	if err != nil {
		return errors.Join(failed, err)
	}
	defer enc.Close()
	if err := s.sealPart(p, enc); err != nil {
		return errors.Join(failed, err, p.tail.Truncate(p.durable))
	}
	return nil
}

// sync makes durable all that was added.
func (s *Store) sync() error {
	for _, p := range s.pending {
		if err := s.syncTail(p); err != nil {
			return err
		}
	}
	return nil
}
