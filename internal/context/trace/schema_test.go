package trace_test

import (
	"encoding/json"
	"os"
	"testing"

	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/trace"
	"ctxfs/schema/schematest"
)

// schemas says which schema the records of each file follow.
func schemas() map[string]string {
	out := map[string]string{}
	for file, name := range map[string]string{"envelope.json": "context-envelope", "surface.json": "context-surface", "items.jsonl": "context-item", "sources.jsonl": "source-ref",
		"selection.json": "selection", "budget.json": "budget", "window.json": "window", "assembly.json": "assembly", "injections.jsonl": "injection", "compactions.jsonl": "compaction",
		"summary.json": "summary", "missing.jsonl": "missing-context", "redactions.jsonl": "redaction", "events.jsonl": "event"} {
		out[file] = "agentcontext-" + name + ".schema.json"
	}
	return out
}

// full is a context in which all that there are records for has happened.
func full(t *testing.T) trace.In {
	log, err := os.ReadFile("../pack/testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	log = append(log, `{"role":"user","content":"The summary of what was before.","is_compact_summary":true,"isCompactSummary":true,"created_at":"2026-03-02T09:30:00Z"}`+"\n"+
		`{"role":"assistant","content":"Seen.","id":"m1","trace_id":"t1","model":"m","task_id":"7","attempt":2,"evidence_refs":["child:none"],"created_at":"2026-03-02T09:31:00Z"}`+"\n"...)
	in := context(t, log, 1000)
	in.Pack.Items[0].Masked = []pack.Masked{{Rule: "aws-access-token", Count: 2}}
	in.Before = &trace.Before{ContextID: "ctx-before", Items: append([]pack.Item{{Kind: "missing", Source: "context/pinned/a.ref", Note: "messages:99"}}, in.Pack.Items[1:]...)}
	in.Before.Items[1].Hash = "blake3-00"
	in.PolicyRefs = []string{"context/policy.json"}
	in.Resolves = func(string) bool { return false }
	in.Boundaries = []int{36}
	in.Compactions = []trace.Compaction{{CompactionID: "compact-1", Scope: "session", Sources: []string{"messages:1-20"}, SummaryRef: "context/summary.md", Method: "extractive_summary",
		Trigger: "manual", Coverage: map[string]int{"items_covered": 20}, LossNotes: []string{"wording"}, Replacement: "summary_beside_source", CreatedAt: "2026-03-02T09:00:00Z"}}
	in.Exports = []trace.Export{{ID: "x1", Time: "2026-03-02T09:40:00Z", Data: json.RawMessage(`{"to":"./wc"}`)}}
	for _, status := range []string{"open", "requested", "resolved"} {
		in.Missing = append(in.Missing, trace.Missing{MissingID: "missing-" + status, Scope: "turn", Question: "where is it?", Severity: "blocking", Status: status, RequestedOf: "user",
			Candidates: []trace.MissingHint{{Kind: "file", Hint: "the file"}}, Resolution: []string{"messages:3"}, CreatedAt: "2026-03-02T09:00:00Z"})
	}
	ctx := trace.ContextID(in.Session.ID, in.Target, in.Pack, in.Input)
	hash := "blake3-0000000000000000000000000000000000000000000000000000000000000000"
	in.Injections = []trace.Injection{{InjectionID: "inject-1", ContextID: ctx, AssemblyID: trace.AssemblyID(ctx, "model"), Target: "model", Point: "system_prompt", NativeID: "resp_1",
		Visibility: []string{"model"}, FinalRef: "context/pack.md", Hash: hash, CreatedAt: "2026-03-02T09:41:00Z"},
		{InjectionID: "inject-2", ContextID: ctx, AssemblyID: trace.ShownID(ctx, "tool", hash), Target: "tool", Point: "tool_visible_resource", Visibility: []string{"tool"},
			FinalRef: hash, Hash: hash, CreatedAt: "2026-03-02T09:42:00Z"}}
	return in
}

// TestSchemas holds each record of a context in which everything has happened to its schema, and proves that the schemas
// refuse: each kind of record is broken in every way that its schema speaks of.
func TestSchemas(t *testing.T) {
	s, files := schematest.New(t), records(t, full(t))
	check(t, files)
	seen := map[any]bool{}
	for _, file := range trace.Names() {
		name := schemas()[file]
		if s.Holds(t, name, files[file]) == 0 {
			t.Errorf("%s is empty: nothing was tested", file)
			continue
		}
		if n := s.Refuses(t, name, schematest.Values(t, files[file])[0]); n < 6 {
			t.Errorf("%s: broken in %d ways only", file, n)
		}
	}
	for _, v := range schematest.Values(t, files["events.jsonl"]) {
		o, _ := v.(map[string]any)
		seen[o["type"]] = true
	}
	if len(seen) != 18 {
		t.Errorf("%d of the 18 event classes were tested: %v", len(seen), seen)
	}
}

// TestSchemasReal holds the records of real sessions to their schemas.
func TestSchemasReal(t *testing.T) {
	s, done := schematest.New(t), 0
	for _, log := range realLogs(t) {
		if done++; done > 12 {
			break
		}
		for file, data := range records(t, context(t, log, 8000)) {
			s.Holds(t, schemas()[file], data)
		}
	}
}
