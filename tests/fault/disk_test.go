//go:build linux && amd64

package fault

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
)

// inode is a file or a folder of a model of a disk.
type inode struct {
	dir   bool
	names map[string]*inode // of a folder, as programs see it
	// What was done to it, in order; the model replays a part of that after a crash.
	data []change // of a file
	ents []entryOp
	base []byte // of a file: what it held at first
	size int64  // of a file, as programs see it
	// How much of what was done, by number of operation, is on the disk for sure.
	safe int
}

// change is a write or a truncation of a file.
type change struct {
	at   int // number of the operation
	off  int64
	data []byte // nil: truncation to off
}

// entryOp gives a name to an inode, or takes it.
type entryOp struct {
	at   int
	name string
	node *inode // nil: the name goes
	base bool   // it was there at first
}

// disk is a model of what a disk holds: after each operation, all that a crash can leave.
type disk struct {
	root *inode
	all  []*inode
	// journal: the file system writes names in the order in which they were given, and any sync with them.
	journal bool
}

// readDisk models the files of a folder, which are all on the disk.
func readDisk(top string) (*disk, error) {
	d := &disk{}
	var load func(p string) (*inode, error)
	load = func(p string) (*inode, error) {
		list, err := os.ReadDir(p)
		if err != nil {
			return nil, err
		}
		n := d.make(true)
		for _, e := range list {
			var child *inode
			if e.IsDir() {
				child, err = load(filepath.Join(p, e.Name()))
			} else {
				child = d.make(false)
				child.base, err = os.ReadFile(filepath.Join(p, e.Name()))
				child.size = int64(len(child.base))
			}
			if err != nil {
				return nil, err
			}
			n.names[e.Name()] = child
			n.ents = append(n.ents, entryOp{at: -1, name: e.Name(), node: child, base: true})
		}
		return n, nil
	}
	var err error
	d.root, err = load(top)
	return d, err
}

func (d *disk) make(dir bool) *inode {
	n := &inode{dir: dir}
	if dir {
		n.names = map[string]*inode{}
	}
	d.all = append(d.all, n)
	return n
}

// find gives what stands at a path; nil: nothing.
func (d *disk) find(p string) *inode {
	if p == "" || p == "." {
		return d.root
	}
	dir := d.find(path.Dir(p))
	if dir == nil || !dir.dir {
		return nil
	}
	return dir.names[path.Base(p)]
}

// do applies operation number at. Its error says that the record is not what was done.
func (d *disk) do(at int, o op) error {
	n, dir := d.find(o.Path), d.find(path.Dir(o.Path))
	missing := fmt.Errorf("operation %d, %v: there is no such file", at, o)
	switch o.Kind {
	case opCreate, opMkdir:
		if n != nil && o.Kind == opCreate {
			if o.Empty {
				n.data, n.size = append(n.data, change{at: at}), 0
			}
			return nil // it was there
		}
		if dir == nil || n != nil {
			return missing
		}
		d.name(at, dir, path.Base(o.Path), d.make(o.Kind == opMkdir))
		return nil
	}
	if n == nil || dir == nil {
		return missing
	}
	switch o.Kind {
	case opWrite:
		off := o.Off
		if off < 0 {
			off = n.size
		}
		n.data = append(n.data, change{at, off, o.Data})
		n.size = max(n.size, off+int64(len(o.Data)))
	case opTruncate:
		n.data = append(n.data, change{at: at, off: o.Size})
		n.size = o.Size
	case opRemove:
		d.name(at, dir, path.Base(o.Path), nil)
	case opRename:
		to := d.find(path.Dir(o.To))
		if to == nil {
			return missing
		}
		d.name(at, dir, path.Base(o.Path), nil)
		d.name(at, to, path.Base(o.To), n)
	case opSync:
		n.safe = max(n.safe, o.Since)
		if d.journal {
			for _, m := range d.all {
				if m.dir {
					m.safe = max(m.safe, o.Since)
				}
			}
		}
	}
	return nil
}

func (d *disk) name(at int, dir *inode, name string, n *inode) {
	if n == nil {
		delete(dir.names, name)
	} else {
		dir.names[name] = n
	}
	dir.ents = append(dir.ents, entryOp{at: at, name: name, node: n})
}

// loss chooses what of that which is not on the disk for sure a crash leaves.
type loss int

const (
	loseAll    loss = iota // nothing of it
	loseNone               // all of it
	loseData               // the lengths of files, without what was written: zeros
	loseNames              // what was written, but no name
	loseTail               // of the last write of each file, only some sectors
	loseRandom             // any of it
	losses                 // how many there are
)

func (l loss) String() string {
	return []string{"nothing unsynced", "all", "zeros", "no names", "torn sectors", "any"}[l]
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
		if how == loseNames {
			how = loseNone
		}
		if how == loseTail && i < last {
			how = loseNone
		}
		if how == loseRandom {
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
