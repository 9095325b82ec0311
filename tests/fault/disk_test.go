//go:build linux && amd64

package fault

import (
	"fmt"
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
