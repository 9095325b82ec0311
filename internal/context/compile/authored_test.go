package compile_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"ctxfs/internal/context/compile"
)

// written line, and what the parser says of it: "" is nothing.
type written1 struct {
	file, data, want string
	beyond           bool // a schema cannot see it
}

func lines() []written1 {
	c, p, s, l, o, y := compile.ConstraintsFile, compile.PreferencesFile, compile.SuccessFile, compile.PlanFile, compile.ToolsFile, compile.PolicyFile
	tool := func(c, r, a string) string {
		return `{"name":"x","capability_class":"` + c + `","risk_level":"` + r + `","approval_mode":"` + a + `"}`
	}
	return []written1{
		{file: c, data: `{"text":"a"}`},
		{file: c, data: `{"text":"a","severity":"high","applies_to":["x"],"anything":{"b":[1]}}`},
		{file: c, data: `{}`, want: `context/constraints.jsonl: line 1: text: is missing: give it as a string`},
		{file: c, data: `{"text":7}`, want: `line 1: text: is no string: put it in quotes`},
		{file: c, data: `{"text":"  "}`, want: `line 1: text: is empty: say something, or remove the line`},
		{file: c, data: `{"text":"a","severity":"urgent"}`, want: `line 1: severity: "urgent" is not known here: use one of info, low, medium, high, blocking`},
		{file: c, data: `{"text":"a","applies_to":[1]}`, want: `line 1: applies_to: is no string and no list of strings`},
		{file: c, data: `{"text":"a","applies_to":[""]}`, want: `line 1: applies_to: has an element of 0 bytes: from 1 to 256`},
		{file: c, data: `{"text":"` + strings.Repeat("a", compile.MaxText+1) + `"}`, want: `line 1: text: has 4097 bytes: 4096 at most, write the rest into a file and name it`},
		{file: c, data: "\n{\"text\":\"a\"}\n\nno\n", want: `line 4: is no JSON object: write one {...} a line`, beyond: true},
		{file: c, data: `{"text":"a"} {}`, want: `line 1: is no JSON object: write one {...} a line`, beyond: true},
		{file: c, data: `[1]`, want: `line 1: is no JSON object: write one {...} a line`},
		{file: c, data: "{\"id\":\"a\",\"text\":\"a\"}\n{\"id\":\"a\",\"text\":\"b\"}", want: `line 2: id: "a" stands in line 1 already: give it another, or remove one of the two`, beyond: true},
		{file: c, data: "\xff", want: `context/constraints.jsonl: is not UTF-8: convert it`, beyond: true},
		{file: c, data: strings.Repeat("\n", compile.MaxFile+1), want: `context/constraints.jsonl: has 1048577 bytes: 1048576 at most`, beyond: true},
		{file: c, data: strings.Repeat("{\"text\":\"a\"}\n", 2), want: `line 2: id: "constraint-`, beyond: true},
		{file: p, data: `{"text":"a","weight":0.5}`},
		{file: p, data: `{"text":"a","weight":1.5}`, want: `context/preferences.jsonl: line 1: weight: is 1.5: from 0 to 1`},
		{file: p, data: `{"text":"a","weight":"much"}`, want: `line 1: weight: is no number`},
		{file: s, data: `{"text":"a","check":"make test","status":"met"}`},
		{file: s, data: `{"text":"a","status":"perhaps"}`, want: `line 1: status: "perhaps" is not known here: use one of open, met, failed`},
		{file: l, data: "{\"id\":\"b\",\"text\":\"y\",\"depends_on\":[\"a\"]}\n{\"id\":\"a\",\"text\":\"x\"}"},
		{file: l, data: `{"text":"x","depends_on":["a"]}`, want: `line 1: depends_on: names a, and no step has that id: add the step, or remove the name`, beyond: true},
		{file: l, data: `{"text":"x","status":"done"}`, want: `line 1: status: "done" is not known here: use one of pending, in_progress, completed, cancelled`},
		{file: o, data: tool("observe", "read_safe", "read_only")},
		{file: o, data: tool("act", "write_irreversible", "delegated")},
		{file: o, data: tool("recall", "read_sensitive", "network")},
		{file: o, data: `{"name":"x","capability_class":"observe","risk_level":"read_safe"}`, want: `line 1: approval_mode: is missing: give it as a string`},
		{file: o, data: tool("look", "read_safe", "read_only"), want: `line 1: capability_class: "look" is not known here: use one of observe, recall, think_support, verify, act`},
		{file: o, data: tool("observe", "write_irreversible", "destructive"), want: `line 1: risk_level: write_irreversible contradicts capability_class observe, which only reads`},
		{file: o, data: tool("recall", "write_reversible", "local_write"), want: `contradicts capability_class recall`},
		{file: o, data: tool("verify", "write_external", "network"), want: `contradicts capability_class verify`},
		{file: o, data: tool("act", "write_reversible", "read_only"), want: `line 1: approval_mode: read_only contradicts risk_level write_reversible`},
		{file: o, data: tool("act", "read_safe", "destructive"), want: `destructive contradicts risk_level read_safe`},
		{file: o, data: tool("act", "write_external", "local_write"), want: `local_write contradicts risk_level write_external`},
		{file: o, data: tool("act", "write_irreversible", "network"), want: `network contradicts risk_level write_irreversible`},
		{file: o, data: tool("act", "read_safe", "network")[:len(tool("act", "read_safe", "network"))-1] + `,"visibility":["world"]}`, want: `visibility: "world" is no target: use one of model, tool, reviewer, user`},
		{file: o, data: tool("act", "read_safe", "network") + "\n" + tool("act", "read_safe", "network"), want: `line 2: name: "x" stands in line 1 already`, beyond: true},
		{file: y, data: `{}`},
		{file: y, data: "{\n \"rules\": [{\"id\": \"a\", \"effect\": \"deny\", \"applies_to\": \"*\"}],\n \"more\": 1}"},
		{file: y, data: `[]`, want: `context/policy.json: is no JSON object: write {"rules": [...], ...}`},
		{file: y, data: `{"rules":{}}`, want: `context/policy.json: rules: is no list of at most 256 objects`},
		{file: y, data: `{"rules":[7]}`, want: `rules[0]: is no object`},
		{file: y, data: `{"rules":[{"effect":"deny","applies_to":"*"}]}`, want: `context/policy.json: rules[0].id: is missing: give it as a string`},
		{file: y, data: `{"rules":[{"id":"a","effect":"forbid","applies_to":"*"}]}`, want: `rules[0].effect: "forbid" is not known here: use one of allow, deny, require_approval, redact, retain`},
		{file: y, data: `{"rules":[{"id":"a","effect":"deny"}]}`, want: `rules[0].applies_to: is missing: name tools, actions or kinds, or * for everything`},
		{file: y, data: `{"rules":[{"id":"a","effect":"deny","applies_to":"[a"}]}`, want: `rules[0].applies_to: "[a" is no pattern: close its brackets`, beyond: true},
		{file: y, data: `{"rules":[{"id":"a","effect":"deny","applies_to":"*"},{"id":"a","effect":"allow","applies_to":"*"}]}`, want: `rules[1].id: "a" is that of rules[0] already`, beyond: true},
		{file: y, data: `{"allowed_actions":["a"],"denied_actions":["a"]}`, want: `denied_actions: "a" is allowed too: remove it from one of the two lists`, beyond: true},
		{file: y, data: `{"visibility":{"thinking":["model"],"refs":[]}}`},
		{file: y, data: `{"visibility":{"thoughts":["model"]}}`, want: `visibility.thoughts: is no kind of context: use one of system, `},
		{file: y, data: `{"visibility":{"thinking":["world"]}}`, want: `visibility.thinking: "world" is no target`},
		{file: y, data: `{"visibility":[]}`, want: `visibility: is no object`},
		{file: y, data: `{"routing_hints":"large"}`, want: `routing_hints: is no object: write it as {...}`},
	}
}

func TestAuthored(t *testing.T) {
	for _, x := range lines() {
		err := compile.Check(x.file, []byte(x.data))
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%s: %.80s: %v, want %q", x.file, x.data, err, x.want)
		}
		var p *compile.Problem
		if err != nil && (!errors.As(err, &p) || p.File != x.file) {
			t.Errorf("%s: the error is no Problem of that file: %#v", x.file, err)
		}
	}
	if compile.Check("context/other.json", nil) == nil {
		t.Error("a file that is none of the compiler's is taken")
	}
}

// TestKept holds what the parsers give to what stands in the files: ids, lines, and members that they do not know.
func TestKept(t *testing.T) {
	a := authored(t)
	c, err := compile.ParseConstraints(a.Constraints)
	if err != nil {
		t.Fatal(err)
	}
	want := compile.Constraint{ID: "c1", Text: "Never unmount with force.", Source: "messages:9", Severity: "blocking", AppliesTo: []string{"mount/open.go"}, Line: 1,
		Extra: compile.Extra{"owner": json.RawMessage(`"ops"`)}}
	if !reflect.DeepEqual(c[0], want) {
		t.Errorf("%+v, want %+v", c[0], want)
	}
	again, err := compile.ParseConstraints([]byte(`{"text":"Public functions keep their names."}`))
	if err != nil || again[0].ID != c[1].ID || c[1].Line != 3 {
		t.Errorf("the id of a line changes with what stands before it: %v, %v, %v", again, c[1], err)
	}
	p, err := compile.ParsePolicy(a.Policy)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Rules) != 4 || string(p.Rules[1].Extra["ticket"]) != "17" || string(p.Extra["owner"]) != `"ops"` || len(p.Visibility["refs"]) != 3 {
		t.Errorf("%+v", p)
	}
}

func FuzzCheck(f *testing.F) {
	for _, x := range lines() {
		if len(x.data) < 4096 {
			f.Add(x.file, []byte(x.data))
		}
	}
	f.Fuzz(func(t *testing.T, file string, data []byte) {
		err := compile.Check(file, data)
		var p *compile.Problem
		if err != nil && (!errors.As(err, &p) || p.Text == "") {
			t.Errorf("%v", err)
		}
	})
}
