package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ctxfs/internal/importer"
	"ctxfs/internal/intake"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"
	"ctxfs/internal/watch"

	"golang.org/x/sys/unix"
)

// watchTarget is the mount that logs are followed into: each session is written with ordinary appends.
type watchTarget struct {
	point string
	tell  func(format string, args ...any)
	here  watch.Here // as it was last
}

// Open opens a session.
func (t *watchTarget) Open(agent, name string) (intake.Session, error) {
	if err := t.mounted(); err != nil {
		return nil, err
	}
	if err := session.CheckSessionName(name); err != nil {
		return nil, err
	}
	dir := ownDir(t.point, agent, name)
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	return openWatched(dir)
}

// mounted tells whether the mount is there: without it, a session that is there would look as if it were not, and a new
// one would be an ordinary folder.
func (t *watchTarget) mounted() error {
	m, ok, err := mounts.At(t.point)
	if err == nil && (!ok || m.Point != t.point) {
		err = noMount{point: t.point}
	}
	return err
}

// Here tells what is mounted, and since when: the root's time is the daemon's start.
func (t *watchTarget) Here() (watch.Here, error) {
	st, err := os.Stat(t.point)
	if err != nil {
		return watch.Here{}, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return watch.Here{}, errors.ErrUnsupported
	}
	mount := fmt.Sprintf("%d %d", sys.Dev, st.ModTime().UnixNano())
	if mount == t.here.Mount {
		return t.here, nil
	}
	if err := t.mounted(); err != nil {
		return watch.Here{}, err
	}
	status, err := mounts.Status(t.point)
	if err != nil {
		return watch.Here{}, err
	}
	t.here = watch.Here{Mount: mount, Store: storeMark(status["store"])}
	return t.here, nil
}

// storeMark tells a store from another one at its place: by when its folder was made, as far as the caller may look.
func storeMark(store string) string {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, store, 0, unix.STATX_INO|unix.STATX_BTIME, &st) != nil {
		return ""
	}
	return fmt.Sprintf("%d %d.%09d", st.Ino, st.Btime.Sec, st.Btime.Nsec)
}

// Mark tells what a session is now.
func (t *watchTarget) Mark(agent, name string) (intake.Mark, error) {
	return markOf(ownDir(t.point, agent, name))
}

func markOf(dir string) (intake.Mark, error) {
	id, err := sessionID(dir)
	if err != nil {
		return intake.Mark{}, err
	}
	return mark(id, func(log string) (os.FileInfo, error) { return os.Stat(filepath.Join(dir, log)) })
}

// mark is that of the session with that id, whose logs stat tells of.
func mark(id string, stat func(log string) (os.FileInfo, error)) (intake.Mark, error) {
	m := intake.Mark{ID: id}
	for log, size := range map[string]*int64{intake.Messages: &m.Messages, intake.Events: &m.Events} {
		st, err := stat(log)
		if err != nil {
			return m, err
		}
		*size = st.Size()
	}
	return m, nil
}

// sessionID reads a session's own id.
func sessionID(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		return "", err
	}
	var meta struct{ ID string }
	_ = json.Unmarshal(data, &meta) // an id that is no text is none
	return meta.ID, nil
}

// Names gives the names of an agent's sessions by their own ids.
func (t *watchTarget) Names(agent string) (map[string]string, error) {
	dir := filepath.Dir(ownDir(t.point, agent, "x"))
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, e := range list {
		if id, err := sessionID(filepath.Join(dir, e.Name())); err == nil && id != "" { // what is no session has none
			names[id] = e.Name()
		}
	}
	return names, nil
}

// Make makes a session.
func (t *watchTarget) Make(agent, name string) (intake.Session, error) {
	if err := t.mounted(); err != nil {
		return nil, err
	}
	dir := ownDir(t.point, agent, name)
	if err := makeSession(dir); err != nil {
		return nil, err
	}
	t.tell("new session %s", dir)
	return openWatched(dir)
}

// watched is an open session. It holds a lock of its messages, flock(2): what another watch makes of the session's records
// would be old when it writes, whatever state file it has.
type watched struct {
	dir  string
	id   string
	logs map[string]*os.File
}

func openWatched(dir string) (*watched, error) {
	id, err := sessionID(dir)
	if err != nil {
		return nil, err
	}
	s := &watched{dir: dir, id: id, logs: map[string]*os.File{}}
	for _, log := range []string{intake.Messages, intake.Events} {
		f, err := os.OpenFile(filepath.Join(dir, log), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.logs[log] = f
	}
	if err := lockNow(s.logs[intake.Messages], "another ctxfs watch or import writes this session"); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Mark tells what the session is now, whatever its name is.
func (s *watched) Mark() (intake.Mark, error) {
	return mark(s.id, func(log string) (os.FileInfo, error) { return s.logs[log].Stat() })
}

// Read reads a log.
func (s *watched) Read(log string, fn func(line []byte) error) error {
	f, err := os.Open(filepath.Join(s.dir, log))
	if err != nil {
		return err
	}
	defer f.Close()
	return eachLine(f, fn)
}

// maxWrite is how much the daemon takes in one request: what a kill leaves of that is whole or nothing.
const maxWrite = 1 << 20

// Append appends lines, as many in one write(2) as fit into one request.
func (s *watched) Append(log string, lines []byte) error {
	for len(lines) > 0 {
		n := len(lines)
		if n > maxWrite {
			if n = bytes.LastIndexByte(lines[:maxWrite], '\n') + 1; n == 0 {
				n = bytes.IndexByte(lines, '\n') + 1
			}
		}
		if _, err := s.logs[log].Write(lines[:n]); err != nil {
			return err
		}
		lines = lines[n:]
	}
	return nil
}

// Blob hands data to the daemon.
func (s *watched) Blob(data []byte) error {
	_, err := mountBlobs{s.dir}.Put(data)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Describe enters what a log says of the session into its meta.json. A daemon of an older version cannot; the session is
// as good without.
func (s *watched) Describe(rep importer.Report) error {
	order, err := described(rep).Order()
	if err != nil {
		return err
	}
	if err = mountOrder(s.dir, order); errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}

// Sync brings both logs to disk.
func (s *watched) Sync() error {
	var errs []error
	for _, log := range []string{intake.Messages, intake.Events} {
		errs = append(errs, s.logs[log].Sync())
	}
	return errors.Join(errs...)
}

// Close closes both logs.
func (s *watched) Close() error {
	var errs []error
	for _, log := range []string{intake.Messages, intake.Events} {
		if f := s.logs[log]; f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
