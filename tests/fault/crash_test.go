//go:build linux && amd64

package fault

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// loss chooses what of that which is not on the disk for sure a crash leaves.
type loss int

const (
	loseAll    loss = iota // nothing of it
	loseNone               // all of it
	loseData               // the lengths of files, without what was written: zeros
	loseNames              // what was written, but no name
	loseFiles              // names, but nothing of what was written: a rename that overtook what it puts in place
	loseTail               // of the last write of each file, only some sectors
	loseRandom             // any of it
	losses                 // how many there are
)

func (l loss) String() string {
	return []string{"nothing unsynced", "all", "zeros", "no names", "no bytes", "torn sectors", "any"}[l]
}

// ways is in how many ways a crash loses that. Only the last losses leave something to chance.
func (l loss) ways(seeds uint64) uint64 {
	switch l {
	case loseNone, loseData, loseFiles: // all names are there
		return 1
	case loseAll, loseNames: // with and without a journal
		return 2
	}
	return seeds
}

// crash lays the files that a crash leaves into a folder. All that is chosen depends on r alone.
func (d *disk) crash(top string, l loss, r *rand.Rand) error {
	upTo := map[*inode]int{} // of folders: names given before that are kept
	limit := 0
	for _, n := range d.all {
		if len(n.ents) > 0 {
			limit = max(limit, n.ents[len(n.ents)-1].at+1)
		}
	}
	cut := r.IntN(limit + 1)
	for _, n := range d.all {
		if !n.dir {
			continue
		}
		switch l {
		case loseAll, loseNames:
			upTo[n] = n.safe
		case loseRandom:
			if !d.journal {
				cut = r.IntN(limit + 1)
			}
			upTo[n] = max(n.safe, cut)
		default:
			upTo[n] = limit + 1
		}
	}
	d.together(upTo)
	return d.lay(d.root, top, upTo, l, r, map[*inode]bool{})
}

// together keeps a rename between folders whole: it is on the disk in both, or in none.
func (d *disk) together(upTo map[*inode]int) {
	for again := true; again; {
		again = false
		at := map[int]bool{} // operations that are kept somewhere
		for n, k := range upTo {
			for _, e := range n.ents {
				at[e.at] = at[e.at] || e.at >= 0 && e.at < k
			}
		}
		for n, k := range upTo {
			for _, e := range n.ents {
				if at[e.at] && e.at >= k {
					k, again = e.at+1, true
				}
			}
			upTo[n] = k
		}
	}
}

func (d *disk) lay(n *inode, at string, upTo map[*inode]int, l loss, r *rand.Rand, seen map[*inode]bool) error {
	if !n.dir {
		return os.WriteFile(at, n.after(l, r), 0o600)
	}
	if seen[n] {
		return fs.ErrExist
	}
	seen[n] = true
	if err := os.Mkdir(at, 0o700); err != nil {
		return err
	}
	names := map[string]*inode{}
	var order []string
	for _, e := range n.ents {
		if !e.base && e.at >= upTo[n] {
			continue
		}
		if e.node == nil {
			delete(names, e.name)
			continue
		}
		if _, ok := names[e.name]; !ok {
			order = append(order, e.name)
		}
		names[e.name] = e.node
	}
	for _, name := range order {
		if child := names[name]; child != nil && !seen[child] {
			delete(names, name) // it may stand in the order twice
			if err := d.lay(child, filepath.Join(at, name), upTo, l, r, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// after gives what a file holds after a crash.
func (n *inode) after(l loss, r *rand.Rand) []byte {
	out := append([]byte{}, n.base...)
	last := len(n.data) - 1
	for i, c := range n.data {
		how := loseNone
		if c.at >= n.safe {
			how = l
		}
		switch {
		case how == loseNames, how == loseTail && i < last:
			how = loseNone
		case how == loseFiles:
			how = loseAll
		case how == loseRandom:
			how = []loss{loseAll, loseNone, loseData, loseTail}[r.IntN(4)]
		}
		out = c.apply(out, how, r)
	}
	return out
}

const sector = 512

func (c change) apply(out []byte, how loss, r *rand.Rand) []byte {
	if how == loseAll {
		return out
	}
	end := c.off + int64(len(c.data))
	if c.data == nil && int64(len(out)) > end {
		return out[:end]
	}
	for int64(len(out)) < end {
		out = append(out, make([]byte, end-int64(len(out)))...)
	}
	switch how {
	case loseNone:
		copy(out[c.off:], c.data)
	case loseTail:
		for i := int64(0); i < int64(len(c.data)); {
			stop := min(int64(len(c.data)), (c.off+i)/sector*sector+sector-c.off)
			if r.IntN(2) == 0 {
				copy(out[c.off+i:], c.data[i:stop])
			}
			i = stop
		}
	}
	return out
}
