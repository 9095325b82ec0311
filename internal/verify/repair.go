package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"ctxfs/internal/beneath"
	"ctxfs/internal/chunkstore"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// Repair mends what a crash left half done, in a store that this process holds: torn lines go to quarantine, whole ones
// get their end, what an archive left over is removed, torn ends of cold files are cut off. Everything else that is
// derived is in no file. Nothing is removed that is the only copy.
func Repair(store *session.Store) error {
	err := store.EachContainer(func(c *session.Container) error {
		names, err := c.Names()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		for _, name := range names {
			x, xerr := c.Session(name)
			if xerr == nil {
				xerr = repairLogs(x)
			}
			if xerr != nil {
				err = errors.Join(err, fmt.Errorf("%s/%s: %w", c.SessionsRel(), name, xerr))
			}
		}
		return err
	})
	for _, top := range []string{"home", "shared"} {
		owners, lerr := store.Dir().ReadDir(top)
		if errors.Is(lerr, fs.ErrNotExist) {
			continue
		}
		err = errors.Join(err, lerr)
		for _, o := range owners {
			err = errors.Join(err, repairCold(store, path.Join(top, o.Name())))
		}
	}
	return err
}

// repairLogs opens both logs to append to: that recovers them.
func repairLogs(x *session.Session) (err error) {
	for _, name := range []string{session.Messages, session.Events} {
		l, lerr := x.Log(name)
		if lerr != nil {
			err = errors.Join(err, lerr)
			continue
		}
		err = errors.Join(err, l.Torn())
		x.Release()
	}
	return err
}

// repairCold takes the right to write to an owner's cold store once: that puts its files in order.
func repairCold(store *session.Store, owner string) error {
	st, err := store.Dir().Stat(path.Join(owner, session.StateDir, "chunk"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	cold, err := session.OpenCold(store.Dir(), owner, chunkstore.Options{Owner: beneath.Owner{UID: int(st.Uid), GID: int(st.Gid), Chown: unix.Geteuid() == 0}})
	if err != nil {
		return err
	}
	return errors.Join(cold.Update(func(tx *chunkstore.Tx) error { return tx.Seal() }), cold.Close())
}
