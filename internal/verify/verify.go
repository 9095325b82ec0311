// Package verify reads a whole store and tells what is wrong with it: logs, archives, control files, blobs, and the
// references between them. It can repair what is derived, or torn by a crash.
package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"ctxfs/internal/session"
)

// Problem is one thing that is wrong.
type Problem struct {
	Path       string `json:"path"` // relative to the store
	Text       string `json:"text"`
	Repairable bool   `json:"repairable"` // Repair mends it, and loses nothing
}

// Report counts what was read.
type Report struct {
	Sessions    int       `json:"sessions"`
	Records     int       `json:"records"`
	Events      int       `json:"events"`
	Archived    int       `json:"archived"` // logs
	Bytes       int64     `json:"bytes"`
	Blobs       int       `json:"blobs"`
	Quarantined int       `json:"quarantined"`
	Problems    []Problem `json:"problems"`
}

// Store reads all of the store, and changes nothing. Its error is for what could not be read at all.
// step, unless nil, is told how many steps of how many are done: owners' cold stores, and sessions.
func Store(store *session.Store, step func(done, all int)) (*Report, error) {
	return newVerifier(store).all(step)
}

func newVerifier(store *session.Store) *verifier {
	return &verifier{store: store, r: &Report{Problems: []Problem{}}, colds: map[string]*owned{}, pause: time.Sleep, pauses: maxPauses}
}

func (v *verifier) all(step func(done, all int)) (*Report, error) {
	defer v.close()
	owners, err := v.store.Owners()
	v.begin(len(owners), step)
	for _, o := range owners {
		v.step()
		if err := v.owner(o); err != nil {
			v.problem(o, "%v", err)
		}
	}
	for _, o := range owners {
		if err := v.store.ContainersOf(o, v.container); err != nil {
			v.problem(o, "%v", err)
		}
	}
	return v.r, err
}

type verifier struct {
	store *session.Store
	r     *Report
	colds map[string]*owned
	step  func() // tells that another step begins

	pause  func(time.Duration) // waits
	pauses int                 // that may still be made
}

// begin counts the steps, and has them told.
func (v *verifier) begin(owners int, step func(done, all int)) {
	v.step = func() {}
	if step == nil {
		return
	}
	sessions, _ := v.store.Count() // what cannot be counted is a problem of its own
	done, all := 0, owners+int(sessions)
	v.step = func() { step(done, all); done++ }
}

func (v *verifier) problem(rel, format string, args ...any) {
	v.r.Problems = append(v.r.Problems, Problem{Path: rel, Text: fmt.Sprintf(format, args...)})
}

func (v *verifier) repairable(rel, format string, args ...any) {
	v.problem(rel, format, args...)
	v.r.Problems[len(v.r.Problems)-1].Repairable = true
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
		v.step()
		x, err := c.Session(name)
		if err != nil {
			v.problem(path.Join(c.SessionsRel(), name), "%v", err)
			continue
		}
		v.session(x)
	}
	return nil
}

func (v *verifier) session(x *session.Session) {
	v.r.Sessions++
	v.r.Records += v.log(x, session.Messages)
	v.r.Events += v.log(x, session.Events)
	for _, name := range []string{"state", "cwd", "meta.json", "context/budget", "context/gc.policy", "context/facts.jsonl", "context/decisions.jsonl", "context/refs.jsonl",
		"context/constraints.jsonl", "context/preferences.jsonl", "context/success.jsonl", "context/plan.jsonl", "context/tools.jsonl", "context/policy.json", session.RedactFile,
		session.Injections, session.MissingFile, session.Imported} {
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
