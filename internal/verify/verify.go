// Package verify reads a whole store and tells what is wrong with it: logs, control files and blobs. It changes nothing.
package verify

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/record"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// Problem is one thing that is wrong.
type Problem struct {
	Path string `json:"path"` // relative to the store
	Text string `json:"text"`
}

// Report counts what was read.
type Report struct {
	Sessions    int       `json:"sessions"`
	Records     int       `json:"records"`
	Events      int       `json:"events"`
	Bytes       int64     `json:"bytes"`
	Blobs       int       `json:"blobs"`
	Quarantined int       `json:"quarantined"`
	Problems    []Problem `json:"problems"`
}

// Store reads all of the store. Its error is for what could not be read at all.
func Store(store *session.Store) (*Report, error) {
	v := &verifier{store: store, r: &Report{Problems: []Problem{}}}
	if err := store.EachContainer(v.container); err != nil {
		return v.r, err
	}
	for _, top := range []string{"home", "shared"} {
		owners, err := store.Dir().ReadDir(top)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return v.r, err
		}
		for _, o := range owners {
			if !o.IsDir() {
				continue
			}
			if err := v.owner(path.Join(top, o.Name())); err != nil {
				return v.r, err
			}
		}
	}
	return v.r, nil
}

type verifier struct {
	store *session.Store
	r     *Report
}

func (v *verifier) problem(rel, format string, args ...any) {
	v.r.Problems = append(v.r.Problems, Problem{Path: rel, Text: fmt.Sprintf(format, args...)})
}

func (v *verifier) container(c *session.Container) error {
	names, err := c.Names()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		x, err := c.Session(name)
		if err != nil {
			return err
		}
		v.session(x)
	}
	return nil
}

func (v *verifier) session(x *session.Session) {
	v.r.Sessions++
	v.r.Records += v.log(x, session.Messages)
	v.r.Events += v.log(x, session.Events)
	for _, name := range []string{"state", "cwd", "meta.json", "context/budget", "context/gc.policy", "context/facts.jsonl", "context/decisions.jsonl", "context/refs.jsonl"} {
		if !x.Written(name) {
			continue
		}
		data, err := x.ReadControl(name)
		if err == nil {
			err = x.CheckControl(name, data, session.Caller{}, true)
			if name == "cwd" && !badForm(err) {
				err = nil // an agent's root may be cleaned: its cwd comes back with it
			}
		}
		if err != nil {
			v.problem(path.Join(x.Rel(), name), "%v", err)
		}
	}
}

func badForm(err error) bool {
	var e *session.Error
	return errors.As(err, &e) && e.Kind == session.Invalid
}

// log reads every line of a log and gives their number. A last line without its end is what a crash leaves: the next
// use of the session sets it aside.
func (v *verifier) log(x *session.Session, name string) int {
	rel := path.Join(x.Rel(), name)
	f, err := v.open(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	if err != nil {
		v.problem(rel, "%v", err)
		return 0
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	for n := 0; ; n++ {
		line, err := r.ReadBytes('\n')
		v.r.Bytes += int64(len(line))
		if err == io.EOF {
			if len(line) > 0 {
				v.problem(rel, "the last %d bytes are a torn line (mount the store to set them aside)", len(line))
			}
			return n
		}
		if err != nil {
			v.problem(rel, "line %d: %v", n+1, err)
			return n
		}
		if err := record.Check(line); err != nil {
			v.problem(rel, "line %d: %v", n+1, err)
		}
	}
}

// open opens a regular file. Another kind of file in its place is an error, and never waited for.
func (v *verifier) open(rel string) (*os.File, error) {
	f, err := v.store.Dir().OpenFile(rel, unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &os.PathError{Op: "read", Path: rel, Err: unix.EINVAL}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// owner reads an owner's blobs and counts what is in quarantine.
func (v *verifier) owner(rel string) error {
	state := path.Join(rel, session.StateDir)
	if q, err := v.store.Dir().ReadDir(path.Join(state, "quarantine")); err == nil {
		v.r.Quarantined += len(q)
	}
	blobs := cas.NewDir(v.store.Dir(), path.Join(state, "blob"), beneath.Owner{})
	return blobs.Each(func(id cas.ID, size int64) error {
		v.r.Blobs++
		v.r.Bytes += size
		if _, err := blobs.Get(id); err != nil {
			v.problem(state, "%v", err)
		}
		return nil
	}, func(odd string) {
		if strings.HasPrefix(path.Base(odd), beneath.TempPrefix) {
			return // a crash left it; gc takes it away
		}
		v.problem(odd, "this is not a blob")
	})
}
