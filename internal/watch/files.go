package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ctxfs/internal/importer"
)

// Files is a Library of files that a program writes anew whenever their conversation goes on.
type Files struct {
	Root    string
	Pattern string // of the files, below Root: see filepath.Match
	Of      importer.Format
}

// Format is that of all files.
func (f Files) Format() importer.Format { return f.Of }

// File is the folder of the files.
func (f Files) File() string { return f.Root }

// Documents lists the files.
func (f Files) Documents(time.Time) (list []Document, err error) {
	paths, err := filepath.Glob(filepath.Join(f.Root, f.Pattern))
	for _, path := range paths {
		st, serr := os.Lstat(path)
		if serr != nil || !st.Mode().IsRegular() {
			continue // it went away, or is no log
		}
		list = append(list, Document{ID: path, Path: path, Updated: st.ModTime(), Stamp: fmt.Sprintf("%d %d", st.Size(), st.ModTime().UnixNano())})
	}
	return list, err
}

// Read reads a file. One that is being written is not read before it is whole, or all is set.
func (f Files) Read(path string, all bool) (doc []byte, held bool, err error) {
	file, err := openLog(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err == nil && !all && !json.Valid(data) {
		return nil, true, nil
	}
	return data, false, err
}
