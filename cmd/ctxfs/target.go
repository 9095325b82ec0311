package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/chunkstore"
	"ctxfs/internal/importer"
	"ctxfs/internal/intake"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// target is where sessions are imported: a mount, or a store that is not mounted.
type target interface {
	intake.Store
	// dir is a session's directory, for people.
	dir(agent, name string) string
	remove(agent, name string) error
	close()
}

// takeAway deletes a session whose import failed, or says how that is done.
func takeAway(to target, agent, name string) error {
	if err := to.remove(agent, name); err != nil {
		dir := to.dir(agent, name)
		return fmt.Errorf("a part of it is in %s, delete that with: ctxfs session delete --yes %s: %w", dir, mounts.Quote(dir), err)
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

// mountTarget writes through a mount, with ordinary writes, as watch does: only the daemon gets at the store behind it.
type mountTarget struct {
	watchTarget
	named string // the mountpoint, as the caller named it
}

func newMountTarget(point string) (*mountTarget, error) {
	if _, err := mounts.Status(point); err != nil {
		return nil, err
	}
	return &mountTarget{watchTarget{point: mounts.Real(point), tell: func(string, ...any) {}}, point}, nil
}

func (m *mountTarget) close() {}

func (m *mountTarget) dir(agent, name string) string { return ownDir(m.named, agent, name) }

func (m *mountTarget) remove(agent, name string) error { return deleteClosed(m.dir(agent, name)) }

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

func (s *storeTarget) dir(agent, name string) string {
	return filepath.Join(s.store.Path(), s.owner(), "agent", agent, "session", name)
}

func (s *storeTarget) owner() string { return path.Join("home", strconv.Itoa(int(s.by.UID))) }

func (s *storeTarget) remove(agent, name string) error {
	c, err := s.container(agent)
	if err != nil {
		return err
	}
	return c.Delete(name)
}

func (s *storeTarget) container(agent string) (*session.Container, error) {
	return s.store.Container(path.Join(s.owner(), "agent", agent))
}

// Open opens a session.
func (s *storeTarget) Open(agent, name string) (intake.Session, error) {
	c, err := s.container(agent)
	if err != nil {
		return nil, err
	}
	x, err := c.Session(name)
	if err != nil {
		return nil, err
	}
	return &stored{x: x, to: s}, nil
}

// Make makes a session.
func (s *storeTarget) Make(agent, name string) (intake.Session, error) {
	c, err := s.container(agent)
	if err != nil {
		return nil, err
	}
	x, err := c.Create(name, s.by)
	if err != nil {
		return nil, err
	}
	return &stored{x: x, to: s}, nil
}

// stored is a session of a store that is not mounted. The lock of the store keeps others from it.
type stored struct {
	x     *session.Session
	to    *storeTarget
	blobs *chunkstore.Store // nil until there is something to keep
}

// Read reads a log.
func (s *stored) Read(name string, fn func(line []byte) error) error {
	log, err := s.x.Log(name)
	if err != nil {
		return err
	}
	defer s.x.Release()
	return eachLine(io.NewSectionReader(log, 0, log.Size()), fn)
}

// Append appends lines.
func (s *stored) Append(log string, lines []byte) error { return s.x.Append(log, lines) }

// Describe enters what a log says of the session into its meta.json.
func (s *stored) Describe(rep importer.Report) error { return s.x.Describe(described(rep), s.to.by) }

// Mark returns what the session is now.
func (s *stored) Mark() (intake.Mark, error) { return intake.Mark{}, errors.ErrUnsupported }

// Blob keeps data.
func (s *stored) Blob(data []byte) (err error) {
	if s.blobs == nil {
		own := beneath.Owner{UID: int(s.to.by.UID), GID: int(s.to.by.GID)}
		if s.blobs, err = session.OpenCold(s.to.store.Dir(), s.to.owner(), chunkstore.Options{Owner: own}); err != nil {
			return err
		}
	}
	_, err = s.blobs.Put(data)
	return err
}

// Sync brings blobs and both logs to disk.
func (s *stored) Sync() error {
	return errors.Join(s.closeBlobs(), s.x.Sync(session.Messages), s.x.Sync(session.Events))
}

func (s *stored) closeBlobs() error {
	if s.blobs == nil {
		return nil
	}
	b := s.blobs
	s.blobs = nil
	return b.Close()
}

// Close ends the use of the session.
func (s *stored) Close() error { return s.closeBlobs() }

// described is what a report says of a session. A subagent logs the id of its parent's session, and one of its own.
func described(rep importer.Report) session.Description {
	d := session.Description{Client: rep.Client, ClientSession: rep.SessionID, ClientVersion: rep.ClientVersion, HostCWD: rep.CWD, Model: rep.Model, Title: rep.Title}
	if rep.Child != nil {
		d.ClientSession, d.ParentSession = rep.Child.ID, rep.Child.Parent
	}
	return d
}
