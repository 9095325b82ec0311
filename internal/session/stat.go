package session

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// Updated is when the session last changed: the newest of its history and its own files (Session ABI, updated_at).
func (x *Session) Updated() (t time.Time, err error) {
	err = x.steady(func() error { t, err = x.store.updated(x.rel()); return err })
	return t, err
}

// LogStat gives the length of a log in bytes, whole lines only, and when it last grew.
func (x *Session) LogStat(name string) (int64, time.Time, error) {
	var st unix.Stat_t
	err := x.steady(func() (err error) { st, err = x.store.dir.Stat(x.file(name)); return err })
	if errors.Is(err, fs.ErrNotExist) {
		t, err := x.Updated()
		return 0, t, err
	}
	if err != nil {
		return 0, time.Time{}, err
	}
	size := st.Size
	x.logMu.Lock()
	if l := x.logs[name]; l != nil {
		size = l.Size()
	}
	x.logMu.Unlock()
	return size, timeOf(st.Mtim), nil
}
