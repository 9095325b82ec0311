package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ctxfs/internal/importer"
	"ctxfs/internal/opencode"
	"ctxfs/internal/watch"
)

// openCodeDB is OpenCode's database, as watch follows it. It is open only while it is looked at.
type openCodeDB struct{ path string }

// openCodePath returns where OpenCode keeps its database.
func openCodePath(home string) string {
	data := filepath.Join(orElse(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local", "share")), "opencode")
	name := orElse(os.Getenv("OPENCODE_DB"), "opencode.db")
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(data, name)
}

// Format is opencode.
func (d openCodeDB) Format() importer.Format { return importer.OpenCode }

// File is the database.
func (d openCodeDB) File() string { return d.path }

// Documents lists the sessions. A database that is not there has none.
func (d openCodeDB) Documents(since time.Time) (list []watch.Document, err error) {
	if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	db, err := opencode.Open(d.path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	sessions, err := db.Sessions(since)
	for _, s := range sessions {
		doc := watch.Document{ID: s.ID, Path: filepath.Join(d.path, s.ID+".json"), Updated: s.Updated}
		if !s.Updated.Before(since) {
			doc.Stamp = s.Stamp()
		}
		list = append(list, doc)
	}
	return list, err
}

// Read exports a session.
func (d openCodeDB) Read(id string, all bool) ([]byte, bool, error) {
	db, err := opencode.Open(d.path)
	if err != nil {
		return nil, false, err
	}
	defer db.Close()
	return db.Export(id, all)
}
