package session

import (
	"bytes"

	"ctxfs/internal/appendlog"
)

// Append adds whole lines, each a JSON object with its '\n', to a log of the session, as the daemon's own hand. They are
// on disk after Sync.
func (x *Session) Append(log string, lines []byte) error {
	l, err := x.Log(log)
	if err != nil {
		return err
	}
	defer x.Release()
	if err := l.Commit(lines); err != nil {
		return err
	}
	x.store.Stats.Appended.Add(bytes.Count(lines, []byte{'\n'}), len(lines))
	x.Appended(log)
	x.changed(log)
	return nil
}

// Sync returns when all lines of the log are on disk.
func (x *Session) Sync(log string) error {
	return x.withLog(log, (*appendlog.Log).Sync)
}

// ReadLog reads the log's bytes at off, as io.ReaderAt.
func (x *Session) ReadLog(log string, p []byte, off int64) (n int, err error) {
	err = x.withLog(log, func(l *appendlog.Log) (err error) { n, err = l.ReadAt(p, off); return err })
	return n, err
}

// LogSize is the length of the log in bytes; only whole lines count.
func (x *Session) LogSize(log string) (size int64, err error) {
	err = x.withLog(log, func(l *appendlog.Log) error { size = l.Size(); return nil })
	return size, err
}

func (x *Session) withLog(log string, fn func(*appendlog.Log) error) error {
	l, err := x.Log(log)
	if err != nil {
		return err
	}
	defer x.Release()
	return fn(l)
}

// Watch wakes the channel whenever messages.jsonl grew, until stop is called. A channel that is full is awake already.
func (x *Session) Watch(wake chan<- struct{}) (stop func()) {
	x.watchMu.Lock()
	defer x.watchMu.Unlock()
	if x.watchers == nil {
		x.watchers = map[chan<- struct{}]bool{}
	}
	x.watchers[wake] = true
	return func() {
		x.watchMu.Lock()
		defer x.watchMu.Unlock()
		delete(x.watchers, wake)
	}
}

func (x *Session) wake() {
	x.watchMu.Lock()
	defer x.watchMu.Unlock()
	for c := range x.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// CheckCWD gives the clean form of a cwd of the agent's sessions, or why it cannot be one: ENOENT, Denied or Invalid
// (Session ABI).
func (c *Container) CheckCWD(cwd string, by Caller) (string, error) {
	data, err := checkCWD(&Session{store: c.store, c: c}, []byte(cwd), by)
	if err != nil {
		return "", err
	}
	return string(data[:len(data)-1]), nil
}
