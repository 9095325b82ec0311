package compile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/context/compile"
	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/trace"
	"ctxfs/internal/swap"
)

func read[T any](t testing.TB, data []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func rows[T any](t testing.TB, data []byte) (out []T) {
	t.Helper()
	for l := range bytes.Lines(data) {
		out = append(out, read[T](t, l))
	}
	return out
}

// ids lists the ids of entries.
func ids(list []compile.Entry) (out []string) {
	for _, e := range list {
		out = append(out, e.ID)
	}
	return out
}

// TestBudget holds the rule of enforce_budget: what is dropped has no higher score than what stays; its provenance stays while
// there is an entry that could go; what governs is never dropped; what is used fits, else a warning says so.
func TestBudget(t *testing.T) {
	last := -1
	for _, budget := range []int{0, 300, 1000, 1800, 2200, 2600, 3000, 8000} {
		in := full(t, 8000)
		in.Input.Budget = budget // the same pack, so that only the budget differs
		v := read[compile.PackV2](t, build(t, in)["pack.v2.json"])
		lowest := 2.0
		cut := [][]compile.Entry{v.Facts, v.Evidence, v.Decisions, v.Loops, v.Plan, v.Preferences}
		stay := 0
		for _, list := range cut {
			stay += len(list)
			for i, e := range list {
				lowest = min(lowest, e.Score)
				if i > 0 && list[i-1].Score < e.Score {
					t.Errorf("budget %d: %s stands behind a lower score", budget, e.ID)
				}
				if e.Path == "" {
					t.Errorf("budget %d: %s has no provenance", budget, e.ID)
				}
			}
		}
		for _, d := range v.Dropped {
			if d.Reason == "budget_limit" && d.Score > lowest {
				t.Errorf("budget %d: %s with %v is dropped, and one with %v stays", budget, d.ID, d.Score, lowest)
			}
			if d.Path == "" {
				t.Errorf("budget %d: dropped %s has lost its provenance", budget, d.ID)
			}
		}
		if v.Budget.Lost > 0 && stay > 0 {
			t.Errorf("budget %d: provenance is dropped while %d entries stay", budget, stay)
		}
		if len(v.Constraints) != 4 || len(v.Success) != 2 || len(v.Controls) != 8 || len(v.Allowed) != 2 || v.Intent == nil {
			t.Errorf("budget %d: something that governs is dropped", budget)
		}
		if v.Budget.Used > v.Budget.Max && (stay > 0 || !strings.Contains(fmt.Sprint(v.Budget.Warnings), "never left out")) {
			t.Errorf("budget %d: %d tokens are used, %v", budget, v.Budget.Used, v.Budget.Warnings)
		}
		if stay < last {
			t.Errorf("budget %d: fewer entries than with less", budget)
		}
		last = stay
	}
}

// TestSnapshot changes one thing after the other: the hash and the version change each time, and do not when nothing does.
func TestSnapshot(t *testing.T) {
	seen := map[string]string{}
	made := func(name string, change func(in *compile.In)) {
		in := full(t, 8000)
		change(&in)
		out, err := compile.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []string{out.Snapshot, out.Version} {
			if other, ok := seen[h]; ok {
				t.Errorf("%s compiles to the same as %s", name, other)
			}
			seen[h] = name
		}
		again, err := compile.Build(in)
		if err != nil || again.Snapshot != out.Snapshot || again.Version != out.Version || again.PackID != out.PackID {
			t.Errorf("%s compiles differently again: %v", name, err)
		}
	}
	made("as it is", func(*compile.In) {})
	for i, f := range []func(a *compile.Authored) *[]byte{func(a *compile.Authored) *[]byte { return &a.Constraints }, func(a *compile.Authored) *[]byte { return &a.Preferences },
		func(a *compile.Authored) *[]byte { return &a.Success }, func(a *compile.Authored) *[]byte { return &a.Plan }, func(a *compile.Authored) *[]byte { return &a.Tools },
		func(a *compile.Authored) *[]byte { return &a.Policy }} {
		made(fmt.Sprintf("authored file %d with a blank line", i), func(in *compile.In) { p := f(&in.Authored); *p = append(slices.Clone(*p), '\n') })
		made(fmt.Sprintf("no authored file %d", i), func(in *compile.In) { *f(&in.Authored) = nil })
	}
	made("another budget", func(in *compile.In) { in.Input.Budget = 7999 })
	made("another state", func(in *compile.In) { in.State = "paused" })
	made("another gap", func(in *compile.In) { in.Missing = in.Missing[1:] })
	made("another time", func(in *compile.In) { in.Created = "2026-03-15T09:00:00Z" })
	made("another event", func(in *compile.In) { in.Events = in.Events[:4] })
	made("another log", func(in *compile.In) {
		*in = input(t, append(session(t), `{"role":"assistant","content":"Done."}`+"\n"...), pack.Input{Budget: 8000})
	})
}

// TestContentHash makes the content hash and the snapshot's again from the files, as docs/formats.md says.
func TestContentHash(t *testing.T) {
	out, err := compile.Build(full(t, 8000))
	if err != nil {
		t.Fatal(err)
	}
	d := read[map[string]any](t, out.File("contextos.json"))
	contract, _ := d["contract_meta"].(map[string]any)
	meta, _ := d["pack_meta"].(map[string]any)
	want, ref := contract["content_hash"], contract["pack_ref"]
	contract["content_hash"], contract["pack_ref"], contract["producer"], meta["version"] = "", "", map[string]any{"id": ""}, ""
	data, err := compile.Canonical(d)
	if err != nil {
		t.Fatal(err)
	}
	got := swap.Sum(data).String()
	if got != want || ref != out.PackID+"@"+out.Version || got[len("blake3-"):][:16] != out.Version {
		t.Errorf("content_hash %v, pack_ref %v: made again %s", want, ref, got)
	}
	c := read[map[string]any](t, out.File("compiler.json"))
	ledger, _ := c["context_ledger"].(map[string]any)
	data, err = compile.Canonical(map[string]any{"inputs": ledger["inputs"], "pack": swap.Sum(full(t, 8000).Pack.Markdown).String(), "pack_v2": swap.Sum(out.File("pack.v2.json")).String(),
		"manifests": c["manifests"], "runtime_controls": c["runtime_controls"], "budget_report": c["budget_report"]})
	if err != nil || swap.Sum(data).String() != out.Snapshot {
		t.Errorf("context_snapshot_hash %s, made again %s, %v", out.Snapshot, swap.Sum(data), err)
	}
	e := read[compile.Envelope](t, out.File("compiler.json"))
	if e.PackRef != ref || e.Ledger.PackRef != ref || e.Ledger.Snapshot != out.Snapshot {
		t.Errorf("compiler.json names %s and %s", e.PackRef, e.Ledger.Snapshot)
	}
}

// TestPreserved holds what the projection must keep: evidence ids, permissions, approval modes, runtime controls, memory policy,
// evaluator targets.
func TestPreserved(t *testing.T) {
	files := build(t, full(t, 8000))
	v, e, c := read[compile.PackV2](t, files["pack.v2.json"]), read[compile.Envelope](t, files["compiler.json"]), read[compile.ContextOS](t, files["contextos.json"])
	if !slices.Equal(c.Intelligence.Evidence, e.Ledger.Evidence) || len(c.Intelligence.Evidence) == 0 {
		t.Errorf("evidence ids %v, compiled %v", c.Intelligence.Evidence, e.Ledger.Evidence)
	}
	if c.Tooling.Permissions["deploy"] != "deny" || c.Tooling.Permissions["shell"] != "require_approval" || c.Tooling.Permissions["edit"] != "allow" {
		t.Errorf("permissions %v", c.Tooling.Permissions)
	}
	if c.Tooling.Approvals["deploy"] != "network" || c.Tooling.Approvals["shell"] != "destructive" {
		t.Errorf("approval modes %v", c.Tooling.Approvals)
	}
	if _, ok := c.Tooling.Permissions["linter"]; ok {
		t.Error("a tool that the model may not know of is listed")
	}
	if !slices.Equal(c.Policy.Controls.Denied, []string{"force-push", "deploy"}) || !slices.Equal(c.Policy.Controls.Approval, []string{"shell", "tag-release"}) {
		t.Errorf("runtime controls %+v", c.Policy.Controls)
	}
	if c.Memory.Policy["facts"] != "agent_may_write" || c.Memory.Defaults["history"] != "append_only" {
		t.Errorf("memory policy %v, defaults %v", c.Memory.Policy, c.Memory.Defaults)
	}
	if !slices.Equal(ids(c.Evaluation.Targets), ids(v.Success)) || len(v.Success) != 2 || c.Evaluation.Targets[0].Check != "make test" {
		t.Errorf("evaluator targets %v", c.Evaluation.Targets)
	}
	if c.Tone.Tone["voice"] != "plain" {
		t.Errorf("tone %v", c.Tone)
	}
	if ids(v.Plan)[0] != "s2" || len(v.Plan) != 2 || v.Plan[0].DependsOn[0] != "s1" {
		t.Errorf("plan %v: s1 is done", ids(v.Plan))
	}
}

// TestNothingInvented compiles an empty session: nothing is said of what nobody said.
func TestNothingInvented(t *testing.T) {
	v := read[compile.PackV2](t, build(t, input(t, nil, pack.Input{Budget: 1000}))["pack.v2.json"])
	for name, list := range map[string][]compile.Entry{"constraints": v.Constraints, "preferences": v.Preferences, "facts": v.Facts, "evidence": v.Evidence, "decisions": v.Decisions,
		"loops": v.Loops, "plan": v.Plan, "success": v.Success} {
		if list == nil || len(list) != 0 {
			t.Errorf("%s of an empty session: %v", name, list)
		}
	}
	if v.Intent != nil || v.Episode.Records != 0 || v.Episode.LastUser != nil || len(v.Allowed)+len(v.Controls)+len(v.Routing) != 0 {
		t.Errorf("%+v", v)
	}
}

// TestUnread: an authored file that cannot be read is told of, and without a policy no tool is exposed.
func TestUnread(t *testing.T) {
	in := full(t, 8000)
	in.Authored.Tools = append(slices.Clone(in.Authored.Tools), "{}\n"...)
	e := read[compile.Envelope](t, build(t, in)["compiler.json"])
	if len(e.Manifests.Policy.Unread) != 1 || !strings.Contains(e.Manifests.Policy.Unread[0].Error, "line 6: name: is missing") || !e.Manifests.Tool.Tools[0].Exposed {
		t.Errorf("%+v", e.Manifests.Policy.Unread)
	}
	in = full(t, 8000)
	in.Authored.Policy = []byte(`{"rules":`)
	e = read[compile.Envelope](t, build(t, in)["compiler.json"])
	if len(e.Ledger.Tools) != 0 || e.Manifests.Tool.Tools[2].Permission != "deny" {
		t.Errorf("a policy that cannot be read exposes %v", e.Ledger.Tools)
	}
}

// TestRules gives each effect to tools by name, class, risk and approval: deny wins, whatever the order.
func TestRules(t *testing.T) {
	for _, x := range []struct{ rules, want string }{
		{`[]`, "allow"},
		{`[{"id":"a","effect":"require_approval","applies_to":"edit"}]`, "require_approval"},
		{`[{"id":"a","effect":"deny","applies_to":"capability:act"},{"id":"b","effect":"require_approval","applies_to":"edit"}]`, "deny"},
		{`[{"id":"b","effect":"require_approval","applies_to":"*"},{"id":"a","effect":"deny","applies_to":"tool:ed*"}]`, "deny"},
		{`[{"id":"a","effect":"deny","applies_to":"risk:write_*"},{"id":"b","effect":"allow","applies_to":"edit"}]`, "deny"},
		{`[{"id":"a","effect":"require_approval","applies_to":"approval:local_write"},{"id":"b","effect":"allow","applies_to":"edit"}]`, "require_approval"},
		{`[{"id":"a","effect":"deny","applies_to":["action:edit","tool:read"]}]`, "allow"},
	} {
		in := full(t, 8000)
		in.Authored.Policy = []byte(`{"rules":` + x.rules + `}`)
		c := read[compile.ContextOS](t, build(t, in)["contextos.json"])
		if c.Tooling.Permissions["edit"] != x.want {
			t.Errorf("%s: %s, want %s", x.rules, c.Tooling.Permissions["edit"], x.want)
		}
	}
}

// TestTargets: what a target may not see stands in none of its files: kinds, records, and what was drawn from these.
func TestTargets(t *testing.T) {
	log := append(session(t), `{"role":"user","content":"Always call the vault VaultZero by its name.","visibility":["model"],"created_at":"2026-03-02T09:40:00Z"}`+"\n"+
		`{"role":"assistant","content":"VaultZero it is. Decision: VaultZero stays.","visibility":["model"],"created_at":"2026-03-02T09:41:00Z"}`+"\n"+
		`{"role":"user","content":"Go on.","created_at":"2026-03-02T09:42:00Z"}`+"\n"...)
	for _, target := range pack.Targets() {
		in := input(t, log, pack.Input{Budget: 8000, Target: target, Visibility: pack.Visibility{"decisions": {"model"}}})
		in.Input.Target = target
		files, shown := build(t, in), false
		for file, data := range files {
			if has := bytes.Contains(data, []byte("VaultZero")); has && target != "model" {
				t.Errorf("%s shows the %s what only the model may see", file, target)
			} else if has {
				shown = true
			}
		}
		if target == "model" && !shown {
			t.Error("the model is not shown what it may see")
		}
		v := read[compile.PackV2](t, files["pack.v2.json"])
		if (len(v.Decisions) > 0) != (target == "model") {
			t.Errorf("%s: %d decisions", target, len(v.Decisions))
		}
	}
}

// TestSecrets: a secret is in no file, wherever it stood.
func TestSecrets(t *testing.T) {
	s := secret
	log := fmt.Appendf(nil, `{"role":"user","content":"Always use %[1]s for the build. Why does %[1]s fail?","created_at":"2026-03-01T09:00:00Z"}
{"role":"assistant","content":"Decision: we keep %[1]s.","tool_calls":[{"id":"c1","function":{"name":"read","arguments":"{\"path\":\"keys/%[1]s.txt\"}"}}]}
{"role":"tool","tool_call_id":"c1","content":"%[1]s","is_error":true}
`, s)
	in := input(t, log, pack.Input{Budget: 4000, Pinned: []pack.File{{Path: "context/pinned/a.md", Data: []byte(s)}}})
	in.Events = [][]byte{fmt.Appendf(nil, `{"id":"%[1]s","type":"ctxfs.run.started","time":"2026-03-01T09:00:00Z","data":{"run":"%[1]s"}}`, s)}
	line := fmt.Appendf(nil, `{"id":"%[1]s","text":"%[1]s","source":"%[1]s","%[1]s":{"a":["%[1]s"]}}`, s)
	in.Authored = compile.Authored{Constraints: line, Preferences: line, Success: line, Plan: line,
		Tools:  fmt.Appendf(nil, `{"name":"%[1]s","description":"%[1]s","capability_class":"act","risk_level":"read_safe","approval_mode":"network","env":"%[1]s"}`, s),
		Policy: fmt.Appendf(nil, "{\n\"rules\":[{\"id\":\"%[1]s\",\"effect\":\"deny\",\"applies_to\":\"%[1]s\",\"reason\":\"%[1]s\",\"x\":\"%[1]s\"}],\"allowed_actions\":\"%[1]s\",\"routing_hints\":{\"%[1]s\":\"%[1]s\"},\"tone\":{\"a\":\"%[1]s\"},\"memory_policy\":{\"a\":\"%[1]s\"},\"retention\":{\"a\":\"%[1]s\"}}", s)}
	in.Missing = []trace.Missing{{MissingID: "m", Question: s + "?", Status: "open", Severity: "low"}}
	for file, data := range build(t, in) {
		if bytes.Contains(data, []byte(s)) {
			t.Errorf("%s shows the secret: %s", file, data)
		}
	}
	bad := full(t, 8000)
	bad.Authored.Constraints = fmt.Appendf(nil, `{"text":"a","severity":"%s"}`, s)
	if bytes.Contains(build(t, bad)["compiler.json"], []byte(s)) {
		t.Error("an error shows the secret")
	}
}

// A todo that is ticked is no open loop and no step of the plan, neither in pack.v2.json nor in contextos.json.
func TestTickedTodos(t *testing.T) {
	todo := "# Todo (messages:3)\n\n- [x] write the parser (messages:3)\n- [X] name it\n- [ ] test it (in progress, messages:3)\n- [ ] drop it (cancelled, messages:3)\n* [ ] ship it\n"
	files := build(t, input(t, session(t), pack.Input{Budget: 8000, Authored: pack.Authored{Todo: []byte(todo)}}))
	v2 := read[compile.PackV2](t, files["pack.v2.json"])
	os := read[compile.ContextOS](t, files["contextos.json"])
	for file, lists := range map[string][2][]compile.Entry{"pack.v2.json": {v2.Loops, v2.Plan}, "contextos.json": {os.Business.Loops, os.Business.Plan}} {
		for i, list := range lists {
			var open []string
			for _, e := range list {
				if e.Kind == "todo" {
					open = append(open, e.Text+": "+e.Status)
				}
			}
			if want := []string{"test it: in_progress", "ship it: pending"}; !slices.Equal(open, want) {
				t.Errorf("%s, list %d: %q, want %q", file, i, open, want)
			}
		}
	}
}
