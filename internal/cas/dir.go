package cas

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"ctxfs/internal/beneath"

	"golang.org/x/sys/unix"
)

// ErrCorrupt says that a blob's bytes are not those that its id names.
var ErrCorrupt = errors.New("blob does not match its id")

// MaxBlob is the largest blob that Get reads back: 1 GiB.
const MaxBlob = 1 << 30

// Dir is a folder of blobs, each a file at <2 hex>/<id>. Puts are atomic, durable and idempotent, so several
// processes may put at the same time.
type Dir struct {
	root *beneath.Dir
	rel  string
	own  beneath.Owner
}

// NewDir gives the blob folder at rel below root. It is made by the first Put.
func NewDir(root *beneath.Dir, rel string, own beneath.Owner) *Dir {
	return &Dir{root: root, rel: rel, own: own}
}

func (d *Dir) path(id ID) string {
	name := id.String()
	return path.Join(d.rel, name[len(prefix):len(prefix)+2], name)
}

// Put keeps data and gives its id. When it returns, the blob is on disk, and its file is young: what removes old blobs
// spares one that a record is about to name.
func (d *Dir) Put(data []byte) (ID, error) {
	id := Sum(data)
	p := d.path(id)
	if d.renew(p, int64(len(data))) {
		return id, nil
	}
	if err := d.root.MkdirAll(path.Dir(p), 0o700, d.made); err != nil {
		return id, fmt.Errorf("blob %v: %w", id, err)
	}
	if err := d.root.WriteFile(p, data, 0o400, d.own); err != nil {
		return id, fmt.Errorf("blob %v: %w", id, err)
	}
	return id, nil
}

// renew makes the file at p young, and tells whether it is there with that size.
func (d *Dir) renew(p string, size int64) bool {
	st, err := d.root.Stat(p)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size != size {
		return false
	}
	now := unix.Timespec{Nsec: unix.UTIME_NOW}
	return d.root.Utimes(p, [2]unix.Timespec{now, now}) == nil
}

// made hands a new folder to its owner, and makes its name durable: what is in it hangs on that.
func (d *Dir) made(rel string) error {
	if d.own.Chown {
		if err := d.root.Chown(rel, d.own.UID, d.own.GID); err != nil {
			return err
		}
	}
	return d.root.Sync(path.Dir(rel))
}

// Get reads a blob back and checks it against its id. A blob that is not there: an error that is fs.ErrNotExist;
// one with other bytes: ErrCorrupt, and the bytes are not given.
func (d *Dir) Get(id ID) ([]byte, error) {
	data, err := d.root.ReadFile(d.path(id), MaxBlob)
	if err != nil {
		return nil, fmt.Errorf("blob %v: %w", id, err)
	}
	if Sum(data) != id {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, id)
	}
	return data, nil
}

// Has tells whether a blob is there. It does not look at its bytes.
func (d *Dir) Has(id ID) bool {
	st, err := d.root.Stat(d.path(id))
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
}

// Each calls fn with the id and size of every blob, in id order, and stops at its first error. Files that are not
// blobs, or stand where Get does not look, go to odd, which may be nil.
func (d *Dir) Each(fn func(id ID, size int64) error, odd func(rel string)) error {
	if odd == nil {
		odd = func(string) {}
	}
	shelves, err := d.root.ReadDir(d.rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, s := range shelves {
		rel := path.Join(d.rel, s.Name())
		if !s.IsDir() {
			odd(rel)
			continue
		}
		if err := d.shelf(rel, fn, odd); err != nil {
			return err
		}
	}
	return nil
}

func (d *Dir) shelf(rel string, fn func(id ID, size int64) error, odd func(rel string)) error {
	blobs, err := d.root.ReadDir(rel)
	if err != nil {
		return err
	}
	for _, b := range blobs {
		p := path.Join(rel, b.Name())
		id, err := Parse(b.Name())
		if err != nil || !b.Type().IsRegular() || d.path(id) != p {
			odd(p)
			continue
		}
		st, err := d.root.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went away meanwhile
		}
		if err != nil {
			return err
		}
		if err := fn(id, st.Size); err != nil {
			return err
		}
	}
	return nil
}
