package chunkstore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"ctxfs/internal/cas"

	"golang.org/x/sys/unix"
)

// listing is what stands in the store's folder.
type listing struct {
	packs  []string
	bases  []int64 // of tails and parts
	gone   []string
	others []string
}

func (s *Store) list() (*listing, error) {
	entries, err := s.dir.ReadDir(".")
	if err != nil {
		return nil, err
	}
	l := &listing{}
	for _, e := range entries {
		name := e.Name()
		n, kind := parseName(name)
		switch {
		case !e.Type().IsRegular():
			l.others = append(l.others, name)
		case kind == packPrefix:
			l.packs = append(l.packs, name)
		case kind == tailPrefix, kind == partPrefix:
			l.bases = append(l.bases, n)
		case kind == gonePrefix:
			l.gone = append(l.gone, name)
		case name != lockName && name != formatName:
			l.others = append(l.others, name)
		}
	}
	slices.Sort(l.bases)
	l.bases = slices.Compact(l.bases)
	return l, nil
}

// parseName takes a file's name apart; kind is empty for a name that is not the store's.
func parseName(name string) (n int64, kind string) {
	i := strings.IndexByte(name, '-') + 1
	switch name[:i] {
	case packPrefix, tailPrefix, partPrefix, gonePrefix:
		n, err := strconv.ParseInt(name[i:], 16, 64)
		if err == nil && hex16(n) == name[i:] {
			return n, name[:i]
		}
	}
	return 0, ""
}

// refresh takes in what changed on disk. s.own is held. Files may come and go meanwhile when another process writes:
// then it starts again.
func (s *Store) refresh() error {
	for try := 0; ; try++ {
		err := s.refreshOnce()
		if !errors.Is(err, fs.ErrNotExist) || try == 8 {
			return err
		}
	}
}

func (s *Store) refreshOnce() error {
	l, err := s.list()
	if err != nil {
		return err
	}
	if err := s.replaced(l); err != nil {
		return err
	}
	packs, changed, err := s.scanPacks(l.packs)
	if err != nil {
		return err
	}
	waiting, moved, err := s.scanPending(l.bases)
	if err != nil {
		return err
	}
	if err := distrust(packs, waiting); err != nil {
		return err
	}
	if changed || moved || s.stale || s.space == nil {
		s.install(packs, waiting)
	}
	s.stale = false
	return nil
}

// replaced takes packs off the list that a finished collection replaced, but did not come to remove.
func (s *Store) replaced(l *listing) error {
	for _, name := range l.gone {
		data, err := s.dir.ReadFile(name, 1<<20)
		if err != nil {
			return err
		}
		old, err := parseGone(data)
		if errors.Is(err, ErrCorrupt) {
			continue // what it names is there twice, or not at all
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		l.packs = slices.DeleteFunc(l.packs, func(p string) bool { return slices.Contains(old, p) })
	}
	return nil
}

// scanPacks gives the packs of the list; those that are known are only looked at for what was appended.
func (s *Store) scanPacks(names []string) (out []*pack, changed bool, err error) {
	for i, name := range names {
		p := s.pack(name)
		last := i == len(names)-1
		if p == nil {
			if p, err = s.openPack(name); err != nil {
				return nil, false, err
			}
			changed, last = true, true
		}
		if last || s.isLast(p) {
			n := len(p.frames)
			if err := p.scan(s.dec); err != nil {
				return nil, false, err
			}
			changed = changed || len(p.frames) != n
		}
		out = append(out, p)
	}
	return out, changed || len(out) != len(s.packs), nil
}

// distrust takes the last frame off the last pack when the journal that it was made of is still there, and it is not what
// was written: the power may have gone before the pack was on disk.
func distrust(packs []*pack, waiting []*pending) error {
	if len(packs) == 0 {
		return nil
	}
	p := packs[len(packs)-1]
	if len(p.frames) == 0 || p.dirty() {
		return nil
	}
	fr := p.frames[len(p.frames)-1]
	if !slices.ContainsFunc(waiting, func(q *pending) bool { return meets(fr, q) }) {
		return nil
	}
	whole, err := fr.load.(*sealed).sound()
	if err == nil && !whole {
		p.drop()
	}
	return err
}

// meets tells whether a frame and a frame-to-be have addresses in common.
func meets(fr *frame, q *pending) bool {
	n := len(fr.segs)
	return n > 0 && len(q.segs) > 0 && fr.segs[0].Addr < q.end() && q.segs[0].Addr < fr.segs[n-1].End()
}

func (s *Store) pack(name string) *pack {
	for _, p := range s.packs {
		if p.name == name {
			return p
		}
	}
	return nil
}

// isLast tells whether p was the pack that grows when it was looked at last.
func (s *Store) isLast(p *pack) bool { return len(s.packs) > 0 && s.packs[len(s.packs)-1] == p }

func (s *Store) openPack(name string) (*pack, error) {
	f, err := s.openFile(name, s.packFlags())
	if err != nil {
		return nil, err
	}
	p := &pack{name: name, f: f, size: packHead}
	b := make([]byte, packHead)
	n, _ := f.ReadAt(b, 0) // a short head is damaged
	p.next, p.quick, err = parsePackHead(b[:n])
	if errors.Is(err, ErrFormat) {
		return nil, errors.Join(err, f.Close())
	}
	p.badHead = err != nil
	return p, nil
}

func (s *Store) packFlags() int {
	if s.opt.ReadOnly {
		return unix.O_RDONLY
	}
	return unix.O_RDWR | unix.O_APPEND
}

// scanPending gives the frames-to-be at bases; what this process holds and nobody changed stays as it is.
func (s *Store) scanPending(bases []int64) (out []*pending, changed bool, err error) {
	for _, base := range bases {
		i := slices.IndexFunc(s.pending, func(p *pending) bool { return p.base == base })
		if i >= 0 && !s.stale && s.pending[i].stamp == s.stampOf(s.pending[i]) {
			out = append(out, s.pending[i])
			continue
		}
		p, err := s.openPending(base)
		if err != nil {
			return nil, false, err
		}
		changed = true
		out = append(out, p)
	}
	return out, changed || len(out) != len(s.pending), nil
}

// install makes packs and pending what readers see.
func (s *Store) install(packs []*pack, waiting []*pending) {
	var frames []*frame
	for _, p := range packs {
		frames = append(frames, p.frames...)
	}
	for _, p := range waiting {
		frames = append(frames, p.frame)
	}
	sp, next := newSpace(frames), lowest(packs, waiting)
	blobs := map[cas.ID]*blob{}
	for _, fr := range frames {
		addBlobs(blobs, fr.blobs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packs, s.pending, s.space, s.blobs, s.next = packs, waiting, sp, blobs, max(next, s.next)
	if s.writer != nil {
		s.writer.learn(frames)
	}
}

// lowest gives the lowest address that was never used. Where a frame cannot be read its addresses are not known, and
// must not be used again: as many are left out as the largest pack could have. A pack that is not the last was followed
// by one that says what was free.
func lowest(packs []*pack, waiting []*pending) int64 {
	next := int64(0)
	for i, p := range packs {
		next = max(next, p.next)
		for _, fr := range p.frames {
			if n := len(fr.segs); n > 0 {
				next = max(next, fr.segs[n-1].End())
			}
		}
		if i == len(packs)-1 && p.dirty() {
			next = skip(next)
		}
	}
	for _, p := range waiting {
		next = max(next, p.end())
		if p.damaged {
			next = skip(next)
		}
	}
	return next
}

func skip(next int64) int64 { return (next>>32 + 1) << 32 }

// addBlobs adds the records to m; of two of one blob the younger counts, of two as old the later.
func addBlobs(m map[cas.ID]*blob, recs []byte) {
	for len(recs) > 0 {
		b, n, err := parseBlob(recs)
		if err != nil {
			return // they were parsed before
		}
		recs = recs[n:]
		if old := m[b.id]; old == nil || b.time >= old.time {
			m[b.id] = b
		}
	}
}
