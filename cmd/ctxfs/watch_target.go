package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ctxfs/internal/mounts"
	"ctxfs/internal/session"
	"ctxfs/internal/watch"
)

// watchTarget is the mount that logs are followed into: each session is written with ordinary appends.
type watchTarget struct {
	point string
	tell  func(format string, args ...any)
}

// Open opens a session.
func (t *watchTarget) Open(agent, name string) (watch.Session, error) {
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
		err = fmt.Errorf("%s: %w", t.point, errNoMount)
	}
	return err
}

// Make makes a session.
func (t *watchTarget) Make(agent, name string) (watch.Session, error) {
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

// watched is an open session.
type watched struct {
	dir  string
	logs map[string]*os.File
}

func openWatched(dir string) (*watched, error) {
	s := &watched{dir: dir, logs: map[string]*os.File{}}
	for _, log := range []string{watch.Messages, watch.Events} {
		f, err := os.OpenFile(filepath.Join(dir, log), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.logs[log] = f
	}
	return s, nil
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

// Sync brings both logs to disk.
func (s *watched) Sync() error {
	var errs []error
	for _, log := range []string{watch.Messages, watch.Events} {
		errs = append(errs, s.logs[log].Sync())
	}
	return errors.Join(errs...)
}

// Close closes both logs.
func (s *watched) Close() error {
	var errs []error
	for _, log := range []string{watch.Messages, watch.Events} {
		if f := s.logs[log]; f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
