package session

import (
	"errors"
	"io/fs"
	"path"
	"time"
)

// Updated is when the session last changed: the newest of its history and its own files (Session ABI, updated_at).
func (x *Session) Updated() (t time.Time, err error) {
	err = x.steady(func() error { t, err = x.store.updated(x.rel()); return err })
	return t, err
}

// LogStat gives the length of a log in bytes, whole lines only, and when it last grew.
func (x *Session) LogStat(name string) (int64, time.Time, error) {
	var size int64
	var grew time.Time
	err := x.steady(func() (err error) { size, grew, err = x.store.logStat(x.rel(), name); return err })
	if errors.Is(err, fs.ErrNotExist) {
		t, err := x.Updated()
		return 0, t, err
	}
	if err != nil {
		return 0, time.Time{}, err
	}
	x.logMu.Lock()
	if l := x.logs[name]; l != nil {
		size = l.Size()
	}
	x.logMu.Unlock()
	return size, grew, nil
}

// logStat is LogStat by the store's files alone, for the session at rel: a torn line counts.
func (s *Store) logStat(rel, name string) (int64, time.Time, error) {
	for again := false; ; again = true {
		st, err := s.dir.Stat(path.Join(rel, name))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return st.Size, timeOf(st.Mtim), err
		}
		size, t, err := s.coldStat(rel, name)
		if again || !errors.Is(err, fs.ErrNotExist) {
			return size, t, err // else it got its plain file back meanwhile, or there is no log
		}
	}
}
