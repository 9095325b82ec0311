package session_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/chunkstore"
	"ctxfs/internal/context/pack"
	"ctxfs/internal/gc"
	"ctxfs/internal/importer"
	"ctxfs/internal/session"
	"ctxfs/internal/verify"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// realLogs lists the real Claude Code and Codex logs beside the repository.
func realLogs(t testing.TB) []string {
	t.Helper()
	dir, err := os.Getwd()
	must(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	var all []string
	for _, kind := range []string{"claude-code", "codex"} {
		list, err := filepath.Glob(filepath.Join(dir, "..", "shared", "data", kind, "*", "*.jsonl"))
		must(t, err)
		all = append(all, list...)
	}
	if len(all) == 0 {
		t.Skip("SKIP: ../shared/data is not here")
	}
	return all
}

// sink writes an import into a session of a store, through writers in pieces as programs have them.
type sink struct {
	t                *testing.T
	messages, events *appendTo
	blobs            *chunkstore.Store
}

type appendTo struct {
	x    *session.Session
	name string
	all  []byte // what was written
}

func (a *appendTo) line(line []byte) error {
	l, err := a.x.Log(a.name)
	if err != nil {
		return err
	}
	defer a.x.Release()
	w := l.NewWriter()
	defer w.Close()
	if err := errors.Join(w.Write(line), w.Write([]byte{'\n'})); err != nil {
		return err
	}
	a.all = append(append(a.all, line...), '\n')
	a.x.Appended(a.name)
	return nil
}

func (s *sink) Message(line []byte) error { return s.messages.line(line) }
func (s *sink) Event(line []byte) error   { return s.events.line(line) }
func (s *sink) Blob(data []byte) (string, error) {
	id, err := s.blobs.Put(data)
	return id.String(), err
}

// TestRealSessions imports every real log, and packs it at 8,000 and 32,000 tokens: each pack is within its budget, and
// the same after its log was archived and the store opened again. Then every log takes a line more, is archived again, and the
// whole store is collected and verified: no byte of history is another.
func TestRealSessions(t *testing.T) {
	logs := realLogs(t)
	if testing.Short() || slow {
		logs = logs[:6]
	}
	dir := t.TempDir()
	store, err := session.Open(dir, session.Options{})
	must(t, err)
	packs := map[string][]*pack.Pack{}
	records := 0
	history := map[string][]byte{}
	for _, path := range logs {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		name = name[:min(len(name), session.MaxName)]
		x, messages := importOne(t, store, name, path)
		records += bytes.Count(messages, []byte{'\n'})
		packs[name], history[name] = packTwice(t, store, x), messages
		_, err := x.Archive()
		must(t, err)
	}
	must(t, store.Close())
	again, err := session.Open(dir, session.Options{})
	must(t, err)
	defer again.Close()
	c, err := again.Container("home/1000/agent/real")
	must(t, err)
	for name, before := range packs {
		x, err := c.Session(name)
		must(t, err)
		appendAndArchive(t, x, history[name], before)
	}
	plan, err := gc.Make(again, gc.Options{Now: time.Now()})
	must(t, err)
	freed, err := gc.Run(again, plan, nil)
	must(t, err)
	records += len(logs)
	for name, want := range history {
		x, err := c.Session(name)
		must(t, err)
		sameHistory(t, x, append(want, extra...))
	}
	r, err := verify.Store(again, nil)
	if err != nil || len(r.Problems) != 0 || r.Sessions != len(logs) || r.Records != records || r.Quarantined != 0 {
		t.Errorf("verify: %+v, %v; %d logs, %d records", r, err, len(logs), records)
	}
	t.Logf("%d logs, %d records, %d events, %d blobs, %d bytes; gc: %+v", len(logs), r.Records, r.Events, r.Blobs, r.Bytes, freed)
}

const extra = `{"role":"user","content":"and on"}` + "\n"

// appendAndArchive holds an archived session to its history and its packs, and archives a line more.
func appendAndArchive(t *testing.T, x *session.Session, history []byte, packs []*pack.Pack) {
	t.Helper()
	sameHistory(t, x, history)
	for i, p := range packTwice(t, x.Store(), x) {
		if !bytes.Equal(p.Markdown, packs[i].Markdown) || !bytes.Equal(p.JSON, packs[i].JSON) {
			t.Errorf("%s: archived and opened again, the pack of %d tokens is another one", x.Name(), packs[i].Tokens)
		}
	}
	l, err := x.Log(session.Messages)
	must(t, err)
	must(t, l.Commit([]byte(extra)))
	x.Release()
	_, err = x.Archive()
	must(t, err)
}

func sameHistory(t *testing.T, x *session.Session, want []byte) {
	t.Helper()
	l, err := x.Log(session.Messages)
	must(t, err)
	defer x.Release()
	got := make([]byte, l.Size())
	if _, err := l.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes of history, want %d, %v", x.Name(), len(got), len(want), err)
	}
}

// importOne imports a log, and holds the session's own to what was written.
func importOne(t *testing.T, store *session.Store, name, path string) (*session.Session, []byte) {
	t.Helper()
	c, err := store.Container("home/1000/agent/real")
	must(t, err)
	x, err := c.Create(name, session.Caller{UID: 1000, GID: 1000})
	must(t, err)
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	head := make([]byte, 256<<10)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	format, err := importer.Detect(head[:n])
	must(t, err)
	blobs, err := session.OpenCold(store.Dir(), "home/1000", chunkstore.Options{Owner: beneath.Owner{UID: 1000, GID: 1000, Chown: os.Geteuid() == 0}})
	must(t, err)
	defer blobs.Close()
	s := &sink{t: t, messages: &appendTo{x: x, name: session.Messages}, events: &appendTo{x: x, name: session.Events},
		blobs: blobs}
	report, err := importer.Import(io.MultiReader(bytes.NewReader(head[:n]), f), format, s, nil)
	must(t, err)
	must(t, report.Check())
	for _, a := range []*appendTo{s.messages, s.events} {
		if got, err := os.ReadFile(filepath.Join(store.Path(), x.Rel(), a.name)); err != nil || !bytes.Equal(got, a.all) {
			t.Errorf("%s: %s has %d bytes, %d were written, %v", name, a.name, len(got), len(a.all), err)
		}
	}
	return x, s.messages.all
}

// packTwice packs a session at both budgets.
func packTwice(t *testing.T, store *session.Store, x *session.Session) []*pack.Pack {
	t.Helper()
	var out []*pack.Pack
	for _, budget := range []int{8000, 32000} {
		p, err := x.Pack(session.PackFile{Budget: budget})
		must(t, err)
		if n, err := store.Tokens(p.Markdown); err != nil || n != p.Tokens || n > budget || n == 0 || len(p.Items) == 0 {
			t.Errorf("%s at %d: %d tokens, the pack says %d, %d items", x.Name(), budget, n, p.Tokens, len(p.Items))
		}
		out = append(out, p)
	}
	return out
}
