package mcp

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrNotMounted is the error of every request while there is no mount to serve, or none that the user clearly means.
var ErrNotMounted = errors.New("no mount")

// unmounted is an ErrNotMounted that says why, and what to do. It hides the cause: a mountpoint that does not exist is not a
// file that does not exist.
type unmounted struct{ text string }

func (u unmounted) Error() string        { return u.text }
func (u unmounted) Is(target error) bool { return target == ErrNotMounted }

// files are those beneath the mountpoint. Which mount it is, is asked anew for each step: a server starts before there is a mount,
// and lives as long as an editor does, while mounts end and come back. The mount is held open during the step only.
type files struct {
	mount func() (point string, err error)
	fs    int64 // type of the file system (statfs(2), f_type); 0: any
}

// in opens the mount for one step. A plain folder at the mountpoint is left alone.
func (f files) in(do func(*os.Root) error) error {
	point, err := f.mount()
	if err != nil {
		return unmounted{err.Error()}
	}
	root, err := os.OpenRoot(point)
	if err != nil {
		return unmounted{fmt.Sprintf("%s: %v (mount it again with: ctxfs mount)", point, err)}
	}
	defer root.Close()
	if err := f.check(root); err != nil {
		return fmt.Errorf("%s: %w", point, err)
	}
	return do(root)
}

// check returns an error unless root is a mount.
func (f files) check(root *os.Root) error {
	if f.fs == 0 {
		return nil
	}
	top, err := root.Open(".")
	if err != nil {
		return err
	}
	defer top.Close()
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(top.Fd()), &st); err != nil {
		return &os.PathError{Op: "statfs", Path: ".", Err: err}
	}
	if int64(st.Type) != f.fs {
		return unmounted{"no ctxfs is mounted here now (mount it again with: ctxfs mount)"}
	}
	return nil
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
