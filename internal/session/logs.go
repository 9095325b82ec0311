package session

import (
	"fmt"
	"path"

	"ctxfs/internal/appendlog"

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
	x.store.used(x)
	return l, nil
}

// Release gives a log back.
func (x *Session) Release() {
	x.logMu.Lock()
	x.refs--
	x.logMu.Unlock()
}

// openLog gives the open log; logMu is held.
func (x *Session) openLog(name string) (*appendlog.Log, error) {
	if l := x.logs[name]; l != nil {
		return l, nil
	}
	open := x.recoverLog
	if x.store.opt.ReadOnly {
		open = x.viewLog
	}
	l, err := open(name)
	if err == nil {
		x.logs[name] = l
	}
	return l, err
}

// viewLog opens a log to look at.
func (x *Session) viewLog(name string) (*appendlog.Log, error) {
	f, err := x.store.dir.OpenFile(x.file(name), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	l, err := appendlog.NewReader(nil, f)
	if err != nil {
		f.Close()
	}
	return l, err
}

// recoverLog opens a log to append to. What its recovery sets aside is told by an event once the log is open; for
// events.jsonl itself that is the same log.
func (x *Session) recoverLog(name string) (*appendlog.Log, error) {
	own, perm, err := x.owner()
	if err != nil {
		return nil, err
	}
	if !x.store.exists(x.file(name)) { // a session that was made by hand
		if err := x.emptyFile(name, perm, own); err != nil {
			return nil, err
		}
	}
	f, err := x.store.dir.OpenFile(x.file(name), unix.O_RDWR|unix.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	var torn []byte
	var why error
	l, err := appendlog.New(f, func(data []byte, w error) { torn, why = data, w })
	if err != nil {
		f.Close()
		return nil, err
	}
	l.SetQuarantine(func(data []byte, why error) { x.quarantine(name, data, why) })
	if torn != nil {
		x.logs[name] = l
		x.quarantineLocked(name, torn, why)
	}
	return l, nil
}

// quarantine keeps what may not enter a log, and says so in events.jsonl.
func (x *Session) quarantine(log string, data []byte, why error) {
	x.logMu.Lock()
	defer x.logMu.Unlock()
	x.quarantineLocked(log, data, why)
}

func (x *Session) quarantineLocked(log string, data []byte, why error) {
	x.store.Stats.Quarantined.Add(1)
	where, err := x.store.setAside(x, data)
	fields := map[string]any{"log": log, "bytes": len(data), "reason": why.Error(), "path": where}
	if err != nil {
		// The bytes cannot be kept (a full disk): say what was lost as far as an event line can hold it.
		fields["error"] = err.Error()
	}
	_ = x.eventLocked("ctxfs.line.quarantined", fields) // the writer already gets the error of its own line
}

// setAside writes data to the owner's quarantine and gives its path in the store.
func (s *Store) setAside(x *Session, data []byte) (string, error) {
	rel := path.Join(OwnerRel(x.rel()), StateDir, "quarantine", fmt.Sprintf("%s.%s.%s", x.c.Agent, x.Name(), newID()[:16]))
	own, _, err := x.owner()
	if err != nil {
		return rel, err
	}
	by := Caller{UID: uint32(own.UID), GID: uint32(own.GID)}
	if err := s.MakeDirs(path.Dir(rel), by); err != nil {
		return rel, err
	}
	return rel, s.dir.WriteFile(rel, data, 0o600, own)
}

// maxIdle is how many sessions keep their logs and folds while nobody uses them.
const maxIdle = 128

// used puts x at the end of the queue of idle sessions, and shuts those that have waited longest.
func (s *Store) used(x *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 && s.idle[n-1] == x {
		return
	}
	for i, y := range s.idle {
		if y == x {
			s.idle = append(s.idle[:i], s.idle[i+1:]...)
			break
		}
	}
	s.idle = append(s.idle, x)
	if len(s.idle) > maxIdle {
		old := s.idle[0]
		s.idle = s.idle[1:]
		// Its locks may be held by a caller that waits for ours: never wait for them here.
		go old.rest()
	}
}

// rest closes what x holds open, unless somebody uses it.
func (x *Session) rest() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.logMu.Lock()
	defer x.logMu.Unlock()
	if x.refs > 0 {
		return
	}
	x.drop()
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
		_ = l.Close() // nothing is buffered in the process
		delete(x.logs, name)
	}
	x.fold, x.cache = nil, map[string]view{}
}
