package gc

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// Run carries out a plan that Make gave. It goes on after a failure and gives how much was freed, in bytes, and the
// failures joined. What became young since the plan was made is spared.
func Run(store *session.Store, plan *Plan) (int64, error) {
	var freed int64
	var errs []error
	for _, a := range plan.Actions {
		gone, err := carryOut(store.Dir(), a, plan.before)
		if gone {
			freed += a.Bytes
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return freed, errors.Join(errs...)
}

func carryOut(dir *beneath.Dir, a Action, before time.Time) (bool, error) {
	if !a.all {
		return remove(dir, a.Path, before)
	}
	if _, err := dir.Stat(a.Path); err != nil {
		return false, err
	}
	err := dir.RemoveAll(a.Path)
	return err == nil, err
}

// remove takes an old file away. A put may renew it at the same time (cas.Dir.Put): so it gets another name first, which
// no put can reach, and its age is looked at again.
func remove(dir *beneath.Dir, rel string, before time.Time) (bool, error) {
	st, err := dir.Stat(rel)
	if err != nil || young(st, before) {
		return false, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false, &fs.PathError{Op: "unlink", Path: rel, Err: unix.EINVAL}
	}
	away := path.Join(path.Dir(rel), beneath.TempPrefix+"gc-"+path.Base(rel))
	if err := dir.Rename(rel, away, 0); err != nil {
		return false, err
	}
	if st, err := dir.Stat(away); err == nil && young(st, before) {
		err = dir.Rename(away, rel, unix.RENAME_NOREPLACE)
		if !errors.Is(err, fs.ErrExist) {
			return false, err
		}
		// It was put anew meanwhile: this one is a copy.
	}
	return true, dir.Unlink(away)
}
