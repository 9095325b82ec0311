package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ctxfs/internal/cas"
	"ctxfs/internal/intake"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"
)

// newPlace returns where the session is to be that ref names: AGENT/SESSION, or its path. It is in the caller's home in a mount.
func newPlace(ref string) (place, error) {
	if agent, name, ok := strings.Cut(ref, "/"); ok && !isPath(ref) && !strings.Contains(name, "/") {
		point, err := pickMount("")
		return place{root: point, owner: ownHome(), kind: ofAgent, agent: agent, folder: permanent, session: name}, err
	}
	p, ok := placeOf(mounts.Real(ref))
	if !ok || p.owner != ownHome() || p.kind != ofAgent || p.folder != permanent {
		return p, usageError{fmt.Sprintf("%s cannot be a session of yours: name it as AGENT/SESSION, or as MOUNTPOINT/%s/agent/AGENT/session/SESSION", ref, ownHome())}
	}
	return p, mountError(p.root)
}

// restoreFrom makes a session, in a mount, of an exported one.
func restoreFrom(stderr io.Writer, file, ref string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	at, err := newPlace(ref)
	if err != nil {
		return err
	}
	bar := newProgress(stderr, filepath.Base(file), sizeOf(in), true)
	defer bar.end()
	t := tar.NewReader(bar.follow(in))
	first, err := t.Next()
	if err != nil { // before a session is made of it
		return fmt.Errorf("%s is not an exported session: %w", file, err)
	}
	to, err := newMountTarget(at.root)
	if err != nil {
		return err
	}
	s, err := to.Make(at.agent, at.session)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: nothing was restored; choose another name", err)
	}
	if err != nil {
		return err
	}
	r := &restorer{s: s, dir: to.dir(at.agent, at.session)}
	err = r.all(t, first)
	if err = errors.Join(err, s.Sync(), s.Close()); err != nil {
		return errors.Join(err, takeAway(to, at.agent, at.session)) // half a session would look like a whole one, and hold its name
	}
	if r.shown != nil {
		err = os.WriteFile(filepath.Join(r.dir, session.Injections), r.shown, 0o600)
	}
	return err
}

// restorer reads one tar file into a session. Logs and blobs go into s; the rest are ordinary writes below dir.
type restorer struct {
	s     intake.Session
	dir   string
	shown []byte // injections.jsonl, which is taken once the blobs are there that it names
}

// all restores the file h and those behind it.
func (r *restorer) all(t *tar.Reader, h *tar.Header) error {
	for {
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) {
			return fmt.Errorf("not an exported session: it holds %s", printable(h.Name))
		}
		if err := r.one(h.Name, t); err != nil {
			return fmt.Errorf("%s: %w", printable(h.Name), err)
		}
		var err error
		if h, err = t.Next(); err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not an exported session: %w", err)
		}
	}
}

func (r *restorer) one(name string, t io.Reader) error {
	if name == session.Messages || name == session.Events {
		return r.log(name, t)
	}
	data, err := io.ReadAll(io.LimitReader(t, 1<<30))
	if err != nil {
		return err
	}
	if id, ok := strings.CutPrefix(name, "blob/"); ok {
		if !cas.Matches(id, data) {
			return cas.ErrCorrupt
		}
		return r.s.Blob(data)
	}
	switch name {
	case session.Injections:
		r.shown = data
		return nil
	case "meta.json", "cwd", "state":
		return nil // the new session has its own identity, its agent's root, and nothing that runs
	}
	full := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return err
	}
	return os.WriteFile(full, data, 0o600)
}

// log appends the lines of a log, about a megabyte at a time.
func (r *restorer) log(name string, in io.Reader) error {
	var lines []byte
	err := eachLine(in, func(line []byte) error {
		if lines = append(append(lines, line...), '\n'); len(lines) < 1<<20 {
			return nil
		}
		err := r.s.Append(name, lines)
		lines = lines[:0]
		return err
	})
	if err != nil || len(lines) == 0 {
		return err
	}
	return r.s.Append(name, lines)
}

// eachLine calls fn with every line, without its '\n'.
func eachLine(r io.Reader, fn func(line []byte) error) error {
	b := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := b.ReadBytes('\n')
		if len(line) > 0 {
			if ferr := fn(bytes.TrimSuffix(line, []byte{'\n'})); ferr != nil {
				return ferr
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
