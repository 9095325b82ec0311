package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/chunkstore"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// target is where sessions are imported: a mount, or a store that is not mounted.
type target interface {
	// create makes the session, which must not exist yet.
	create(agent, name string) (*sink, error)
	close()
}

// sink writes one session: it is an importer.Sink.
type sink struct {
	dir              string // the session's directory, for people
	messages, events lineWriter
	blobs            blobKeeper
	remove           func() error // takes the session away
	failed           bool         // its import did: half a session would look like a whole one, and hold its name
}

// blobKeeper takes pictures and documents; *chunkstore.Store is one.
type blobKeeper interface {
	Put(data []byte) (cas.ID, error)
	Close() error
}

type lineWriter interface {
	line(data []byte) error
	close() error
}

func (s *sink) Message(line []byte) error { return s.note(s.messages.line(line)) }
func (s *sink) Event(line []byte) error   { return s.note(s.events.line(line)) }

func (s *sink) Blob(data []byte) (string, error) {
	id, err := s.blobs.Put(data)
	return id.String(), s.note(err)
}

func (s *sink) note(err error) error {
	s.failed = s.failed || err != nil
	return err
}

// close ends the session. One whose import failed is taken away.
func (s *sink) close() error {
	err := s.note(errors.Join(s.messages.close(), s.events.close(), s.blobs.Close()))
	if !s.failed {
		return nil
	}
	return errors.Join(err, s.takeAway())
}

// takeAway deletes the session, or says how that is done.
func (s *sink) takeAway() error {
	if err := s.remove(); err != nil {
		return fmt.Errorf("a part of it is in %s, take that away with: ctxfs session delete --yes %s: %w", s.dir, mounts.Quote(s.dir), err)
	}
	return nil
}

func (f *importFlags) target() (target, error) {
	if f.store == "" {
		point, err := pickMount(f.mount)
		if err == nil {
			return newMountTarget(point)
		}
		if f.mount != "" || !errors.Is(err, errNoMount) {
			return nil, err
		}
		f.store = defaultStore()
	}
	store, err := session.Open(f.store, session.Options{})
	if err != nil {
		return nil, err
	}
	return &storeTarget{store: store, by: session.Caller{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}}, nil
}

// mountTarget writes through a mount, with ordinary writes: only the daemon gets at the store behind it.
type mountTarget struct{ point string }

func newMountTarget(point string) (*mountTarget, error) {
	if _, err := mounts.Status(point); err != nil {
		return nil, err
	}
	return &mountTarget{point: point}, nil
}

func (m *mountTarget) close() {}

// mountBlobs hands blobs to the daemon: each is a temporary file of the session, which it then keeps.
type mountBlobs struct{ dir string }

func (b mountBlobs) Put(data []byte) (cas.ID, error) {
	id := cas.Sum(data)
	name := session.BlobPrefix + id.String()
	if err := os.WriteFile(filepath.Join(b.dir, name), data, 0o600); err != nil {
		return id, err
	}
	return id, mountOrder(b.dir, "keep "+name)
}

func (mountBlobs) Close() error { return nil }

func (m *mountTarget) create(agent, name string) (*sink, error) {
	dir := ownDir(m.point, agent, name)
	if err := makeSession(dir); err != nil {
		return nil, existsHint(err, name)
	}
	messages, err := openAppend(filepath.Join(dir, session.Messages))
	if err != nil {
		return nil, err
	}
	events, err := openAppend(filepath.Join(dir, session.Events))
	if err != nil {
		_ = messages.close()
		return nil, err
	}
	return &sink{dir: dir, messages: messages, events: events, blobs: mountBlobs{dir}, remove: func() error { return deleteClosed(dir) }}, nil
}

// deleteClosed deletes a session whose files were closed just now: the kernel tells the daemon so a little later.
func deleteClosed(dir string) error {
	for wait := time.Millisecond; ; wait *= 2 {
		err := mountOrder(dir, "delete")
		if !errors.Is(err, unix.EBUSY) || wait > time.Second {
			return err
		}
		time.Sleep(wait)
	}
}

// ownDir is the folder of a session of the caller's in a mount.
func ownDir(point, agent, name string) string {
	return place{root: point, owner: ownHome(), kind: ofAgent, agent: agent, folder: permanent, session: name}.dir()
}

// makeSession makes a session, which must not exist yet, and its agent.
func makeSession(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	return os.Mkdir(dir, 0o700)
}

func existsHint(err error, name string) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: nothing was imported; choose another name with --session (%s is taken)", err, name)
	}
	return err
}

// fileLines appends lines to a file, many in one write.
type fileLines struct {
	f *os.File
	w *bufio.Writer
}

func openAppend(name string) (*fileLines, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	return &fileLines{f: f, w: bufio.NewWriterSize(f, 1<<20)}, nil
}

func (l *fileLines) line(data []byte) error {
	if _, err := l.w.Write(data); err != nil {
		return err
	}
	return l.w.WriteByte('\n')
}

func (l *fileLines) close() error { return errors.Join(l.w.Flush(), l.f.Sync(), l.f.Close()) }

// storeTarget writes into a store that nothing else holds.
type storeTarget struct {
	store *session.Store
	by    session.Caller
}

func (s *storeTarget) close() { _ = s.store.Close() }

func (s *storeTarget) create(agent, name string) (*sink, error) {
	owner := path.Join("home", strconv.Itoa(int(s.by.UID)))
	c, err := s.store.Container(path.Join(owner, "agent", agent))
	if err != nil {
		return nil, err
	}
	x, err := c.Create(name, s.by)
	if err != nil {
		return nil, existsHint(err, name)
	}
	blobs, err := session.OpenCold(s.store.Dir(), owner, chunkstore.Options{Owner: beneath.Owner{UID: int(s.by.UID), GID: int(s.by.GID)}})
	if err != nil {
		return nil, err
	}
	return &sink{dir: filepath.Join(s.store.Path(), x.Rel()), messages: &logLines{x: x, name: session.Messages}, events: &logLines{x: x, name: session.Events}, blobs: blobs,
		remove: func() error { return c.Delete(name) }}, nil
}

// logLines commits lines to a log of a session, about a megabyte at a time.
type logLines struct {
	x    *session.Session
	name string
	buf  []byte
}

func (l *logLines) line(data []byte) error {
	l.buf = append(append(l.buf, data...), '\n')
	if len(l.buf) < 1<<20 {
		return nil
	}
	return l.flush()
}

func (l *logLines) flush() error {
	if len(l.buf) == 0 {
		return nil
	}
	log, err := l.x.Log(l.name)
	if err != nil {
		return err
	}
	defer l.x.Release()
	err = log.Commit(l.buf)
	l.buf = l.buf[:0]
	return err
}

func (l *logLines) close() error {
	if err := l.flush(); err != nil {
		return err
	}
	log, err := l.x.Log(l.name)
	if err != nil {
		return err
	}
	defer l.x.Release()
	return log.Sync()
}
