package gc

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/chunkstore"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// maxRewrites bounds how many files of a cold store are written anew under one lock: other writers wait meanwhile.
const maxRewrites = 8

// collect begins a collection in an owner's cold store with what is alive there. It tells whether the owner has one.
func collect(store *session.Store, owner string, before time.Time, fn func(c *chunkstore.Collection) error) (bool, error) {
	cold, err := openCold(store, owner)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist), ignoreMissing(err)
	}
	defer cold.Close()
	return true, cold.Collect(func(c *chunkstore.Collection) error {
		live, err := alive(store, owner, before) // nobody adds to the store from here on
		if err != nil {
			return err
		}
		c.Make(chunkstore.Live{Blob: func(id cas.ID) bool { return live.blobs[id.String()] }, Extents: live.extents, Before: before,
			Compress: true, Limit: maxRewrites})
		return fn(c)
	})
}

// openCold opens an owner's cold store to write to; one that is not there is not made: fs.ErrNotExist.
func openCold(store *session.Store, owner string) (*chunkstore.Store, error) {
	st, err := store.Dir().Stat(path.Join(owner, session.StateDir, "chunk"))
	if err != nil {
		return nil, err
	}
	own := beneath.Owner{UID: int(st.Uid), GID: int(st.Gid), Chown: unix.Geteuid() == 0}
	return session.OpenCold(store.Dir(), owner, chunkstore.Options{Owner: own})
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// planCold plans for an owner's cold store.
func planCold(store *session.Store, owner string, before time.Time) (list []Action, found bool, err error) {
	found, err = collect(store, owner, before, func(c *chunkstore.Collection) error {
		for _, r := range c.Plan {
			list = append(list, Action{Do: Compact, Path: path.Join(owner, session.StateDir, "chunk", r.Name), Bytes: r.Bytes, Reason: r.Reason})
		}
		return nil
	})
	return list, found, err
}

// runCold does what is to be done in an owner's cold store now, and gives how much smaller it got.
func runCold(store *session.Store, owner string, before time.Time) (freed int64, err error) {
	if err := seal(store, owner); err != nil {
		return 0, err
	}
	for more := true; more && err == nil; {
		_, err = collect(store, owner, before, func(c *chunkstore.Collection) error {
			n, err := c.Run()
			freed, more = freed+n, c.More && len(c.Plan) > 0
			return err
		})
	}
	return freed, err
}

// seal compresses what waits in an owner's journal.
func seal(store *session.Store, owner string) error {
	cold, err := openCold(store, owner)
	if err != nil {
		return err
	}
	return errors.Join(cold.Update(func(tx *chunkstore.Tx) error { return tx.Seal() }), cold.Close())
}

// living is what an owner's files name of the cold store.
type living struct {
	store   *session.Store
	before  time.Time // what pack_ttl let go of by then is not named any more
	blobs   map[string]bool
	extents []chunkstore.Extent
}

func alive(store *session.Store, owner string, before time.Time) (*living, error) {
	l := &living{store: store, before: before, blobs: map[string]bool{}}
	return l, l.walk(owner)
}

// walk reads every file of the owner but what is in its state folder and its agents' roots.
func (l *living) walk(rel string) error {
	entries, err := l.store.Dir().ReadDir(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		sub := path.Join(rel, e.Name())
		switch {
		case e.IsDir() && (e.Name() == session.StateDir || isRoot(sub)):
		case e.IsDir() && e.Name() == session.ColdDir:
			err = l.archived(rel)
		case e.IsDir():
			err = l.walk(sub)
		case e.Type().IsRegular() && strings.HasSuffix(sub, "/"+session.Injections):
			err = l.shown(sub)
		case e.Type().IsRegular():
			err = l.scan(sub)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// archived notes what the archived logs of the session at rel are made of, and what they name.
func (l *living) archived(rel string) error {
	c, err := l.store.Container(path.Dir(path.Dir(rel)))
	if err != nil {
		return nil // a folder of that name somewhere else
	}
	x, err := c.Session(path.Base(rel))
	if err != nil {
		return err
	}
	for _, name := range []string{session.Messages, session.Events} {
		list, err := x.Extents(name)
		if err != nil {
			return err
		}
		l.extents = append(l.extents, list...)
		if err := l.scanLog(x, name); err != nil {
			return err
		}
	}
	return nil
}

func (l *living) scanLog(x *session.Session, name string) error {
	log, err := x.Log(name)
	if err != nil {
		return err
	}
	defer x.Release()
	return scanIDs(io.NewSectionReader(log, 0, log.Size()), l.note)
}

func (l *living) note(id string) { l.blobs[id] = true }

// scan notes the blob ids that a file names.
func (l *living) scan(rel string) error {
	f, err := l.store.Dir().OpenFile(rel, unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went away meanwhile
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return err // a pipe, which a user can keep open for ever, names nothing
	}
	return unreadable(rel, scanIDs(&dataReader{f: f}, l.note))
}
