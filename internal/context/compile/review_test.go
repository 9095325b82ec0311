package compile_test

import (
	"testing"

	"ctxfs/internal/context/compile"
	"ctxfs/internal/context/pack"
)

// TestCredibility holds the rules of a credibility, one by one: who said it, tool results that bear it out, what contradicts it,
// and its age.
func TestCredibility(t *testing.T) {
	for _, x := range []struct {
		name, log, facts, decisions, id string
		want                            compile.Signals
		by, against                     int
	}{
		{name: "the user said it", log: `{"role":"user","content":"Always use tabs in here."}`, id: "f1", want: compile.Signals{Authority: 0.8}},
		{name: "the agent said it", log: `{"role":"assistant","content":"Decision: we take tabs here."}`, id: "d1", want: compile.Signals{Authority: 0.5}},
		{name: "an agent wrote it", facts: `{"id":"x","text":"Port 8080 is taken."}`, id: "x", want: compile.Signals{Authority: 0.7}},
		{name: "a child says it", facts: `{"id":"x","fact":"Port 8080 is taken.","source":"child:rev-1"}`, id: "x", want: compile.Signals{Authority: 0.6}},
		{name: "a tool bears it out", log: `{"role":"assistant","content":"Decision: errDead goes from open.go now."}
{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"sh","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"a","content":"open.go:3: errDead"}`, id: "d1", want: compile.Signals{Authority: 0.5, Corroboration: 0.15}, by: 1},
		{name: "one name of two is no witness", log: `{"role":"assistant","content":"Decision: errDead goes from open.go now."}
{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"sh","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"a","content":"open.go:3: something"}`, id: "d1", want: compile.Signals{Authority: 0.5}},
		{name: "a failed tool is no witness", log: `{"role":"assistant","content":"Decision: errDead goes from open.go now."}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"open.go:3: errDead"}]}`, id: "d1", want: compile.Signals{Authority: 0.5}},
		{name: "superseded by its own word", decisions: `{"id":"a","decision":"We take tabs.","status":"superseded"}`, id: "a", want: compile.Signals{Authority: 0.7, Contradiction: -0.4}, against: 1},
		{name: "superseded by another", decisions: "{\"id\":\"a\",\"decision\":\"We take tabs.\"}\n{\"id\":\"b\",\"decision\":\"We take blanks.\",\"supersedes\":\"a\"}", id: "a",
			want: compile.Signals{Authority: 0.7, Contradiction: -0.4}, against: 1},
		{name: "denied later", decisions: "{\"id\":\"a\",\"decision\":\"We keep errDead in open.go.\"}\n{\"id\":\"b\",\"decision\":\"We no longer keep errDead in open.go.\"}", id: "a",
			want: compile.Signals{Authority: 0.7, Contradiction: -0.3}, against: 1},
		{name: "what denies is not denied", decisions: "{\"id\":\"a\",\"decision\":\"We keep errDead in open.go.\"}\n{\"id\":\"b\",\"decision\":\"We no longer keep errDead in open.go.\"}", id: "b",
			want: compile.Signals{Authority: 0.7}},
		{name: "thirty days old", log: `{"role":"user","content":"Always use tabs in here.","created_at":"2026-02-12T09:00:00Z"}`, id: "f1", want: compile.Signals{Authority: 0.8, Age: -0.1}},
		{name: "success after a failure", log: `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"exit 1"}]}
{"role":"assistant","content":"All of it works now."}`, id: "messages:2#1", want: compile.Signals{Authority: 0.5, Contradiction: -0.3}, against: 1},
		{name: "success after success", log: `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"exit 0"}]}
{"role":"assistant","content":"All of it works now."}`, id: "messages:2#1", want: compile.Signals{Authority: 0.5}},
	} {
		var a pack.Authored
		if x.facts != "" {
			a.Facts = []byte(x.facts)
		}
		if x.decisions != "" {
			a.Decisions = []byte(x.decisions)
		}
		in := input(t, []byte(x.log+"\n"), pack.Input{Budget: 4000, Authored: a})
		found := false
		for _, r := range rows[compile.Review](t, build(t, in)["channels/review.jsonl"]) {
			if r.ID != x.id {
				continue
			}
			found = true
			if r.Signals != x.want || len(r.CorroboratedBy) != x.by || len(r.ContradictedBy) != x.against {
				t.Errorf("%s: %+v, by %v, against %v, want %+v", x.name, r.Signals, r.CorroboratedBy, r.ContradictedBy, x.want)
			}
			if sum := x.want.Authority + x.want.Corroboration + x.want.Contradiction + x.want.Age; r.Score < sum-0.006 || r.Score > sum+0.006 {
				t.Errorf("%s: credibility %v, its signals make %v", x.name, r.Score, sum)
			}
		}
		if !found {
			t.Errorf("%s: %s is not reviewed", x.name, x.id)
		}
	}
}

// TestReplaced: what is superseded does not enter, and stands among what was dropped.
func TestReplaced(t *testing.T) {
	a := pack.Authored{Decisions: []byte("{\"id\":\"a\",\"decision\":\"We take tabs.\"}\n{\"id\":\"b\",\"decision\":\"We take blanks.\",\"supersedes\":\"a\",\"why\":\"the linter\"}\n"),
		Facts: []byte(`{"id":"x","text":"Port 8080 is taken.","status":"deprecated"}` + "\n")}
	v := read[compile.PackV2](t, build(t, input(t, session(t), pack.Input{Budget: 8000, Authored: a}))["pack.v2.json"])
	if len(v.Decisions) != 1 || v.Decisions[0].DecisionID != "b" || v.Decisions[0].Origin != "agent" || v.Decisions[0].Metadata["why"] != "the linter" || len(v.Facts) != 0 {
		t.Errorf("%+v, %+v", v.Decisions, v.Facts)
	}
	if len(v.Dropped) != 2 || v.Dropped[0].Reason != "stale" {
		t.Errorf("%+v", v.Dropped)
	}
}
