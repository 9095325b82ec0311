package mcp

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrNotMounted: the mount was ended. It may come again.
var ErrNotMounted = errors.New("no ctxfs is mounted there now; mount it again with: ctxfs mount")

// files are those beneath a mountpoint. The mount is held while one is open and no longer: a server lives as long as an editor does, and
// in between the mount can be ended and made again.
type files struct {
	point string
	kind  int64 // of the file system there (statfs(2), f_type)
}

func filesOf(point string) (files, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(point, &st); err != nil {
		return files{}, &os.PathError{Op: "statfs", Path: point, Err: err}
	}
	return files{point, int64(st.Type)}, nil
}

// in opens the mount for one step. A folder that is there instead of it is left alone.
func (f files) in(do func(*os.Root) error) error {
	root, err := os.OpenRoot(f.point)
	if errors.Is(err, syscall.ENOTCONN) {
		return fmt.Errorf("%s: %w", f.point, ErrNotMounted)
	}
	if err != nil {
		return err
	}
	defer root.Close()
	top, err := root.Open(".")
	if err != nil {
		return err
	}
	defer top.Close()
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(top.Fd()), &st); err != nil {
		return &os.PathError{Op: "statfs", Path: f.point, Err: err}
	}
	if int64(st.Type) != f.kind {
		return fmt.Errorf("%s: %w", f.point, ErrNotMounted)
	}
	return do(root)
}

func (f files) Open(name string) (*os.File, error) { return f.OpenFile(name, os.O_RDONLY, 0) }

func (f files) OpenFile(name string, flag int, perm os.FileMode) (file *os.File, err error) {
	err = f.in(func(r *os.Root) error {
		file, err = r.OpenFile(name, flag, perm)
		return err
	})
	return file, err
}

func (f files) Stat(name string) (st os.FileInfo, err error) {
	err = f.in(func(r *os.Root) error {
		st, err = r.Stat(name)
		return err
	})
	return st, err
}

func (f files) MkdirAll(name string, perm os.FileMode) error {
	return f.in(func(r *os.Root) error { return r.MkdirAll(name, perm) })
}
