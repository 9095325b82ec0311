package watch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ctxfs/internal/importer"

	"golang.org/x/sys/unix"
)

// Source is a folder with logs.
type Source struct {
	Root   string
	Format importer.Format // "": told by the content of each
	Prefix string          // of the logs' names
	Depth  int             // how deep they stand; 0: at any depth
	Below  string          // with Depth: SESSION/Below/, beside SESSION.jsonl, has logs of subagents at any depth; "": there are none
	In     string          // the folder that each log is in; "": any
	Must   bool            // that there is none is an error of Once
}

// found is a log in a source.
type found struct {
	path   string
	format importer.Format
}

// has reports whether a path can be a log of s.
func (s Source) has(path string) bool {
	rel, err := filepath.Rel(s.Root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	name := filepath.Base(rel)
	deep := strings.Count(rel, string(filepath.Separator)) + 1
	if s.Depth > 0 && deep > s.Depth+1 && !s.hides(filepath.Dir(rel)) {
		return IsAgentLog(name)
	}
	if s.In != "" && filepath.Base(filepath.Dir(rel)) != s.In {
		return false
	}
	return (s.Depth == 0 || deep == s.Depth) && strings.HasPrefix(name, s.Prefix) && strings.HasSuffix(name, ".jsonl")
}

// hides reports whether the folder rel has no logs of s, and no folder below it has.
func (s Source) hides(rel string) bool {
	parts := strings.Split(rel, string(filepath.Separator))
	switch {
	case s.Depth == 0 || rel == ".":
		return false
	case s.Below == "":
		return len(parts) >= s.Depth
	}
	return len(parts) > s.Depth && parts[s.Depth] != s.Below
}

// walk calls fn for what is in s. Links to folders are not followed. The errors are of what is there and cannot be read.
func (s Source) walk(fn func(path string, d fs.DirEntry)) (errs []error) {
	note := func(err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may come, or goes away meanwhile
			errs = append(errs, err)
		}
	}
	root, err := filepath.EvalSymlinks(s.Root)
	if err != nil {
		note(err)
		return errs
	}
	note(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(root, path)
		if err != nil || rerr != nil {
			note(err)
			return nil
		}
		if d.IsDir() && s.hides(rel) {
			return fs.SkipDir
		}
		fn(filepath.Join(s.Root, rel), d)
		return nil
	}))
	return errs
}

// dirs lists the folders in which logs can appear.
func (s Source) dirs() []string {
	var list []string
	_ = s.walk(func(path string, d fs.DirEntry) { // find tells of the errors
		if d.IsDir() {
			list = append(list, path)
		}
	})
	return list
}

// find lists all logs, in the order of their names, those of subagents last, and what cannot be read.
func (w *Watcher) find() (list []found, errs []error) {
	heads := w.heads
	w.heads = map[string]head{}
	for _, s := range w.cfg.Sources {
		before := len(list)
		werrs := s.walk(func(path string, d fs.DirEntry) {
			if !d.Type().IsRegular() || !s.has(path) {
				return
			}
			if h, ok := heads[path]; ok {
				w.heads[path] = h // of others nothing is kept
			}
			log, err := w.logOf(path)
			if err != nil {
				errs = append(errs, err)
			} else if log.format != "" {
				list = append(list, log)
			}
		})
		if errs = append(errs, werrs...); s.Must && len(list) == before && len(errs) == 0 {
			errs = append(errs, fmt.Errorf("%s: %w", s.Root, ErrNoLog))
		}
	}
	parentsFirst(list)
	return list, errs
}

// ErrNoLog is the error of a source that must have a log, and has none.
var ErrNoLog = errors.New("there is no log (*.jsonl) of a format that can be followed")

// logOf gives the log at a path; its format is "" when there is none.
func (w *Watcher) logOf(path string) (found, error) {
	for _, s := range w.cfg.Sources {
		if !s.has(path) {
			continue
		}
		st, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !st.Mode().IsRegular() {
			return found{}, nil
		}
		if err != nil {
			return found{}, err
		}
		if f := w.logs[path]; f != nil {
			return f.log, nil
		}
		format := s.Format
		if format == "" {
			if format, err = w.detect(path, st); err != nil {
				return found{}, err
			}
		}
		return found{path, format}, nil
	}
	return found{}, nil
}

// head is what the head of a log told of it, and of which.
type head struct {
	fileID
	size, modNS int64
	format      importer.Format
}

// detect tells a log's format, as detect does, and reads a log again only when it changed.
func (w *Watcher) detect(path string, st fs.FileInfo) (importer.Format, error) {
	h := head{fileID: idOf(st), size: st.Size(), modNS: st.ModTime().UnixNano()}
	h.format = w.heads[path].format
	if w.heads[path] == h {
		return h.format, nil
	}
	var err error
	if h.format, err = detect(path); err == nil {
		w.heads[path] = h
	}
	return h.format, err
}

// openLog opens a log, and does not wait for what is none.
func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) // #nosec G304 -- in a folder that the user follows
}

// detect tells a log's format by its content; "" when it is none that can be followed, or not yet.
func detect(path string) (importer.Format, error) {
	f, err := openLog(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	head, err := bufio.NewReaderSize(f, 256<<10).Peek(256 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	format, err := importer.Detect(head)
	if err != nil || !importer.Streams(format) {
		return "", nil
	}
	return format, nil
}
