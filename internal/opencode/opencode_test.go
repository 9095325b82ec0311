package opencode

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/importer"
)

// schema is what of OpenCode 1.18's database is read.
const schema = `
create table session (id text primary key, project_id text not null, workspace_id text, parent_id text, slug text not null, directory text not null, path text,
	title text not null, version text not null, share_url text, summary_additions integer, summary_deletions integer, summary_files integer, summary_diffs text,
	metadata text, cost real default 0 not null, tokens_input integer default 0 not null, tokens_output integer default 0 not null, tokens_reasoning integer default 0 not null,
	tokens_cache_read integer default 0 not null, tokens_cache_write integer default 0 not null, revert text, permission text, agent text, model text,
	time_created integer not null, time_updated integer not null, time_compacting integer, time_archived integer);
create table message (id text primary key, session_id text not null, time_created integer not null, time_updated integer not null, data text not null);
create table part (id text primary key, message_id text not null, session_id text not null, time_created integer not null, time_updated integer not null, data text not null);
create index message_session_time_created_id_idx on message (session_id, time_created, id);
create index part_session_idx on part (session_id);`

// program is OpenCode, as far as its database goes.
type program struct {
	t    testing.TB
	path string
	db   *sql.DB
	now  int64
}

func newProgram(t testing.TB) *program {
	t.Helper()
	p := &program{t: t, path: filepath.Join(t.TempDir(), "a folder?", "opencode.db"), now: 1_795_000_000_000}
	if err := os.Mkdir(filepath.Dir(p.path), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if p.db, err = sql.Open("sqlite", strings.ReplaceAll("file:"+p.path, "?", "%3f")+"?_pragma=journal_mode(wal)"); err != nil {
		t.Fatal(err)
	}
	p.db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = p.db.Close() })
	p.do(schema)
	return p
}

func (p *program) do(query string, args ...any) {
	p.t.Helper()
	if _, err := p.db.Exec(query, args...); err != nil {
		p.t.Fatal(err)
	}
}

// put writes a message with its parts, as far as it has come.
func (p *program) put(session, id string, data string, parts ...string) {
	p.t.Helper()
	p.now++
	p.do(`insert or ignore into session (id, project_id, slug, directory, title, version, time_created, time_updated) values (?, 'p', 'slug', '/home/dev/x', 'title', '1.18.33', ?, ?)`, session, p.now, p.now)
	p.do(`insert into message values (?1, ?2, ?3, ?3, ?4) on conflict do update set data = ?4, time_updated = ?3`, id, session, p.now, data)
	for i, part := range parts {
		p.do(`insert into part values (?1, ?2, ?3, ?4, ?4, ?5) on conflict do update set data = ?5, time_updated = ?4`, fmt.Sprintf("%s-%02d", id, i), id, session, p.now, part)
	}
}

func (p *program) look() *DB {
	p.t.Helper()
	db, err := Open(p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = db.Close() })
	return db
}

// load enters an export into the database.
func (p *program) load(doc []byte) {
	p.t.Helper()
	var x struct {
		Info struct {
			ID, Slug, ProjectID, Directory, Title, Version string
			Time                                           struct{ Created, Updated int64 }
			Summary                                        *struct{ Additions, Deletions, Files int64 }
		}
		Messages []struct {
			Info  map[string]json.RawMessage
			Parts []map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(doc, &x); err != nil {
		p.t.Fatal(err)
	}
	i := x.Info
	p.do(`insert into session (id, project_id, slug, directory, title, version, time_created, time_updated) values (?, ?, ?, ?, ?, ?, ?, ?)`, i.ID, i.ProjectID, i.Slug, i.Directory, i.Title, i.Version, i.Time.Created, i.Time.Updated)
	text := func(m map[string]json.RawMessage, key string) (s string) {
		_ = json.Unmarshal(m[key], &s)
		return s
	}
	for n, m := range x.Messages {
		id := text(m.Info, "id")
		delete(m.Info, "id")
		delete(m.Info, "sessionID")
		data, _ := json.Marshal(m.Info)
		p.do(`insert into message values (?, ?, ?, ?, ?)`, id, i.ID, i.Time.Created+int64(n), i.Time.Created+int64(n), string(data))
		for k, part := range m.Parts {
			pid := fmt.Sprintf("%s-%02d", id, k) // those of the sample occur twice
			for _, key := range []string{"id", "sessionID", "messageID"} {
				delete(part, key)
			}
			data, _ := json.Marshal(part)
			p.do(`insert into part values (?, ?, ?, ?, ?, ?)`, pid, id, i.ID, 1, 1, string(data))
		}
	}
}

// TestExport writes what is in the database as `opencode export` does.
func TestExport(t *testing.T) {
	p := newProgram(t)
	sample, err := os.ReadFile(filepath.Join("..", "..", "samples", "opencode.json"))
	if err != nil {
		t.Fatal(err)
	}
	p.load(sample)
	db := p.look()
	list, err := db.Sessions(time.Time{})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	doc, held, err := db.Export(list[0].ID, true)
	if err != nil || held {
		t.Fatal(held, err)
	}
	if got, want := imported(t, doc), imported(t, sample); got != want || strings.Count(want, "\n") < 8 { // what watch writes, and import
		t.Errorf("the messages of the database are\n%s\nand of the export\n%s", got, want)
	}
	type export struct {
		Info     map[string]any
		Messages []struct {
			Info  map[string]any
			Parts []map[string]any
		}
	}
	var got, want export
	if err := json.Unmarshal(doc, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(sample, &want); err != nil {
		t.Fatal(err)
	}
	if len(got.Messages) != len(want.Messages) || len(want.Messages) < 5 {
		t.Fatalf("%d messages, want %d", len(got.Messages), len(want.Messages))
	}
	for i, m := range want.Messages {
		if fmt.Sprint(got.Messages[i].Info) != fmt.Sprint(m.Info) || len(got.Messages[i].Parts) != len(m.Parts) {
			t.Errorf("message %d is %v, want %v", i, got.Messages[i], m)
		}
		for k, part := range m.Parts {
			for _, key := range []string{"id", "sessionID", "messageID"} {
				delete(part, key)
				delete(got.Messages[i].Parts[k], key)
			}
			if fmt.Sprint(got.Messages[i].Parts[k]) != fmt.Sprint(part) {
				t.Errorf("message %d, part %d is %v, want %v", i, k, got.Messages[i].Parts[k], part)
			}
		}
	}
	for _, key := range []string{"id", "slug", "projectID", "directory", "title", "version", "time"} {
		if fmt.Sprint(got.Info[key]) != fmt.Sprint(want.Info[key]) {
			t.Errorf("%s is %v, want %v", key, got.Info[key], want.Info[key])
		}
	}
}

// lines keeps the messages of an import, their members in the order of their names: load does not keep another.
type lines struct{ strings.Builder }

func (l *lines) Message(line []byte) error {
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	return json.NewEncoder(l).Encode(m)
}
func (*lines) Event([]byte) error            { return nil }
func (*lines) Blob(d []byte) (string, error) { return fmt.Sprintf("blob-%x", len(d)), nil }

func imported(t *testing.T, doc []byte) string {
	t.Helper()
	var l lines
	if _, err := importer.Import(bytes.NewReader(doc), importer.OpenCode, &l, nil); err != nil {
		t.Fatal(err)
	}
	return l.String()
}

// TestInfo exports all that a session's row can say, in the order of OpenCode.
func TestInfo(t *testing.T) {
	p := newProgram(t)
	p.do(`insert into session values ('s', 'p', 'w', 'up', 'slug', '/d', '', 'T', '1', 'https://x?a&b', 1, null, 3, '[{"file":"a"}]', '{"k":1}', 0.25, 1, 2, 3, 4, 5, '{"messageID":"m"}', '[]', 'build', '{"id":"m","providerID":"f"}', 10, 11, 12, null)`)
	doc, held, err := p.look().Export("s", true)
	want := `{"info":{"id":"s","slug":"slug","projectID":"p","workspaceID":"w","directory":"/d","path":"","parentID":"up","title":"T","agent":"build","model":{"id":"m","providerID":"f"},"version":"1",` +
		`"summary":{"additions":1,"deletions":0,"files":3,"diffs":[{"file":"a"}]},"cost":0.25,"tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}},"share":{"url":"https://x?a&b"},` +
		`"metadata":{"k":1},"revert":{"messageID":"m"},"permission":[],"time":{"created":10,"updated":11,"compacting":12}},"messages":[]}`
	if err != nil || held || string(doc) != want {
		t.Errorf("%v, %v:\n got %s\nwant %s", held, err, doc, want)
	}
	if _, _, err := p.look().Export("none", true); err == nil {
		t.Error("a session that is not there was exported")
	}
}

// TestHeld ends an export before what still changes, and shows each change.
func TestHeld(t *testing.T) {
	p := newProgram(t)
	db := p.look()
	text := `{"type":"text","text":"well"}`
	call := func(status string) string { return `{"type":"tool","state":{"status":"` + status + `"}}` }
	stamp := ""
	for i, step := range []struct {
		id, data string
		parts    []string
		want     int
		held     bool
	}{
		{"m1", `{"role":"user"}`, nil, 0, true},
		{"m1", `{"role":"user"}`, []string{text}, 1, false},
		{"m2", `{"role":"assistant","time":{"created":1}}`, nil, 1, true},
		{"m2", `{"role":"assistant","time":{"created":1}}`, []string{text}, 1, true},
		{"m2", `{"role":"assistant","time":{"created":1}}`, []string{text, call("pending")}, 1, true},
		{"m2", `{"role":"assistant","time":{"created":1},"finish":"tool-calls"}`, []string{text, call("running")}, 1, true},
		{"m2", `{"role":"assistant","time":{"created":1},"finish":"tool-calls"}`, []string{text, call("completed")}, 1, true},
		{"m2", `{"role":"assistant","time":{"created":1,"completed":2},"finish":"tool-calls"}`, []string{text, call("completed")}, 2, false},
		{"m3", `{"role":"assistant","time":{"created":1},"error":{"name":"x"}}`, nil, 3, false},
		{"m4", `{"role":"assistant","time":{"created":1,"completed":2}}`, []string{text}, 4, false},
	} {
		p.put("s", step.id, step.data, step.parts...)
		list, err := db.Sessions(time.Time{})
		if err != nil || len(list) != 1 || list[0].Stamp() == stamp {
			t.Fatalf("step %d: %v, %v", i, list, err)
		}
		stamp = list[0].Stamp()
		for _, all := range []bool{false, true} {
			doc, held, err := db.Export("s", all)
			want, wantHeld := step.want, step.held
			if all && step.held {
				want, wantHeld = want+1, false
			}
			if got := bytes.Count(doc, []byte(`"role"`)); err != nil || got != want || held != wantHeld {
				t.Errorf("step %d, all %v: %d messages, held %v, %v; want %d, %v", i, all, got, held, err, want, wantHeld)
			}
		}
	}
}

// TestBeside reads while the program writes: neither waits for the other, and nothing of the database changes.
func TestBeside(t *testing.T) {
	p := newProgram(t)
	db := p.look()
	p.do(`begin immediate`) // the lock of a writer
	if _, err := db.Sessions(time.Time{}); err != nil {
		t.Errorf("beside a writer: %v", err)
	}
	p.do(`rollback`)
	done := make(chan error)
	go func() {
		var err error
		for range 200 {
			if _, e := db.Sessions(time.Time{}); e != nil {
				err = e
			}
		}
		done <- err
	}()
	p.do(`pragma busy_timeout = 0`) // it must never have to wait
	for i := range 200 {
		p.put("s", fmt.Sprint("m", i), `{"role":"user"}`, `{"type":"text","text":"x"}`)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := db.db.Exec(`delete from session`); err == nil {
		t.Error("the database can be written")
	}
	for _, bad := range []string{filepath.Join(t.TempDir(), "none.db"), "/etc/hostname"} {
		other, err := Open(bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Sessions(time.Time{}); err == nil {
			t.Errorf("%s was read", bad)
		}
		_ = other.Close()
		if _, err := os.Stat(bad); strings.HasSuffix(bad, ".db") && err == nil {
			t.Errorf("%s was made", bad)
		}
	}
}

// TestAtRest reads a database whose program has ended, and left no write-ahead log.
func TestAtRest(t *testing.T) {
	p := newProgram(t)
	p.put("s", "m", `{"role":"user"}`, `{"type":"text","text":"x"}`)
	if err := p.db.Close(); err != nil {
		t.Fatal(err)
	}
	if list, err := p.look().Sessions(time.Time{}); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
}
