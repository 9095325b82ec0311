package chunkstore

// literalRun is how much of new bytes may wait until they are entered: later bytes of the same input can match them.
const literalRun = 64 << 10

// ingest is one run of the matcher over an input.
type ingest struct {
	m       *matcher
	data    []byte
	lit     int // data[lit:] up to the present position is new so far
	sampled []sample
	out     []Extent
}

// sample is a position in new bytes that is entered once they have an address.
type sample struct {
	fp  uint64
	pos int
}

// add gives the extents of data; what is new in it goes to the current frame. out holds the extents of what came
// before.
func (s *Store) add(out []Extent, data []byte) ([]Extent, error) {
	m := s.matcher()
	m.credit = min(m.credit+len(data), 64*loadEvery)
	g := &ingest{m: m, data: data, out: out}
	for pos, fp := m.gear.next(data, 0, 0); pos <= len(data); pos, fp = m.gear.next(data, pos, fp) {
		if pos < window {
			continue
		}
		f, ok := m.find(data, g.lit, pos, fp)
		if !ok {
			if err := g.new(fp, pos); err != nil {
				return nil, err
			}
			continue
		}
		var err error
		if pos, err = g.take(f); err != nil {
			return nil, err
		}
		fp = m.gear.at(data, pos)
	}
	err := g.literals(len(data))
	return g.out, err
}

// new notes a position that is not known.
func (g *ingest) new(fp uint64, pos int) error {
	g.sampled = append(g.sampled, sample{fp, pos})
	if pos-g.lit > literalRun {
		return g.literals(pos)
	}
	return nil
}

// take emits a match, and those that follow from it, and gives the position after them.
func (g *ingest) take(f match) (int, error) {
	for ok := true; ok; {
		if err := g.literals(f.at); err != nil {
			return 0, err
		}
		g.out = join(g.out, Extent{f.addr, int64(f.n)})
		g.lit = f.at + f.n
		f, ok = g.m.follow(g.data, f)
	}
	return g.lit, nil
}

// literals stores data[g.lit:to].
func (g *ingest) literals(to int) error {
	if to > g.lit {
		addr := g.m.s.next
		exts, err := g.m.s.literal(g.data[g.lit:to])
		if err != nil {
			return err
		}
		for _, e := range exts {
			g.out = join(g.out, e)
		}
		if len(exts) > 0 {
			addr = exts[0].Addr
		}
		for _, p := range g.sampled {
			if p.pos-window >= g.lit && p.pos <= to {
				g.m.enter(p.fp, addr+int64(p.pos-g.lit))
			}
		}
	}
	g.sampled = g.sampled[:0]
	g.lit = to
	return nil
}
