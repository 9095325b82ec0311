package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ctxfs/internal/intake"
)

// state remembers logs that were read to their end, so that a restart need not read them. It is a hint: without it, or
// with an older one, what is in the sessions decides.
type state struct {
	path  string
	store string // that it is of
	logs  map[string]seenLog
	dirty bool
}

// seenLog is a log as it was when all of it was on disk.
type seenLog struct {
	fileID
	Size    int64       `json:"size"`
	ModNS   int64       `json:"mtime_ns"`
	Agent   string      `json:"agent"`
	Session string      `json:"session"` // "" when nothing was to be written
	Mark    intake.Mark `json:"mark"`    // of the session
	parentage

	// Of a document: what shows a change, and the file that it is in.
	Stamp string `json:"stamp,omitempty"`
	File  string `json:"file,omitempty"`
}

// gone reports whether the log at path, or the file of the document, is not there any more.
func (l seenLog) gone(path string) bool {
	if l.File != "" {
		path = l.File
	}
	return gone(path)
}

// stateFile is the form of the file.
type stateFile struct {
	Version int                `json:"version"`
	Store   string             `json:"store"`
	Logs    map[string]seenLog `json:"logs"` // by path
}

// version is that of the file's form.
const version = 2

// openState reads the state. One that cannot be read counts for nothing.
func openState(path string, fresh bool) (*state, error) {
	st := &state{path: path, logs: map[string]seenLog{}}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path) // #nosec G304 -- the user's own
	if errors.Is(err, fs.ErrNotExist) || fresh {
		return st, nil
	}
	if err != nil {
		return nil, err
	}
	var f stateFile
	if json.Unmarshal(data, &f) == nil && f.Version == version && f.Logs != nil {
		st.store, st.logs = f.Store, f.Logs
	}
	return st, nil
}

// arrive forgets what was read into another store.
func (st *state) arrive(store string) {
	if st.store != store {
		st.store, st.logs, st.dirty = store, map[string]seenLog{}, len(st.logs) > 0
	}
}

// same gives how a log was when all of it was read; ok tells whether it still is so.
func (st *state) same(log found) (old seenLog, ok bool) {
	now, err := os.Stat(log.path)
	if err != nil {
		return old, false
	}
	old, ok = st.logs[log.path]
	return old, ok && old.fileID == idOf(now) && old.Size == now.Size() && old.ModNS == now.ModTime().UnixNano()
}

// taken tells whether a session is that of a log at another path, which is there.
func (st *state) taken(agent, name, path string) bool {
	for other, log := range st.logs {
		if other != path && log.Agent == agent && log.Session == name && !log.gone(other) {
			return true
		}
	}
	return false
}

// done notes that a log was read as far as its whole lines go.
func (st *state) done(f *follower) {
	now, err := os.Stat(f.log.path)
	if err != nil || now.Size() != f.size || idOf(now) != f.id {
		return // it has changed since
	}
	seen := seenLog{fileID: f.id, Size: f.size, ModNS: now.ModTime().UnixNano(), Agent: f.sink.Agent(), parentage: f.parent}
	if x := f.sink.Session(); x != nil {
		seen.Session = f.sink.Name()
		if seen.Mark, err = x.Mark(); err != nil {
			return // it is read again
		}
	}
	f.w.checked[f.log.path] = true
	st.logs[f.log.path], st.dirty = seen, true
}

// save writes the state in one step.
func (st *state) save() error {
	if !st.dirty {
		return nil
	}
	for path, log := range st.logs {
		if log.gone(path) {
			delete(st.logs, path)
		}
	}
	data, err := json.MarshalIndent(stateFile{version, st.store, st.logs}, "", " ")
	if err != nil {
		return err
	}
	temp := st.path + ".new"
	if err := os.WriteFile(temp, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("the state of watch: %w", err)
	}
	st.dirty = false
	return os.Rename(temp, st.path)
}
