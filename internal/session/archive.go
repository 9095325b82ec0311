package session

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"time"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/archive"
	"ctxfs/internal/chunkstore"

	"golang.org/x/sys/unix"
)

// Archived says what Archive moved.
type Archived struct {
	Bytes int64 // of the logs, that were plain before
}

// Archive moves the logs of a session that nobody has open into its owner's cold store. Readers see the same bytes. The
// plain file of a log goes when what is stored was read back and compared, byte for byte; a crash at any point leaves
// one or the other. It is explicit policy that does this (Context Runtime ABI, Context GC).
func (x *Session) Archive() (Archived, error) {
	var done Archived
	if x.store.memory != nil {
		return done, refuse(NotPermitted, "a temporary session is not archived")
	}
	moved, err := Moving(x.store.dir)
	if err != nil {
		return done, err
	}
	defer moved()
	cold, err := x.store.writeCold(OwnerRel(x.rel()))
	if err != nil {
		return done, err
	}
	defer cold.Close()
	defer x.Touch() // its folder's time is put back, which an error may prevent
	for _, name := range []string{Messages, Events} {
		n, err := x.archiveLog(cold, name)
		done.Bytes += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

func (x *Session) archiveLog(cold *chunkstore.Store, name string) (int64, error) {
	log, err := x.Log(name)
	if err != nil {
		return 0, err
	}
	defer x.Release()
	if log.Torn() != nil {
		return 0, log.Torn()
	}
	old, err := x.archived(name)
	if err != nil {
		return 0, err
	}
	from := int64(0)
	if old != nil {
		from = old.Size
	}
	size := log.Size()
	if size == from {
		return 0, nil
	}
	return size - from, cold.Update(func(tx *chunkstore.Tx) error {
		ix, err := store(tx, cold, old, io.NewSectionReader(log, from, size-from))
		if err != nil {
			return err
		}
		r, err := archive.NewReader(cold, ix)
		if err != nil {
			return err
		}
		if err := archive.Verify(r, log, size); err != nil {
			return err
		}
		return x.swapFor(name, log, ix, size)
	})
}

// store adds the bytes of a log to those that are archived of it, if any, compressed and durable.
func store(tx *chunkstore.Tx, cold *chunkstore.Store, old *archive.Index, plain io.Reader) (ix *archive.Index, err error) {
	if old == nil {
		ix, err = archive.Add(tx, cold, plain)
	} else {
		ix, err = archive.Extend(tx, cold, old, plain)
	}
	if err != nil {
		return nil, err
	}
	return ix, tx.Seal()
}

// swapFor puts the index of an archived log in the place of its plain file, whose whole lines are size bytes.
func (x *Session) swapFor(name string, log *appendlog.Log, ix *archive.Index, size int64) error {
	data, err := ix.Encode()
	if err != nil {
		return err
	}
	defer x.still()()
	if x.refs > 1 || log.Size() != size {
		return x.busy()
	}
	grew, dir, err := x.logTimes(name)
	if err != nil {
		return err
	}
	own, perm, err := x.owner()
	if err != nil {
		return err
	}
	if err := x.store.MakeDirs(x.file(ColdDir), Caller{UID: uint32(own.UID), GID: uint32(own.GID)}); err != nil {
		return err
	}
	if err := x.store.dir.WriteFile(x.coldIndex(name), data, perm&0o440, own); err != nil {
		return err
	}
	if err := x.setTime(x.coldIndex(name), grew); err != nil {
		return err
	}
	x.drop() // from the next step on, what is open is no more the log, whatever fails after it
	if err := x.unlinkIf(x.file(name)); err != nil {
		return err
	}
	if err := x.sweepCold(name, ix.Size); err != nil {
		return err
	}
	return errors.Join(x.store.dir.Sync(x.rel()), x.setTime(x.rel(), dir))
}

// Unarchive gives the logs of a session that nobody has open their plain files back. Their cold bytes stay until gc
// finds that nothing needs them.
func (x *Session) Unarchive() error {
	moved, err := Moving(x.store.dir)
	if err != nil {
		return err
	}
	defer moved()
	defer x.Touch()
	for _, name := range []string{Messages, Events} {
		ix, err := x.archived(name)
		if err != nil {
			return err
		}
		if ix == nil {
			continue
		}
		if err := x.unarchiveLog(name); err != nil {
			return err
		}
	}
	return nil
}

func (x *Session) unarchiveLog(name string) error {
	log, err := x.Log(name)
	if err != nil {
		return err
	}
	defer x.Release()
	own, perm, err := x.owner()
	if err != nil {
		return err
	}
	grew, dir, err := x.logTimes(name)
	if err != nil {
		return err
	}
	size := log.Size()
	if err := x.store.Room(x.rel(), size, 1); err != nil {
		return err
	}
	tmp, err := x.store.dir.WriteTemp(x.rel(), io.NewSectionReader(log, 0, size), perm, own)
	if err != nil {
		return err
	}
	defer x.store.dir.Unlink(tmp) // ENOENT when all went well
	defer x.still()()
	if x.refs > 1 || log.Size() != size {
		return x.busy()
	}
	if err := x.setTime(tmp, grew); err != nil {
		return err
	}
	x.drop() // from the next step on, what is open is no more the log, whatever fails after it
	if err := x.store.dir.Rename(tmp, x.file(name), renameNoReplace); err != nil {
		return err
	}
	if err := x.store.dir.Sync(x.rel()); err != nil {
		return err
	}
	return errors.Join(x.unlinkIf(x.coldIndex(name)), x.sweepCold(name, -1), x.setTime(x.rel(), dir))
}

func (x *Session) busy() error {
	return &Error{Kind: Busy, Msg: "session " + x.Name() + " is open", Hint: "close what reads or writes it, then try again"}
}

// logTimes gives when a log last grew, and the time of the session's folder: both stay what they are when the log only
// changes its form.
func (x *Session) logTimes(name string) (log, dir time.Time, err error) {
	a, err := x.attr()
	if err != nil {
		return log, dir, err
	}
	st, err := x.store.dir.Stat(x.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		_, log, err = x.store.coldStat(x.rel(), name)
		return log, a.Mtime, err
	}
	return timeOf(st.Mtim), a.Mtime, err
}

func (x *Session) setTime(rel string, t time.Time) error {
	ts := unix.NsecToTimespec(t.UnixNano())
	return x.store.dir.Utimes(rel, [2]unix.Timespec{ts, ts})
}

func (x *Session) unlinkIf(rel string) error {
	if err := x.store.dir.Unlink(rel); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sweepCold removes the tails of a log but the one behind size bytes; logMu is held.
func (x *Session) sweepCold(name string, size int64) error {
	entries, err := x.list(ColdDir)
	if err != nil {
		return err
	}
	keep := path.Base(coldTail(x.coldIndex(name), size))
	for _, e := range entries {
		if matched, _ := path.Match(name+".[0-9]*", e.Name()); matched && e.Name() != keep {
			if err := x.unlinkIf(x.file(path.Join(ColdDir, e.Name()))); err != nil {
				return err
			}
		}
	}
	return nil
}
