//go:build linux && amd64

package fault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/session"
	"ctxfs/internal/verify"
)

// check opens a store after a cut, as the next daemon does, and holds it to the promise.
func (f *film) check(top string, c cut) (wrong []string) {
	tell := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, p := range problems(top, tell) {
		if !p.Repairable {
			tell("verify, before anything opened it: %s: %s", p.Path, p.Text)
		}
	}
	tails := tornTails(top)
	s, err := session.Open(top, session.Options{})
	if err != nil {
		return append(wrong, err.Error())
	}
	f.useAll(s, c, tell)
	f.files(top, c, tell)
	if err := verify.Repair(s); err != nil {
		tell("repair: %v", err)
	}
	if err := s.Close(); err != nil {
		tell("close: %v", err)
	}
	var events map[string]string
	if len(tails) > 0 {
		if events, err = allLogs(top, session.Events); err != nil {
			tell("events: %v", err)
		}
	}
	for _, t := range tails {
		if !kept(top, t.bytes) {
			tell("a torn tail of %s is not in quarantine: %.80q", t.session, t.bytes)
		}
		if !strings.Contains(events[t.session], "ctxfs.line.quarantined") {
			tell("no event of %s tells of a torn tail", t.session)
		}
	}
	for _, p := range problems(top, tell) {
		tell("verify, after it was used: %s: %s", p.Path, p.Text)
	}
	return wrong
}

// collected has gc go over a store that check was at, and looks whether anything that counts went with it.
func collected(top string) (wrong []string) {
	before, err := allLogs(top, session.Messages)
	if err == nil {
		_, err = plainly("gc", "--store", top)
	}
	var after map[string]string
	if err == nil {
		after, err = allLogs(top, session.Messages)
	}
	if err != nil {
		return []string{fmt.Sprintf("gc: %v", err)}
	}
	for name, log := range before {
		if name != "doomed" && after[name] != log {
			wrong = append(wrong, fmt.Sprintf("gc: %s has %d bytes, had %d", name, len(after[name]), len(log)))
		}
	}
	if out, err := plainly("verify", "--store", top); err != nil {
		wrong = append(wrong, "verify, after gc: "+out)
	}
	return wrong
}

// mounted has a daemon of its own serve the store.
func mounted(t *testing.T, dir, top string) (wrong []string) {
	before, err := allLogs(top, session.Messages)
	if err != nil {
		return []string{err.Error()}
	}
	w := newWorld(t, dir, top, Job{})
	defer w.close()
	defer func() {
		if out := w.printed(); uncaught.MatchString(out) {
			wrong = append([]string{out}, wrong...)
		}
	}()
	if err := w.mount(); err != nil {
		return []string{err.Error(), w.printed()}
	}
	for name, log := range before {
		file := w.session(name) + "/messages.jsonl"
		if err := writeTo(file, message("mount", 0, ""), os.O_WRONLY|os.O_APPEND); err != nil {
			wrong = append(wrong, err.Error())
		}
		if data, err := os.ReadFile(file); err != nil || string(data) != log+message("mount", 0, "") {
			wrong = append(wrong, fmt.Sprintf("the mount shows %d bytes of %s, the store %d: %v", len(data), name, len(log), err))
		}
		if _, err := os.ReadFile(w.session(name) + "/context/pack.md"); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if err := w.umount(); err != nil {
		wrong = append(wrong, err.Error())
	}
	return wrong
}

// allLogs reads the logs of that name of all sessions.
func allLogs(top, log string) (map[string]string, error) {
	s, err := session.Open(top, session.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	c, err := s.Container("home/0/agent/coder")
	if err != nil {
		return nil, err
	}
	names, err := c.Names()
	logs := map[string]string{}
	for _, name := range names {
		data, lerr := logOf(c, name, log)
		logs[name], err = data, errors.Join(err, lerr)
	}
	return logs, err
}

func problems(top string, tell func(string, ...any)) []verify.Problem {
	s, err := session.Open(top, session.Options{ReadOnly: true})
	if err != nil {
		tell("open to look: %v", err)
		return nil
	}
	defer s.Close()
	r, err := verify.Store(s, nil)
	if err != nil {
		tell("verify: %v", err)
	}
	return r.Problems
}

// useAll reads each session, appends to it, and reads it again.
func (f *film) useAll(s *session.Store, c cut, tell func(string, ...any)) {
	con, err := s.Container("home/0/agent/coder")
	if err != nil {
		tell("%v", err)
		return
	}
	names, err := con.Names()
	if err != nil {
		tell("%v", err)
		return
	}
	for name := range f.ledger.base {
		if !slices.Contains(names, name) && !f.ledger.gone[name] && !f.renamed(name, names) {
			tell("session %s is gone", name)
		}
	}
	for _, name := range names {
		x, err := con.Session(name)
		if err != nil {
			tell("%s: %v", name, err)
			continue
		}
		line := message("after", 0, name)
		if err := x.Append(session.Messages, []byte(line)); err != nil {
			tell("append to %s: %v", name, err)
			continue
		}
		data, err := logOf(con, name, session.Messages)
		if err != nil || !strings.HasSuffix(data, line) {
			tell("read of %s: %d bytes, %v", name, len(data), err)
			continue
		}
		ledger := strings.TrimSuffix(name, "2") // a rename may be under way
		if name == "imported" || name == "extra" || f.ledger.gone[name] {
			continue
		}
		for _, what := range f.ledger.check(ledger, strings.TrimSuffix(data, line), promise{crash: c.at, refused: true}) {
			tell("%s", what)
		}
	}
}

// renamed tells whether a session stands under its other name.
func (f *film) renamed(name string, names []string) bool { return slices.Contains(names, name+"2") }

// files holds control files to what was in them: a replacement that had returned, or one that had begun.
func (f *film) files(top string, c cut, tell func(string, ...any)) {
	for file, list := range f.ledger.puts {
		if filepath.Base(file) == "a.md" {
			continue // nobody synced it
		}
		var may []string
		must := false
		for _, p := range list {
			if p.done > 0 && p.done <= c.at {
				may = nil          // what was before is gone
				must = p.begun > 0 // else it may be the default, and in no file
			}
			if p.begun <= c.at {
				may = append(may, p.content)
			}
		}
		data, err := os.ReadFile(filepath.Join(top, strings.TrimPrefix(file, f.point)))
		if errors.Is(err, os.ErrNotExist) && !must {
			continue
		}
		if err != nil || !slices.Contains(may, string(data)) {
			tell("%s holds %q, %v, want one of %q", file, data, err, may)
		}
	}
}
