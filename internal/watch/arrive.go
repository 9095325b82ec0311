package watch

import (
	"errors"
	"io/fs"
)

// arrive sees where the sessions are. Where that changed, all are let go: what is open would hold what they were in.
func (w *Watcher) arrive() error {
	now, err := w.store.Here()
	if err == nil && now == w.here {
		return nil
	}
	for path := range w.logs {
		_ = w.drop(path) // what it held back is read again
	}
	clear(w.checked)
	clear(w.lost)
	clear(w.names)
	clear(w.tries)
	if w.here = now; err == nil {
		w.state.arrive(now.Store)
	}
	return err
}

// same tells whether a log is as it was when all of it was read, and its session has what it had then. A session that was
// deleted stays so.
func (w *Watcher) same(log found) bool {
	old, ok := w.state.same(log)
	if !ok || old.Agent != w.agent(log.format) {
		return false
	}
	if id := w.state.logs[old.Log].Mark.ID; id != "" && id != old.parentage.ID {
		return false // the parent's session came, or is another
	}
	return w.holds(log.path, old)
}

// holds reports whether the session of a log, or of a document, has what it had when all of it was read. One that was deleted counts
// as such.
func (w *Watcher) holds(path string, old seenLog) bool {
	if old.Session == "" || w.checked[path] {
		return true
	}
	mark, err := w.store.Mark(old.Agent, old.Session)
	if errors.Is(err, fs.ErrNotExist) {
		name := w.named(old.Agent, path)
		if name == "" {
			w.checked[path], w.lost[path] = true, true
			return true
		}
		mark, err = w.store.Mark(old.Agent, name)
	}
	if err != nil || mark.ID != old.Mark.ID || mark.Messages < old.Mark.Messages || mark.Events < old.Mark.Events {
		return false
	}
	w.checked[path] = true
	return true
}

// named gives the name that the session of a log has now, "" when it is not known or not there.
func (w *Watcher) named(agent, path string) string {
	old := w.state.logs[path]
	if old.Agent != agent || old.Mark.ID == "" {
		return ""
	}
	is := func(name string) bool {
		mark, err := w.store.Mark(agent, name)
		return err == nil && mark.ID == old.Mark.ID
	}
	if is(old.Session) {
		return old.Session
	}
	for range 2 {
		if w.names[agent] == nil {
			names, err := w.store.Names(agent)
			if err != nil {
				return ""
			}
			w.names[agent] = names
		}
		name := w.names[agent][old.Mark.ID]
		if name == "" || is(name) {
			return name
		}
		delete(w.names, agent) // renamed again
	}
	return ""
}
