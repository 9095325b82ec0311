package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/chunkstore"
	"ctxfs/internal/importer"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// tarFormat is the form of an export that holds a session whole.
const tarFormat = "tar"

// checkForm refuses a form that cannot be written.
func checkForm(form string) error {
	return isOneOf("--format", form, exportForms())
}

// exportForms are the forms of an export: the whole session, and those of its messages.
func exportForms() []string { return append([]string{tarFormat}, importer.Exports()...) }

// exportOptions says how messages are exported.
type exportOptions struct {
	form    string
	content bool   // otel: what was said, too
	cwd     string // in place of the session's own
}

// exportMessages writes the messages of the session at p in another program's form, and to stderr what it leaves out. It
// returns the session's own id.
func exportMessages(w, stderr io.Writer, p string, o exportOptions) (string, error) {
	from, err := openSource(p)
	if err != nil {
		return "", err
	}
	defer from.close()
	events, err := from.log(session.Events)
	if err != nil {
		return "", err
	}
	x := importer.Export{Name: from.name, Blob: from.blob, Content: o.content}
	if x.SessionID, x.CWD, err = importer.Origin(events); err != nil {
		return "", err
	}
	x.SessionID, x.CWD = orElse(x.SessionID, filepath.Base(from.name)), orElse(o.cwd, x.CWD)
	if x.Messages, err = from.log(session.Messages); err != nil {
		return "", err
	}
	if x.Events, err = from.log(session.Events); err != nil {
		return "", err
	}
	done, err := x.Write(w, o.form)
	if err == nil && done.String() != "" {
		_, err = fmt.Fprintf(stderr, "ctxfs: %s\n", done)
	}
	return x.SessionID, err
}

// sourceOf is a session that is read: in a mount by its files, as its owner sees them, or in a store.
type sourceOf struct {
	name  string                                   // agent/session
	log   func(name string) (io.ReadSeeker, error) // as long as it is now
	blob  func(ref string) ([]byte, error)
	close func()
}

func openSource(p string) (*sourceOf, error) {
	abs := mounts.Real(p)
	agent := filepath.Base(filepath.Dir(filepath.Dir(abs))) // above session/ or temp/
	s := &sourceOf{name: strings.TrimSuffix(agent, ".d") + "/" + filepath.Base(abs)}
	if inMount(abs) {
		return s, s.openMounted(abs)
	}
	return s, s.openStored(p)
}

// openMounted reads the files of the mount. Links that the session's owner made are not followed.
func (s *sourceOf) openMounted(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, session.Messages)); err != nil {
		return err
	}
	in, err := beneath.Open(dir)
	if err != nil {
		return err
	}
	var open []*os.File
	s.log = func(name string) (io.ReadSeeker, error) {
		f, err := in.OpenFile(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		open = append(open, f)
		st, err := f.Stat()
		if err != nil {
			return nil, err
		}
		return io.NewSectionReader(f, 0, st.Size()), nil
	}
	s.blob = func(ref string) ([]byte, error) {
		if _, err := cas.Parse(ref); err != nil {
			return nil, err
		}
		return in.ReadFile("context/dedup/blob/"+ref, 1<<30)
	}
	s.close = func() {
		for _, f := range open {
			_ = f.Close() // read only
		}
		_ = in.Close()
	}
	return nil
}

// openStored reads a store that is not mounted, or beside its daemon.
func (s *sourceOf) openStored(p string) error {
	x, done, err := openSession(p)
	if err != nil {
		return err
	}
	blobs, err := session.OpenCold(x.Store().Dir(), session.OwnerRel(x.Rel()), chunkstore.Options{ReadOnly: true})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		done()
		return err
	}
	held := 0
	s.log = func(name string) (io.ReadSeeker, error) {
		log, err := x.Log(name)
		if err != nil {
			return nil, err
		}
		held++
		return io.NewSectionReader(log, 0, log.Size()), nil
	}
	s.blob = func(ref string) ([]byte, error) {
		id, err := cas.Parse(ref)
		if err != nil || blobs == nil {
			return nil, errors.Join(err, os.ErrNotExist)
		}
		return blobs.Get(id)
	}
	s.close = func() {
		for range held {
			x.Release()
		}
		if blobs != nil {
			_ = blobs.Close() // read only
		}
		done()
	}
	return nil
}
