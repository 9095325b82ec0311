// Package opencode reads the database of OpenCode (SQLite, opencode.db), and writes its sessions as `opencode export` does.
//
// The database is opened read-only for each look, and read in short transactions: in its write-ahead mode, readers and the
// program that writes do not wait for each other.
package opencode

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// DB is an open database.
type DB struct{ db *sql.DB }

// Open opens the database at path. That it is one, the first question finds out.
func Open(path string) (*DB, error) {
	name := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "mode=ro&_pragma=query_only(1)&_pragma=busy_timeout(2000)"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &DB{db}, nil
}

// Close closes the database.
func (d *DB) Close() error { return d.db.Close() }

// Session is a session as it is now.
type Session struct {
	ID      string
	Updated time.Time // when it, or a message or part of it, was written last
	Parts   int       // of its messages
}

// Stamp is another one when the session changed.
func (s Session) Stamp() string { return fmt.Sprintf("%d %d", s.Updated.UnixMilli(), s.Parts) }

// Sessions lists the sessions in the order in which they began. Those that were last written to before since, as the session's
// own time says, are not looked at in detail: their parts are not counted.
func (d *DB) Sessions(since time.Time) ([]Session, error) {
	rows, err := d.db.Query(`select id, time_updated from session order by time_created, id`)
	if err != nil {
		return nil, err
	}
	var list []Session
	for rows.Next() {
		var s Session
		var ms int64
		if err := rows.Scan(&s.ID, &ms); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		s.Updated = time.UnixMilli(ms)
		list = append(list, s)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Updated.Before(since) {
			continue
		}
		if err := d.detail(&list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// detail finds out when a session was written last: its own time is when its newest message began.
func (d *DB) detail(s *Session) error {
	var message, part sql.NullInt64
	err := d.db.QueryRow(`select (select max(time_updated) from message where session_id = ?1), max(time_updated), count(*) from part where session_id = ?1`, s.ID).
		Scan(&message, &part, &s.Parts)
	s.Updated = time.UnixMilli(max(s.Updated.UnixMilli(), message.Int64, part.Int64))
	return err
}

// Export returns a session as `opencode export` prints it. Unless all is set, it ends before an answer that is not complete: its parts
// still change. held reports whether there is one.
func (d *DB) Export(id string, all bool) (doc []byte, held bool, err error) {
	tx, err := d.db.Begin() // one snapshot
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	head, err := readInfo(tx, id)
	if err != nil {
		return nil, false, err
	}
	messages, err := readMessages(tx, id)
	if err != nil {
		return nil, false, err
	}
	out := struct {
		Info     info              `json:"info"`
		Messages []json.RawMessage `json:"messages"`
	}{head, []json.RawMessage{}}
	for _, m := range messages {
		if held = held || !all && !m.complete(); held {
			break
		}
		doc, err := m.export()
		if err != nil {
			return nil, false, err
		}
		out.Messages = append(out.Messages, doc)
	}
	doc, err = encode(out)
	return doc, held, err
}
