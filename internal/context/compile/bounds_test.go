package compile_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"ctxfs/internal/context/compile"
	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/trace"
	"ctxfs/schema/schematest"
)

// TestBounds gives more of everything than fits: what is left out is told of.
func TestBounds(t *testing.T) {
	var log, facts, decisions, todo, refs bytes.Buffer
	for i := range 700 {
		fmt.Fprintf(&log, "{\"role\":\"user\",\"content\":\"request %d\"}\n{\"role\":\"assistant\",\"content\":\"answer %d\"}\n", i, i)
		fmt.Fprintf(&facts, "{\"id\":\"f%d\",\"text\":\"fact %d\",\"source\":\"messages:%d\"}\n", i, i, i+1)
		fmt.Fprintf(&decisions, "{\"id\":\"d%d\",\"decision\":\"decision %d\"}\n", i, i)
		fmt.Fprintf(&todo, "- [ ] thing %d\n", i)
		fmt.Fprintf(&refs, "{\"id\":\"r%d\",\"path\":\"file%d.go\",\"kind\":\"file\",\"source\":\"messages:%d\"}\n", i, i, i+1)
	}
	in := input(t, log.Bytes(), pack.Input{Budget: 60000, Authored: pack.Authored{Facts: facts.Bytes(), Decisions: decisions.Bytes(), Todo: todo.Bytes(), Refs: refs.Bytes()}})
	for i := range 900 {
		in.Events = append(in.Events, fmt.Appendf(nil, `{"id":"e%d","type":"ctxfs.run.started","time":"2026-03-01T09:00:00Z","data":{"run":"r%d"}}`, i, i))
	}
	in.FirstEvent = 101
	files := build(t, in)
	v, e := read[compile.PackV2](t, files["pack.v2.json"]), read[compile.Envelope](t, files["compiler.json"])
	if len(v.Facts) != 64 || len(v.Decisions) != 64 || len(v.Loops) != 64 || len(v.Episode.Files) != 10 || len(v.Episode.Runs) != 10 {
		t.Errorf("%d facts, %d decisions, %d loops, %d files, %d runs", len(v.Facts), len(v.Decisions), len(v.Loops), len(v.Episode.Files), len(v.Episode.Runs))
	}
	if v.Episode.Files[0].File != "file699.go" || *v.Episode.Runs[9].Anchor.Start != 1000 {
		t.Errorf("the newest file is %s, the newest event line %d", v.Episode.Files[0].File, *v.Episode.Runs[9].Anchor.Start)
	}
	if n := v.Budget.Beyond; n["durable_facts"] != 436 || n["prior_decisions"] != 436 || n["open_loops"] != 636 || e.Budget.Dropped.PackV2["too_many"] != 436+436+636 || len(v.Dropped) != 0 {
		t.Errorf("%v are too many, %v, %d dropped", n, e.Budget.Dropped.PackV2, len(v.Dropped))
	}
	if !strings.Contains(strings.Join(e.Ledger.Warnings, "\n"), "facts: the first 200 lines are not looked at") {
		t.Errorf("warnings %v", e.Ledger.Warnings)
	}
	for file, most := range map[string]int{"channels/journal.jsonl": 200, "channels/review.jsonl": 94, "channels/timeline.jsonl": 200} {
		if n := bytes.Count(files[file], []byte("\n")); n != most || e.Channels[file].Entries != n || e.Channels[file].From != "messages:1001" {
			t.Errorf("%s has %d lines, %+v", file, n, e.Channels[file])
		}
	}
}

// TestOf takes what a trace says: its gaps too.
func TestOf(t *testing.T) {
	in := input(t, session(t), pack.Input{Budget: 8000, Pinned: []pack.File{{Path: "context/pinned/a.ref", Data: []byte("messages:99\n")}}})
	ti := trace.In{Session: in.Session, Pack: in.Pack, Input: in.Input, Target: "model", File: in.File, Producer: "test", Tokenizer: in.Tokenizer, Created: in.Created}
	tr, err := trace.Build(ti)
	if err != nil {
		t.Fatal(err)
	}
	got, err := compile.Of(ti, tr)
	if err != nil {
		t.Fatal(err)
	}
	got.Count = in.Count
	v := read[compile.PackV2](t, build(t, got)["pack.v2.json"])
	if len(v.Loops) == 0 || v.Loops[0].Kind != "missing" && v.Loops[1].Kind != "missing" || v.ContextID != tr.ContextID {
		t.Errorf("%+v", v.Loops)
	}
}

// FuzzBuild gives what agents may write in their own files, and programs in events: whatever it is, what comes out follows the
// schemas, and the same comes out again.
func FuzzBuild(f *testing.F) {
	f.Add([]byte(`{"id":"a","text":"x","source":"messages:2"}`), []byte("- [ ] a (in progress, messages:1)\n"), []byte(`{"type":"ctxfs.run.started","data":{"run":"r"}}`))
	f.Add([]byte(`{"decision":7,"superseded_by":"b"}`), []byte("* [x] b\n- [ ]"), []byte(`{"type":"a","time":"never","id":{}}`))
	f.Add([]byte(`{"text":"a","path":"p","kind":"file","source":"messages:99999999999999999999"}`), []byte("\xff- [ ] \x00"), []byte(`[]`))
	log := bytes.Join(bytes.SplitAfter(session(f), []byte("\n"))[:4], nil)
	base, s := input(f, log, pack.Input{Budget: 2000}), schematest.New(f)
	f.Fuzz(func(t *testing.T, lines, todo, event []byte) {
		in := base
		in.Facts, in.Decisions, in.Refs, in.Todo, in.Events = lines, lines, lines, todo, [][]byte{event}
		files := build(t, in)
		for file, data := range files {
			s.Holds(t, schemas()[file], data)
		}
		for file, data := range build(t, in) {
			if !bytes.Equal(data, files[file]) {
				t.Errorf("%s differs when it is made again", file)
			}
		}
	})
}
