// Package watch follows the logs of other agents on this host into sessions, as they are written.
//
// What stands in a session tells how far its log was read: records name the line that they come from. So a watch that was
// killed at any point reads the log again from its start, leaves out what the session has, and goes on; nothing is written
// twice. The state file only spares it that for logs which have not changed.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"ctxfs/internal/importer"
)

// Config says what is followed.
type Config struct {
	Sources   []Source
	Libraries []Library
	Agent     string                          // that gets all sessions; "": one named after each format
	Name      func(path string, n int) string // of a log's session; n counts from 1 those that stood at that path
	State     string                          // the state file
	Fresh     bool                            // the state file is not read
	Tell      func(format string, args ...any)

	// Sync is how long a log must not grow before what was appended is synced, and before the last message of a turn is
	// written. Settle is the same for a message that may still go on: longer than a model pauses in a message, or the message
	// becomes two records. Poll is how often all folders are listed, whatever inotify reports. Idle is how long a log that does
	// not grow stays open.
	Sync, Settle, Poll, Idle time.Duration
}

// Watcher follows logs.
type Watcher struct {
	cfg   Config
	store Store
	state *state
	logs  map[string]*follower // by path
	told  map[string]string    // by path, "" of none: the last error that was told, while it lasts
	heads map[string]head      // by path: what the head of a log told

	here    Here
	checked map[string]bool              // logs at rest whose session was looked at, since here is
	lost    map[string]bool              // those whose session is not there
	names   map[string]map[string]string // by agent: Names, while all logs are gone through

	tries     map[string]try       // by the path of a document
	dirty     map[string]bool      // libraries that changed, by their files
	collected map[string]time.Time // when each was looked at last
}

// New reads the state.
func New(cfg Config, store Store) (*Watcher, error) {
	st, err := openState(cfg.State, cfg.Fresh)
	if err != nil {
		return nil, err
	}
	return &Watcher{cfg: cfg, store: store, state: st, logs: map[string]*follower{}, told: map[string]string{}, heads: map[string]head{},
		checked: map[string]bool{}, lost: map[string]bool{}, names: map[string]map[string]string{},
		tries: map[string]try{}, dirty: map[string]bool{}, collected: map[string]time.Time{}}, nil
}

// Once reads all that stands in the logs now, and writes all of it. What cannot be read is among its errors.
func (w *Watcher) Once() error {
	if err := w.arrive(); err != nil {
		return err
	}
	list, errs := w.find()
	for _, log := range list {
		err := w.step(log)
		if f := w.logs[log.path]; f != nil && err == nil {
			err = f.settle()
		}
		errs = append(errs, err, w.drop(log.path))
	}
	for _, l := range w.cfg.Libraries {
		errs = append(errs, w.collect(l)...)
	}
	if len(w.lost) > 0 {
		w.cfg.Tell("deleted sessions that stay so until their logs grow, or --rescan: %d", len(w.lost))
	}
	return errors.Join(append(errs, w.state.save())...)
}

// Run follows the logs until ctx is done. A log that cannot be read, or a session that cannot be written, is told of and
// tried again. What is held back at the end, the next Run reads again.
func (w *Watcher) Run(ctx context.Context) error {
	n := newNotifier()
	defer n.close()
	for next := time.Now(); ctx.Err() == nil; {
		if now := time.Now(); !now.Before(next) {
			next = now.Add(w.cfg.Poll)
			if !w.look(ctx, n) {
				next = now.Add(min(w.cfg.Poll, awayPoll))
			}
		}
		for _, path := range slices.Sorted(maps.Keys(w.logs)) {
			w.tell(path, w.care(path))
		}
		w.collectDirty()
		w.tell(w.cfg.State, w.state.save())
		for _, path := range n.wait(ctx, w.pause(next)) {
			if path == "" || w.arrive() != nil {
				next = time.Now() // a folder came, or the kernel lost count, or the mount is gone
				break
			}
			w.touched(path)
			log, err := w.logOf(path)
			if err == nil && log.format != "" {
				err = w.step(log)
			}
			w.tell(path, err)
		}
	}
	var errs []error
	for path := range w.logs {
		errs = append(errs, w.drop(path))
	}
	return errors.Join(append(errs, w.state.save())...)
}

// awayPoll is how often it is looked whether sessions that could not be reached can be reached again.
const awayPoll = time.Second

// look goes through all logs; here is false when the sessions cannot be reached.
func (w *Watcher) look(ctx context.Context, n *notifier) (here bool) {
	if err := w.arrive(); err != nil {
		w.tell("", err)
		return false
	}
	delete(w.told, "")
	for _, s := range w.cfg.Sources {
		n.cover(s)
	}
	clear(w.names)
	for _, l := range w.cfg.Libraries {
		n.coverLibrary(l)
		w.collectNow(l)
	}
	list, errs := w.find()
	for _, err := range errs {
		w.tell(err.Error(), err)
	}
	for _, log := range list {
		if ctx.Err() != nil {
			return true
		}
		w.tell(log.path, w.step(log))
		w.tell(log.path, w.care(log.path)) // one that is at rest is let go before the next is opened
	}
	for _, path := range slices.Sorted(maps.Keys(w.logs)) {
		if f := w.logs[path]; gone(path) && f.retry.IsZero() {
			w.tell(path, errors.Join(f.settle(), w.drop(path)))
		}
	}
	return true
}

// gone tells whether nothing stands at a path any more.
func gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// pause is how long there is nothing to do, unless something changes.
func (w *Watcher) pause(next time.Time) time.Duration {
	for _, f := range w.logs {
		if at := f.due(); !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	if at := w.dueLibrary(); !at.IsZero() && at.Before(next) {
		next = at
	}
	return max(time.Until(next), time.Millisecond)
}

// tell says what went wrong with a log, once until it goes well again.
func (w *Watcher) tell(path string, err error) {
	if err == nil {
		return
	}
	if s := err.Error(); s != w.told[path] {
		w.told[path] = s
		w.cfg.Tell("%s", s)
	}
}

// step reads what is new in a log.
func (w *Watcher) step(log found) error {
	f := w.logs[log.path]
	if f == nil {
		if w.same(log) {
			return nil
		}
		delete(w.checked, log.path)
		delete(w.lost, log.path)
		f = w.newFollower(log)
		w.logs[log.path] = f
	}
	if time.Now().Before(f.retry) {
		return nil
	}
	if f.rests() {
		f.retry = time.Now().Add(maxWait)
		return nil
	}
	if err := f.step(); err != nil {
		f.fail(err)
		return fmt.Errorf("%s: %w", log.path, err)
	}
	f.retry, f.refused = time.Time{}, nil
	return nil
}

// care does what is due for a log that does not grow now.
func (w *Watcher) care(path string) error {
	f := w.logs[path]
	if f == nil {
		return nil
	}
	if !f.retry.IsZero() {
		return w.step(f.log)
	}
	quiet := time.Since(f.grew)
	var err error
	switch {
	case f.waits() && quiet >= f.patience():
		err = f.settle()
	case f.unsynced && quiet >= w.cfg.Sync, f.orphaned():
		err = f.sync()
	}
	if err != nil {
		f.fail(err)
		return fmt.Errorf("%s: %w", path, err)
	}
	if quiet >= w.cfg.Idle {
		return w.drop(path)
	}
	return nil
}

// drop lets go of a log.
func (w *Watcher) drop(path string) error {
	f := w.logs[path]
	if f == nil {
		return nil
	}
	delete(w.logs, path)
	return f.close()
}

// taken tells whether a session is that of a log at another path, which is there. If it is not, the log may have moved.
func (w *Watcher) taken(agent, name, path string) bool {
	for other, f := range w.logs {
		if other == path || f.sink == nil || !f.sink.Is(agent, name) {
			continue
		}
		if !gone(other) {
			return true
		}
		if st, err := os.Lstat(path); err != nil || idOf(st) != f.id { // what it held back, path does not hold
			w.tell(other, f.settle())
		}
		w.tell(other, w.drop(other))
	}
	return w.state.taken(agent, name, path)
}

// agent gives the agent that a log's session belongs to.
func (w *Watcher) agent(f importer.Format) string {
	if w.cfg.Agent != "" {
		return w.cfg.Agent
	}
	return string(f)
}
