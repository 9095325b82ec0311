package watch

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"ctxfs/internal/importer"
	"ctxfs/internal/intake"
)

// Library has conversations as documents that are written anew as they grow, in a database or in files.
type Library interface {
	Format() importer.Format
	// File is the database, or the folder of the files. It need not exist.
	File() string
	// Documents lists the conversations. Those that changed last before since may be listed without a Stamp.
	Documents(since time.Time) ([]Document, error)
	// Read returns a document as an import takes it. Unless all is set, it ends before what still changes; held reports
	// whether there is such a part.
	Read(id string, all bool) (doc []byte, held bool, err error)
}

// Document is a conversation as it is now.
type Document struct {
	ID      string
	Path    string    // which names its session, and nothing else
	Stamp   string    // another one when it changed; "": it did not change since
	Updated time.Time // when it changed last
}

// recent is how long ago a document changed that is looked at in detail.
const recent = 24 * time.Hour

// try is an import that failed, or did not take all of a document.
type try struct {
	stamp string
	next  time.Time // not before, unless the document changes
	wait  time.Duration
}

// collect brings the sessions of a library's documents up to date.
func (w *Watcher) collect(l Library) (errs []error) {
	list, err := l.Documents(time.Now().Add(-recent))
	if err != nil {
		return []error{err}
	}
	for _, d := range list {
		if err := w.document(l, d); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// document imports one document if it changed.
func (w *Watcher) document(l Library, d Document) error {
	agent := w.agent(l.Format())
	old, ok := w.state.logs[d.Path]
	if ok && old.Agent == agent && (d.Stamp == "" || d.Stamp == old.Stamp) && w.holds(d.Path, old) {
		return nil
	}
	delete(w.checked, d.Path)
	delete(w.lost, d.Path)
	last := w.tries[d.Path]
	if last.stamp == d.Stamp && time.Now().Before(last.next) {
		return nil
	}
	held, err := w.take(l, d, agent)
	switch {
	case err != nil:
		wait := min(max(2*last.wait, time.Second), maxWait)
		w.tries[d.Path] = try{d.Stamp, time.Now().Add(wait), wait}
	case held:
		w.tries[d.Path] = try{stamp: d.Stamp, next: d.Updated.Add(w.cfg.Settle)}
	default:
		delete(w.tries, d.Path)
	}
	return err
}

// take imports a document into its session, and notes that all of it was read.
func (w *Watcher) take(l Library, d Document, agent string) (held bool, err error) {
	doc, held, err := l.Read(d.ID, time.Since(d.Updated) >= w.cfg.Settle)
	if err != nil || len(doc) == 0 {
		return held, err
	}
	results, err := intake.File{Log: bytes.NewReader(doc), Format: l.Format(), Store: w.store, Agent: agent,
		Name: func(_ string, n int) string { return w.nth(agent, d.Path, n) }}.Import()
	if err != nil || held || len(results) == 0 {
		return held, err
	}
	seen := seenLog{Agent: agent, Session: results[0].Session, Stamp: d.Stamp, File: l.File()}
	seen.Mark, err = w.store.Mark(agent, seen.Session)
	if errors.Is(err, fs.ErrNotExist) { // there was nothing to write
		seen.Session, err = "", nil
	}
	if err != nil {
		return false, err
	}
	w.state.logs[d.Path], w.state.dirty, w.checked[d.Path] = seen, true, true
	delete(w.told, d.Path)
	return false, nil
}

// nth is the nth name to try for the session of a document: first the one that it has, then those that are no other log's.
func (w *Watcher) nth(agent, path string, n int) string {
	if name := w.named(agent, path); name != "" {
		if n--; n == 0 {
			return name
		}
	}
	for i := 1; ; i++ {
		name := w.cfg.Name(path, i)
		if !w.taken(agent, name, path) {
			n--
		}
		if n <= 0 || i > 2*intake.MaxNames {
			return name
		}
	}
}

// coverLibrary has the notifier watch where the documents of a library change.
func (n *notifier) coverLibrary(l Library) {
	dir := filepath.Dir(l.File())
	if n.watch([]string{dir}, changes); n.known[dir] == 0 {
		n.watch([]string{above(dir)}, arrivals)
	}
}

// touched notes that a path changed that may be a part of a library: a database has files beside it.
func (w *Watcher) touched(path string) {
	for _, l := range w.cfg.Libraries {
		if strings.HasPrefix(path, l.File()) {
			w.dirty[l.File()] = true
		}
	}
}

// collectDirty collects from the libraries that changed, each at most once in Sync.
func (w *Watcher) collectDirty() {
	if len(w.dirty) > 0 && w.arrive() != nil {
		clear(w.dirty) // all are looked at when the sessions are there again
	}
	for _, l := range w.cfg.Libraries {
		if file := l.File(); w.dirty[file] && time.Since(w.collected[file]) >= w.cfg.Sync {
			w.collectNow(l)
		}
	}
}

func (w *Watcher) collectNow(l Library) {
	delete(w.dirty, l.File())
	w.collected[l.File()] = time.Now()
	err := errors.Join(w.collect(l)...)
	w.tell(l.File(), err)
	if err == nil {
		delete(w.told, l.File())
	}
}

// dueLibrary is when a library that changed is to be looked at; zero: none did.
func (w *Watcher) dueLibrary() (at time.Time) {
	for file := range w.dirty {
		if t := w.collected[file].Add(w.cfg.Sync); at.IsZero() || t.Before(at) {
			at = t
		}
	}
	return at
}
