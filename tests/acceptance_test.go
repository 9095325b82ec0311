package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/context/trace"
)

// in decodes a file of a trace that holds one record, and records one of lines.
func in[T any](t *testing.T, files map[string][]byte, name string) (v T) {
	t.Helper()
	if err := json.Unmarshal(files[name], &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func records[T any](t *testing.T, files map[string][]byte, name string) (out []T) {
	t.Helper()
	for dec := json.NewDecoder(strings.NewReader(string(files[name]))); dec.More(); {
		var v T
		if err := dec.Decode(&v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, v)
	}
	return out
}

func itemsOf(t *testing.T, files map[string][]byte) map[string]trace.Item {
	t.Helper()
	out := map[string]trace.Item{}
	for _, it := range records[trace.Item](t, files, "items.jsonl") {
		out[it.ItemID] = it
	}
	return out
}

// turn is a session with a history, notes, a pinned snippet and a tool's result.
func turn(t *testing.T, m *mount, name string) string {
	t.Helper()
	dir := m.session(name)
	for _, line := range []string{
		`{"role":"user","content":"Price the new plan.","turn_id":"turn-1","thread_id":"th-1"}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"call-1","name":"Read","input":{"file_path":"/w/prices.csv"}}],"id":"msg-1","response_id":"resp-1","model":"m-1"}`,
		`{"role":"tool","content":[{"type":"tool_result","tool_use_id":"call-1","content":"basic,10\npro,20"}]}`,
		`{"role":"user","content":"Now for teams, please.","turn_id":"turn-2","thread_id":"th-1","task_id":"task-7","attempt":1}`,
	} {
		add(t, dir+"/messages.jsonl", line+"\n")
	}
	if err := os.WriteFile(dir+"/context/pinned/knowledge.md", []byte("Prices end in 9.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(dir+"/context/todo.md", "- [ ] the team plan\n"); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The acceptance scenarios of Agent Context ("Acceptance scenarios"), through a mount.
func TestAcceptanceScenarios(t *testing.T) {
	m := newMount(t)
	t.Run("Turn snapshot", func(t *testing.T) {
		dir := turn(t, m, "snapshot")
		add(t, dir+"/context/injections.jsonl", `{"injection_point":"system_prompt"}`+"\n")
		files := traceOf(t, dir)
		e, items := envelope(t, files), itemsOf(t, files)
		var kinds []string
		for _, id := range e.ItemRefs {
			kinds = append(kinds, items[id].Kind)
		}
		for _, want := range []string{"system_prompt", "working_memory", "session_history"} {
			if !slices.Contains(kinds, want) {
				t.Errorf("no %s among %v", want, kinds)
			}
		}
		if e.Scope != "turn" || e.Lifecycle != "injected" || len(e.SurfaceRefs) != 1 || e.BudgetRef == "" || len(e.AssemblyRefs) != 1 || len(e.InjectionRefs) != 1 {
			t.Errorf("%+v", e)
		}
	})
	t.Run("Omitted context", func(t *testing.T) {
		dir := m.session("omitted")
		for _, topic := range []string{"apples", "pears", "plums", "cherries", "quinces"} {
			add(t, dir+"/messages.jsonl", message("assistant", strings.Repeat("About "+topic+" there is much to say. ", 60)))
		}
		add(t, dir+"/messages.jsonl", message("user", "What of plums?"))
		if err := write(dir+"/context/budget", "900\n"); err != nil {
			t.Fatal(err)
		}
		files := traceOf(t, dir)
		s, items := in[trace.Selection](t, files, "selection.json"), itemsOf(t, files)
		if len(s.Omitted) == 0 || len(s.Selected)+len(s.Omitted) != len(s.Candidates) {
			t.Errorf("%d selected and %d omitted of %d", len(s.Selected), len(s.Omitted), len(s.Candidates))
		}
		for _, o := range s.Omitted {
			if _, err := os.Stat(filepath.Join(dir, items[o.ItemRef].ContentRef)); err != nil || o.Reason == "" {
				t.Errorf("%+v: %v", o, err)
			}
		}
	})
	t.Run("Compaction", func(t *testing.T) {
		dir := turn(t, m, "compaction")
		run(t, "compact", dir, "--command", "echo shorter; echo 'loss: the wording' >&2")
		files := traceOf(t, dir)
		c, s := records[trace.Compaction](t, files, "compactions.jsonl"), in[trace.Summary](t, files, "summary.json")
		if len(c) != 1 || len(c[0].Sources) != 1 || c[0].SummaryRef != s.SummaryID || c[0].Coverage["items_covered"] != 4 || !slices.Contains(c[0].LossNotes, "the wording") || c[0].Replacement == "" {
			t.Errorf("%+v", c)
		}
		if items := itemsOf(t, files); items[c[0].Sources[0]].ContentRef != "context/swap/open/messages:1-4" {
			t.Errorf("what was compacted is not to be found: %+v", items[c[0].Sources[0]])
		}
	})
	t.Run("Tool-visible context", func(t *testing.T) {
		dir := m.session("tool")
		add(t, dir+"/messages.jsonl", message("user", "format it"))
		if err := os.MkdirAll(dir+"/context/child/c1/artifact", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/context/child/c1/artifact/style.json", []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		add(t, dir+"/context/injections.jsonl", "{}\n"+`{"target":"tool","injection_point":"tool_visible_resource","file":"context/child/c1/artifact/style.json"}`+"\n")
		got := records[trace.Injection](t, traceOf(t, dir), "injections.jsonl")
		if len(got) != 2 || got[0].Target != "model" || got[1].Target != "tool" || got[0].AssemblyID == got[1].AssemblyID || got[0].Hash == got[1].Hash {
			t.Errorf("%+v", got)
		}
		if strings.Contains(read(t, dir+"/context/pack.md"), "style.json") {
			t.Error("the model is shown the tool's resource")
		}
	})
	t.Run("Missing context", func(t *testing.T) {
		dir := m.session("missing")
		add(t, dir+"/messages.jsonl", message("user", "check the contract"))
		add(t, dir+"/context/missing.jsonl", `{"missing_id":"pdf","question":"The signed PDF is not here.","severity":"blocking","requested_from":"user","blocked_actions":["final_answer"],"status":"requested"}`+"\n")
		got := records[trace.Missing](t, traceOf(t, dir), "missing.jsonl")
		if len(got) != 1 || got[0].Severity != "blocking" || got[0].RequestedOf != "user" || !slices.Equal(got[0].Blocked, []string{"final_answer"}) || got[0].Status != "requested" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("Redaction", func(t *testing.T) {
		dir := m.session("redaction")
		add(t, dir+"/messages.jsonl", message("user", "The token is ghp"+"_"+strings.Repeat("aB3dE5gH7j", 4)[:36]+"."))
		files := traceOf(t, dir)
		r, a := records[trace.Redacted](t, files, "redactions.jsonl"), in[trace.Assembly](t, files, "assembly.json")
		if len(r) != 1 || r[0].State != "masked" || r[0].Method == "" || len(r[0].PolicyRefs) == 0 || a.RedactionState != "masked" || a.Blocks[0].RedactionState != "masked" {
			t.Errorf("%+v %+v", r, a)
		}
		if it := itemsOf(t, files)[r[0].ItemRef]; it.RedactionState != "masked" {
			t.Errorf("%+v", it)
		}
	})
}

// The runtime profile's cases, by their names.
func TestRuntimeProfile(t *testing.T) {
	m := newMount(t)
	dir := turn(t, m, "profile")
	add(t, dir+"/messages.jsonl", `{"role":"user","content":"Now for teams, please.","turn_id":"turn-2","task_id":"task-7","attempt":2,"run":"run-9"}`+"\n")
	files := traceOf(t, dir)
	refs := envelope(t, files).RuntimeRefs
	t.Run("ACTX-AR-ID-001", func(t *testing.T) { // native ids are kept
		for _, want := range []trace.Ref{{Kind: "turn", ID: "turn-1"}, {Kind: "turn", ID: "turn-2"}, {Kind: "thread", ID: "th-1"}, {Kind: "task", ID: "task-7"}, {Kind: "run", ID: "run-9"}, {Kind: "tool_call", ID: "call-1"}} {
			if !slices.Contains(refs, want) {
				t.Errorf("no %v in %v", want, refs)
			}
		}
		if got := string(files["sources.jsonl"]); !strings.Contains(got, `"response_id":"resp-1"`) || !strings.Contains(got, `"id":"msg-1"`) {
			t.Errorf("%s", got)
		}
	})
	t.Run("ACTX-AR-ID-002", func(t *testing.T) { // a task tried again keeps its older attempts
		for _, want := range []trace.Ref{{Kind: "attempt", ID: "task-7/1"}, {Kind: "attempt", ID: "task-7/2"}} {
			if !slices.Contains(refs, want) {
				t.Errorf("no %v in %v", want, refs)
			}
		}
	})
	t.Run("ACTX-AR-SEL-001", func(t *testing.T) { // selected and omitted are explicit
		s := in[trace.Selection](t, files, "selection.json")
		for _, id := range s.Candidates {
			omitted := slices.ContainsFunc(s.Omitted, func(o trace.OmittedRef) bool { return o.ItemRef == id })
			if slices.Contains(s.Selected, id) == omitted {
				t.Errorf("%s is in none or both", id)
			}
		}
	})
	t.Run("ACTX-AR-BUDGET-001", func(t *testing.T) { // the budget can be traced
		b, w := in[trace.Budget](t, files, "budget.json"), in[trace.Window](t, files, "window.json")
		sum := 0
		for _, s := range w.Segments {
			sum += s.Actual
		}
		if b.MaxTokens != 32000 || b.Actual != sum || b.ActualByte != len(read(t, dir+"/context/pack.md")) || b.Overflow == "" || w.BudgetRef != b.BudgetID {
			t.Errorf("%+v: segments take %d", b, sum)
		}
	})
	t.Run("ACTX-AR-ASM-001", func(t *testing.T) { // what was injected can be audited
		shown := read(t, dir+"/context/pack.md")
		run(t, "inject", dir)
		files := traceOf(t, dir)
		a, inj := in[trace.Assembly](t, files, "assembly.json"), records[trace.Injection](t, files, "injections.jsonl")
		if len(inj) != 1 || inj[0].AssemblyID != a.AssemblyID || inj[0].Hash != a.Hash {
			t.Errorf("%+v %+v", inj, a.Hash)
		}
		add(t, dir+"/messages.jsonl", message("assistant", "later"))
		if got := run(t, "replay", inj[0].ContextID, "--session", dir); got != shown {
			t.Errorf("replayed: %s", got)
		}
	})
	t.Run("ACTX-AR-MISSING-001", func(t *testing.T) { // what is missing can be asked for, and comes to an end
		add(t, dir+"/context/missing.jsonl", `{"missing_id":"x","question":"Where is it?","status":"requested","requested_from":"peer_agent"}`+"\n")
		add(t, dir+"/context/missing.jsonl", `{"missing_id":"x","status":"resolved","resolution_refs":["messages:3"]}`+"\n")
		files := traceOf(t, dir)
		if got := records[trace.Missing](t, files, "missing.jsonl"); len(got) != 1 || got[0].Status != "resolved" || got[0].RequestedOf != "peer_agent" || !slices.Equal(got[0].Resolution, []string{"messages:3"}) {
			t.Errorf("%+v", got)
		}
		events := read(t, dir+"/events.jsonl")
		for _, class := range []string{"context.missing.detected", "context.missing.requested", "context.missing.resolved"} {
			if !strings.Contains(events, class) {
				t.Errorf("no %s in events.jsonl", class)
			}
		}
	})
	t.Run("ACTX-AR-COMPACT-001", func(t *testing.T) { // a compaction keeps its boundary
		add(t, dir+"/messages.jsonl", `{"type":"compaction","role":"user","content":"So far: prices."}`+"\n")
		add(t, dir+"/messages.jsonl", message("user", "and now?"))
		n := strings.Count(read(t, dir+"/messages.jsonl"), "\n") - 1
		files := traceOf(t, dir)
		c := records[trace.Compaction](t, files, "compactions.jsonl")
		if len(c) != 1 || c[0].Coverage["items_covered"] != n-1 || c[0].Metadata["record"] != float64(n) {
			t.Errorf("%+v, want the boundary at %d", c, n)
		}
	})
	t.Run("ACTX-AR-POLICY-001", func(t *testing.T) { // what is redacted names its policy
		if err := write(dir+"/context/redact", "words literal:for teams\n"); err != nil {
			t.Fatal(err)
		}
		list := records[trace.Redacted](t, traceOf(t, dir), "redactions.jsonl")
		if len(list) == 0 {
			t.Error("nothing says that anything is masked")
		}
		for _, r := range list {
			if r.Method != "rule:words" || !slices.Equal(r.PolicyRefs, []string{"context/redact"}) || r.ItemRef == "" {
				t.Errorf("%+v", r)
			}
		}
		if strings.Contains(read(t, dir+"/context/pack.md"), "for teams") {
			t.Error("it is shown")
		}
	})
	t.Run("ACTX-AR-EVID-001", func(t *testing.T) { // evidence is cited by reference
		add(t, dir+"/messages.jsonl", `{"role":"assistant","content":"Pro is 20.","evidence_refs":["messages:3"]}`+"\n")
		files := traceOf(t, dir)
		if e := envelope(t, files); !slices.Contains(e.EvidenceRefs, "messages:3") || len(records[trace.Missing](t, files, "missing.jsonl")) != 1 {
			t.Errorf("%+v", e.EvidenceRefs)
		}
	})
	t.Run("ACTX-AR-GOV-001", func(t *testing.T) { // no record says how the runtime fares
		for name, data := range traceOf(t, dir) {
			for _, claim := range []string{`"runtime_status"`, `"run_status"`, `"task_status"`, `"execution_status"`, `"queue_status"`} {
				if strings.Contains(string(data), claim) {
					t.Errorf("%s holds %s", name, claim)
				}
			}
		}
	})
}
