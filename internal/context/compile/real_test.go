package compile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/context/compile"
	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/trace"
	"ctxfs/internal/quality/corpus"
	"ctxfs/internal/record"
	"ctxfs/schema/schematest"
)

// realLogs gives the agents' logs beside the repository that ctxfs imports.
func realLogs(t testing.TB) map[string]corpus.Session {
	t.Helper()
	dir := corpus.Dir()
	if dir == "" {
		t.Skip("SKIP: ../shared/data is not here: no real session is compiled")
	}
	list, err := corpus.Coding(dir)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d logs were imported: %v", len(list), err)
	}
	out := map[string]corpus.Session{}
	for _, s := range list {
		out[s.Name] = s
	}
	return out
}

// TestRealSessions compiles real sessions: the files follow their schemas, each reference to the trace resolves there, each path
// names something, and what is bounded is.
func TestRealSessions(t *testing.T) {
	s, done, loops, facts, ticked := schematest.New(t), 0, 0, 0, 0
	logs := realLogs(t)
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		log := logs[name]
		if done++; testing.Short() && done > 6 {
			break
		}
		for i, budget := range []int{8000, 500} {
			if i > 0 && done%4 != 0 {
				break // the small one costs as much and differs less
			}
			in := input(t, log.Log, pack.Input{Budget: budget})
			in.Authored, in.Events = authored(t), log.Events
			files := build(t, in)
			for file, data := range files {
				s.Holds(t, schemas()[file], data)
				if n := bytes.Count(data, []byte("\n")); strings.HasSuffix(file, ".jsonl") && n > 200 {
					t.Errorf("%s: %s has %d lines", name, file, n)
				}
			}
			known := traced(t, in)
			resolve(t, name, files, known)
			v := read[compile.PackV2](t, files["pack.v2.json"])
			loops, facts, ticked = loops+len(v.Loops), facts+len(v.Facts), ticked+bytes.Count(in.Todo, []byte("\n- [x] "))
			lines := strings.Split(string(in.Todo), "\n")
			for _, e := range v.Loops {
				if e.Kind == "todo" && strings.HasPrefix(lines[*e.Anchor.Start-1], "- [x] ") {
					t.Errorf("%s: a ticked todo is an open loop", name)
				}
			}
			if v.Intent == nil && in.Pack.Query != "" || len(v.Evidence) == 0 && budget > 500 && in.Input.History.Len() > 0 {
				t.Errorf("%s: no intent or no evidence", name)
			}
		}
	}
	if !testing.Short() && (loops == 0 || facts == 0 || ticked == 0) {
		t.Errorf("%d open loops, %d facts, %d ticked todos in %d sessions: nothing was tested", loops, facts, ticked, done)
	}
}

// traced gives the ids of items and sources that the trace of the same pack has.
func traced(t testing.TB, in compile.In) map[string]bool {
	t.Helper()
	tr, err := trace.Build(trace.In{Session: in.Session, Pack: in.Pack, Input: in.Input, Target: "model", File: in.File, Producer: in.Producer, Tokenizer: in.Tokenizer, Created: in.Created})
	if err != nil {
		t.Fatal(err)
	}
	if tr.ContextID != in.ContextID {
		t.Errorf("context %s, the trace has %s", in.ContextID, tr.ContextID)
	}
	known := map[string]bool{}
	for _, file := range []string{"items.jsonl", "sources.jsonl"} {
		for _, r := range rows[map[string]any](t, tr.File(file)) {
			for _, key := range []string{"item_id", "source_id"} {
				if id, ok := r[key].(string); ok {
					known[id] = true
				}
			}
		}
	}
	return known
}

// resolve walks everything that was compiled: ids of items and sources, and the shape of paths.
func resolve(t testing.TB, name string, files map[string][]byte, known map[string]bool) {
	t.Helper()
	var walk func(file string, v any)
	walk = func(file string, v any) {
		switch x := v.(type) {
		case []any:
			for _, e := range x {
				walk(file, e)
			}
		case map[string]any:
			for _, key := range []string{"item_id", "source_id"} {
				if id, ok := x[key].(string); ok && !known[id] {
					t.Errorf("%s: %s: %s %s is not in the trace", name, file, key, id)
				}
			}
			for _, key := range []string{"evidence_ids", "dropped_block_ids"} {
				list, _ := x[key].([]any)
				for _, id := range list {
					if s := fmt.Sprint(id); strings.HasPrefix(s, "item-") && !known[s] {
						t.Errorf("%s: %s: %s %s is not in the trace", name, file, key, s)
					}
				}
			}
			if p, ok := x["path"].(string); ok && !strings.HasPrefix(p, "context/") && p != "events.jsonl" && p != "messages.jsonl" && p != "query" {
				t.Errorf("%s: %s: path %q", name, file, p)
			}
			for _, e := range x {
				walk(file, e)
			}
		}
	}
	for file, data := range files {
		for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
			var v any
			if err := d.Decode(&v); err != nil {
				t.Fatal(err)
			}
			walk(file, v)
		}
	}
}

// BenchmarkCompile is what compiling costs over the larger real sessions at 32,000 tokens.
func BenchmarkCompile(b *testing.B) {
	var inputs []compile.In
	logs := realLogs(b)
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		log := logs[name]
		if len(log.Log) > 1<<20 && len(inputs) < 8 {
			in := input(b, log.Log, pack.Input{Budget: 32000})
			in.Authored, in.Events = authored(b), log.Events
			inputs = append(inputs, in)
		}
	}
	for b.Loop() {
		for _, in := range inputs {
			if _, err := compile.Build(in); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*len(inputs)), "ms/compile")
}

// BenchmarkPack is what the packs themselves cost, to compare.
func BenchmarkPack(b *testing.B) {
	enc, err := tokenizer()
	if err != nil {
		b.Fatal(err)
	}
	var sets []*pack.Workset
	var inputs []pack.Input
	logs := realLogs(b)
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		log := logs[name]
		if len(log.Log) > 1<<20 && len(inputs) < 8 {
			h, w := record.NewMemory(log.Log), pack.NewWorkset(enc)
			for n := 1; n <= h.Len(); n++ {
				raw, _ := h.Raw(n)
				if r, err := h.Record(n); err == nil {
					w.Add(r, raw)
				} else {
					w.AddBad(n, raw, err.Error())
				}
			}
			sets, inputs = append(sets, w), append(inputs, pack.Input{Session: "s", Agent: "coder", Budget: 32000, History: h})
		}
	}
	i := 0
	for b.Loop() {
		i++
		for k, w := range sets {
			in := inputs[k]
			in.Budget += i % 2 // no pack is asked for twice
			if _, err := w.Build(in); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*len(inputs)), "ms/pack")
}
