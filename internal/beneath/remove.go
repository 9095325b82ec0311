package beneath

import (
	"errors"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"
)

// RemoveAll removes rel and all below it. Links are removed, never followed. A rel that is not there is no error.
func (d *Dir) RemoveAll(rel string) error {
	err := d.Unlink(rel)
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return nil
	case !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM):
		return err
	}
	entries, err := d.ReadDir(rel)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := d.RemoveAll(path.Join(rel, e.Name())); err != nil {
			return err
		}
	}
	if err := d.Rmdir(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
