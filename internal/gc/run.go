package gc

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// Keeper does what only the holder of the store's lock may: its daemon, or this process where none runs. rel is a
// session's folder in the store. EBUSY, as a number or as session.Busy, says that the session is open.
type Keeper interface {
	Archive(rel string) error
	Delete(rel string) error
}

// Result says what a run did.
type Result struct {
	Done     int   `json:"done"`     // actions
	Busy     int   `json:"busy"`     // sessions left as they are, since they are open
	Archived int64 `json:"archived"` // bytes of logs that were moved
	Freed    int64 `json:"freed"`    // bytes, by all other actions
}

// Run carries out a plan that Make gave. It goes on after a failure, and gives the failures joined. What became young
// since the plan was made is spared, and cold stores are looked at anew: a run may free more there than the plan says.
// A kill at any point leaves a store that the next run goes on with.
func Run(store *session.Store, plan *Plan, keeper Keeper) (r Result, err error) {
	var errs []error
	for i, a := range plan.Actions {
		plan.did(i)
		if err := r.carryOut(store.Dir(), a, keeper, plan.before); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("%s %s: %w", a.Do, a.Path, err))
		}
	}
	for i, owner := range plan.owners {
		plan.did(len(plan.Actions) + i)
		n, err := runCold(store, owner, plan.before)
		r.Freed += n
		if err != nil {
			errs = append(errs, fmt.Errorf("cold store of %s: %w", owner, err))
		}
	}
	return r, errors.Join(errs...)
}

// did tells that so many steps are done.
func (p *Plan) did(n int) {
	if p.step != nil {
		p.step(n, len(p.Actions)+len(p.owners))
	}
}

func (r *Result) carryOut(dir *beneath.Dir, a Action, keeper Keeper, before time.Time) (err error) {
	gone := false
	switch {
	case a.Do == Compact:
		r.Done++ // runCold does it
		return nil
	case a.Do == Archive:
		err = keeper.Archive(a.Path)
	case a.Do == Delete:
		err = keeper.Delete(a.Path)
		gone = err == nil
	case a.all:
		gone, err = removeAll(dir, a.Path)
	default:
		gone, err = remove(dir, a.Path, before)
	}
	if isBusy(err) {
		r.Busy++
		return nil
	}
	if err != nil {
		return err
	}
	if gone {
		r.Done, r.Freed = r.Done+1, r.Freed+a.Bytes
	}
	if a.Do == Archive {
		r.Done, r.Archived = r.Done+1, r.Archived+a.Bytes
	}
	return nil
}

func isBusy(err error) bool {
	var rule *session.Error
	return errors.Is(err, unix.EBUSY) || errors.As(err, &rule) && rule.Kind == session.Busy
}

func removeAll(dir *beneath.Dir, rel string) (bool, error) {
	if _, err := dir.Stat(rel); err != nil {
		return false, err
	}
	err := dir.RemoveAll(rel)
	return err == nil, err
}

// remove takes an old file away. Its writer may go on with it at the same time: so it gets another name first, and its
// age is looked at again.
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
	}
	return true, dir.Unlink(away)
}
