package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/beneath"

	"golang.org/x/sys/unix"
)

// Log opens a log of the session for use; the caller gives it back with Release. Logs of a session stay open while
// anybody uses them, and a while longer.
func (x *Session) Log(name string) (*appendlog.Log, error) {
	if name != Messages && name != Events {
		return nil, refuse(NotFound, "%s is not a log", name)
	}
	x.logMu.Lock()
	defer x.logMu.Unlock()
	l, err := x.openLog(name)
	if err != nil {
		return nil, err
	}
	x.refs++
	return l, nil
}

// Release gives a log back.
func (x *Session) Release() {
	x.logMu.Lock()
	defer x.logMu.Unlock()
	if x.refs--; x.refs > 0 {
		return
	}
	if x.over {
		x.store.host().later.Go(x.rest) // who calls may hold its locks
		return
	}
	x.store.used(x) // it may have left the queue while it was in use
}

// openLog gives the open log; logMu is held.
func (x *Session) openLog(name string) (*appendlog.Log, error) {
	if x.over {
		return nil, refuse(NotFound, "the temporary session has ended")
	}
	x.store.used(x)
	if l := x.logs[name]; l != nil && (l.Torn() == nil || x.refs > 0) {
		return l, nil
	} else if l != nil {
		delete(x.logs, name) // there may be room by now to set its torn line aside
		_ = l.Close()        // nothing is buffered in the process
	}
	open := x.recoverLog
	if x.store.opt.ReadOnly {
		open = x.viewLog
	}
	l, err := open(name)
	if err != nil {
		x.tellDamage(name, 0, err)
		return nil, err
	}
	x.opened(name, l)
	return l, nil
}

func (x *Session) opened(name string, l *appendlog.Log) {
	if x.logs == nil { // most sessions are never opened
		x.logs = map[string]*appendlog.Log{}
	}
	if x.store.space != nil {
		l.SetRoom(func(bytes int64) error { return x.store.Room(x.rel(), bytes, 0) })
	}
	l.SetTally(&x.store.Stats.Appended)
	x.logs[name] = l
}

// viewLog opens a log to look at.
func (x *Session) viewLog(name string) (*appendlog.Log, error) {
	rel, prefix, err := x.parts(name)
	if err != nil {
		return nil, err
	}
	f, err := x.store.dir.OpenFile(rel, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) && x.there() {
		f, err = noLog() // a session that was made by hand, or nothing was appended since it was archived
	}
	if err != nil {
		return nil, err
	}
	l, err := appendlog.NewReader(prefix, f)
	if err != nil {
		f.Close()
	}
	return l, err
}

// there tells whether the session's folder is for sure.
func (x *Session) there() bool {
	is, err := x.store.has(x.rel())
	return is && err == nil
}

// noLog gives a file without a name that stands for a log that is not there.
func noLog() (*os.File, error) {
	fd, err := unix.MemfdCreate("empty log", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, &os.SyscallError{Syscall: "memfd_create", Err: err}
	}
	return os.NewFile(uintptr(fd), "empty log"), nil
}

// recoverLog opens a log to append to. What its recovery sets aside is told by an event once the log is open; for
// events.jsonl itself that is the same log.
func (x *Session) recoverLog(name string) (*appendlog.Log, error) {
	own, perm, err := x.owner()
	if err != nil {
		return nil, err
	}
	rel, prefix, err := x.parts(name)
	if err != nil {
		return nil, err
	}
	there, err := x.store.has(rel)
	if err != nil {
		return nil, err
	}
	if prefix == nil && there {
		// A crash may have left an index beside the plain file.
		if err := errors.Join(x.unlinkIf(x.coldIndex(name)), x.sweepCold(name, -1)); err != nil {
			return nil, err
		}
	}
	if !there { // a session that was made by hand, or the first use since it was archived
		if err := x.emptyLog(rel, perm, own); errors.Is(err, unix.EROFS) {
			return x.readOnlyLog(name, prefix, err)
		} else if err != nil {
			return nil, err
		}
	}
	f, err := x.store.dir.OpenFile(rel, unix.O_RDWR|unix.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.EROFS) { // the disk turned read-only: what is there can be read
		return x.readOnlyLog(name, prefix, err)
	}
	if err != nil {
		return nil, err
	}
	var torn func() error
	l, err := appendlog.NewAfter(prefix, f, func(data []byte, why error) error {
		if u := x.store.host().Unfinished; u != nil && u(x, name) {
			return nil
		}
		where, err := x.store.setAside(x, data) // before it is cut off: a crash in between leaves it twice, never nowhere
		x.store.Stats.Torn.Add(1)
		torn = func() error { return x.quarantined(name, len(data), why, where, err) }
		return err
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	if x.store.memory == nil {
		l.SetSettle(func() error { return x.settle(prefix != nil) })
		if err := l.SetUnflushed(x.store.Unflushed); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	l.SetQuarantine(func(data []byte, why error) error { return x.quarantine(name, data, why) })
	if torn != nil {
		x.Touch() // its end was cut off
		x.opened(name, l)
		_ = torn() // the line is kept; that no event tells of it must not keep the log shut
	}
	return l, nil
}

// readOnlyLog opens a log that can be read, and that refuses appends with the error why until it is opened again. It closes
// prefix, which may be nil: the log is looked up once more.
func (x *Session) readOnlyLog(name string, prefix appendlog.Prefix, why error) (*appendlog.Log, error) {
	if prefix != nil {
		_ = prefix.Close() // it was only read
	}
	l, err := x.viewLog(name)
	if err == nil {
		l.Refuse(why)
	}
	return l, err
}

// settle makes durable by what names a log is found: its file may be new, and behind an archive the plain file counts as
// long as it is there.
func (x *Session) settle(archived bool) error {
	if archived {
		if err := x.store.dir.Sync(x.file(ColdDir)); err != nil {
			return err
		}
	}
	return x.store.dir.Sync(x.rel())
}

// emptyLog makes a log of which nothing is there. A session that was made by hand is as old as before: it may only have
// been looked at.
func (x *Session) emptyLog(rel string, perm uint32, own beneath.Owner) error {
	if path.Dir(rel) != x.rel() {
		return x.store.dir.NewFile(rel, perm, own) // behind archived bytes, an empty file has no say
	}
	a, err := x.attr()
	if err != nil {
		return err
	}
	defer x.Touch()
	if err := x.store.dir.NewFile(rel, perm, own); err != nil {
		return err
	}
	return errors.Join(x.setTime(rel, a.Mtime), x.setTime(x.rel(), a.Mtime))
}

// quarantine keeps what may not enter a log, and says so in events.jsonl.
func (x *Session) quarantine(log string, data []byte, why error) error {
	x.logMu.Lock()
	defer x.logMu.Unlock()
	where, err := x.store.setAside(x, data)
	if errors.Is(why, appendlog.ErrTooLong) {
		x.store.Stats.TooLong.Add(1)
	} else {
		x.store.Stats.NotObject.Add(1)
	}
	return x.quarantined(log, len(data), why, where, err)
}

// quarantined tells of n bytes that were set aside at where, or could not be (failed); logMu is held.
func (x *Session) quarantined(log string, n int, why error, where string, failed error) error {
	fields := map[string]any{"log": log, "bytes": n, "reason": why.Error()}
	if where != "" {
		fields["path"] = where
	}
	if failed != nil {
		fields["error"] = failed.Error()
	}
	return errors.Join(failed, x.eventLocked("ctxfs.line.quarantined", fields))
}

// setAside writes data to the owner's quarantine and gives its path in the store. Of temporary sessions nothing is kept,
// there neither.
func (s *Store) setAside(x *Session, data []byte) (string, error) {
	if s.memory != nil {
		return "", nil
	}
	rel := path.Join(OwnerRel(x.rel()), StateDir, "quarantine", fmt.Sprintf("%s.%s.%s", x.c.Agent, x.Name(), newID()[:16]))
	own, _, err := x.owner()
	if err == nil {
		err = s.Room(rel, int64(len(data)), 1)
	}
	if err != nil {
		return rel, err
	}
	by := Caller{UID: uint32(own.UID), GID: uint32(own.GID)}
	if err := s.MakeDirs(path.Dir(rel), by); err != nil {
		return rel, err
	}
	return rel, s.dir.WriteFile(rel, data, 0o600, own)
}

// rest lets go of what x keeps in memory, and closes its logs unless somebody uses them.
func (x *Session) rest() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.logMu.Lock()
	defer x.logMu.Unlock()
	if x.refs > 0 {
		x.light()
		return
	}
	x.drop()
}

// light forgets what can be made again; mu is held.
func (x *Session) light() {
	x.fold, x.cache, x.cached = nil, nil, 0
	x.weight.Store(0)
}

// shut closes what x holds open.
func (x *Session) shut() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.logMu.Lock()
	defer x.logMu.Unlock()
	x.drop()
}

func (x *Session) drop() {
	for name, l := range x.logs {
		if name == Messages {
			x.added += l.Lines()
		}
		_ = l.Close() // nothing is buffered in the process
		delete(x.logs, name)
	}
	x.light()
}
