package gc

import (
	"errors"
	"fmt"
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
	read    map[inode]bool // files, and folders of archives, that were read
	more    bool           // one was read in this walk
}

// inode is what a file is under each of its names.
type inode struct{ dev, ino uint64 }

// maxLooks is how often a folder is looked at whose names change all the time, and how often an owner's files are gone through.
const maxLooks = 100

// alive reads every file of the owner but what is in its state folder and its agents' roots. What gets another name meanwhile must not
// be missed: a file can move from where nobody looked yet to where somebody did. So all is gone through until nothing is found that was
// not read, which after the first time reads names alone.
func alive(store *session.Store, owner string, before time.Time) (*living, error) {
	l := &living{store: store, before: before, blobs: map[string]bool{}, read: map[inode]bool{}}
	for range maxLooks {
		l.more = false
		if err := ignoreMissing(l.walk(owner)); err != nil || !l.more {
			return l, err
		}
	}
	return l, fmt.Errorf("the files of %s keep moving", owner)
}

// walk goes through a folder. What in it gets another name there, a session above all, must not be missed: so it is looked at until
// nothing is in it that was not visited. fs.ErrNotExist says that the folder itself went away, or has another name.
func (l *living) walk(rel string) error {
	st, err := l.store.Dir().Stat(rel)
	if err != nil {
		return err
	}
	visited := map[uint64]bool{}
	var gone error
	for range maxLooks {
		found, err := l.unvisited(rel, st.Dev, visited)
		if err != nil || len(found) == 0 {
			return err
		}
		gone = nil
		for _, e := range found {
			switch err := l.visit(rel, e); {
			case err == nil:
				visited[e.Ino] = true
				if once(e) {
					l.read[inode{st.Dev, e.Ino}], l.more = true, true
				}
			case !errors.Is(err, fs.ErrNotExist):
				return err
			default:
				gone = err
			}
		}
	}
	return fmt.Errorf("the names in %s keep changing: %v", rel, gone)
}

func (l *living) unvisited(rel string, dev uint64, visited map[uint64]bool) (list []beneath.Found, err error) {
	err = l.store.Dir().Scan(rel, func(e beneath.Found) {
		if !visited[e.Ino] && !(once(e) && l.read[inode{dev, e.Ino}]) {
			list = append(list, e)
		}
	})
	return list, err
}

// once tells what is read once, wherever it is found.
func once(e beneath.Found) bool {
	return e.Type == unix.DT_REG || e.Type == unix.DT_DIR && e.Name == session.ColdDir
}

func (l *living) visit(rel string, e beneath.Found) error {
	sub := path.Join(rel, e.Name)
	switch {
	case e.Type == unix.DT_DIR && (e.Name == session.StateDir || isRoot(sub)):
	case e.Type == unix.DT_DIR && e.Name == session.ColdDir:
		return l.archived(rel)
	case e.Type == unix.DT_DIR:
		return l.walk(sub)
	case e.Type == unix.DT_REG && strings.HasSuffix(sub, "/"+session.Injections):
		return l.shown(sub)
	case e.Type == unix.DT_REG:
		return l.scan(sub)
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
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return err // a pipe, which a user can keep open for ever, names nothing
	}
	return unreadable(rel, scanIDs(&dataReader{f: f}, l.note))
}
