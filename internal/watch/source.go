package watch

import (
	"bufio"
	"errors"
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
}

// found is a log in a source.
type found struct {
	path   string
	format importer.Format
}

// has tells whether a path can be a log of s.
func (s Source) has(path string) bool {
	rel, err := filepath.Rel(s.Root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	name := filepath.Base(rel)
	deep := strings.Count(rel, string(filepath.Separator)) + 1
	return (s.Depth == 0 || deep == s.Depth) && strings.HasPrefix(name, s.Prefix) && strings.HasSuffix(name, ".jsonl")
}

// walk calls fn for what is in s. Links to folders are not followed.
func (s Source) walk(fn func(path string, d fs.DirEntry)) {
	root, err := filepath.EvalSymlinks(s.Root)
	if err != nil {
		return // it may come
	}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(root, path)
		if err != nil || rerr != nil {
			return nil // what goes away meanwhile
		}
		if d.IsDir() && s.Depth > 0 && rel != "." && strings.Count(rel, string(filepath.Separator))+1 >= s.Depth {
			return fs.SkipDir
		}
		fn(filepath.Join(s.Root, rel), d)
		return nil
	})
}

// dirs lists the folders in which logs can appear.
func (s Source) dirs() []string {
	var list []string
	s.walk(func(path string, d fs.DirEntry) {
		if d.IsDir() {
			list = append(list, path)
		}
	})
	return list
}

// find lists all logs, in the order of their names.
func (w *Watcher) find() []found {
	var list []found
	for _, s := range w.cfg.Sources {
		s.walk(func(path string, d fs.DirEntry) {
			if !d.Type().IsRegular() || !s.has(path) {
				return
			}
			if log, ok := w.logOf(path); ok {
				list = append(list, log)
			}
		})
	}
	return list
}

// logOf tells whether a path is a log, and of which format.
func (w *Watcher) logOf(path string) (found, bool) {
	for _, s := range w.cfg.Sources {
		if !s.has(path) {
			continue
		}
		if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
			return found{}, false
		}
		if f := w.logs[path]; f != nil {
			return f.log, true
		}
		format := s.Format
		if format == "" {
			format = detect(path)
		}
		return found{path, format}, format != ""
	}
	return found{}, false
}

// openLog opens a log, and does not wait for what is none.
func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) // #nosec G304 -- in a folder that the user follows
}

// detect tells a log's format by its content; "" when it is none that can be followed, or not yet.
func detect(path string) importer.Format {
	f, err := openLog(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head, err := bufio.NewReaderSize(f, 256<<10).Peek(256 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	format, err := importer.Detect(head)
	if err != nil || !importer.Streams(format) {
		return ""
	}
	return format
}
