package importer

import "testing"

// TestSWE reads trajectories with and without a history.
func TestSWE(t *testing.T) {
	task := `{"role":"user","content":"fix it"}`
	for _, c := range []struct {
		name, log, want string
		skipped, events int
	}{
		{"steps that say nothing new", `{"history":[` + task + `,{"role":"assistant","content":"go\nls"},{"role":"user","content":"a\nb"}],"trajectory":[{"action":"ls","response":"go\nls","observation":"a\nb"}]}`,
			"user fix it; assistant go\nls; user/observation a\nb", 1, 1},
		{"a step that the history lacks", `{"history":[` + task + `],"trajectory":[{"action":"exit","response":"bye","observation":"gone"}]}`, "user fix it", 0, 2},
		{"no history", `{"trajectory":[{"query":[` + task + `],"action":"ls","response":"go","observation":"a","state":{"working_dir":"/w"}},{"action":"","response":"","observation":""}]}`,
			"user fix it; assistant go; user/observation a", 0, 2},
		{"calls", `{"history":[` + task + `,{"role":"assistant","content":"go","thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"s"}],"tool_calls":[{"id":"c","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_ids":["c"],"content":[{"type":"text","text":"x"}]}]}`,
			"user fix it; assistant hm go c; tool c x", 0, 1},
		{"a demonstration", `{"history":[{"role":"user","content":"like this","is_demo":true},` + task + `]}`, "user/demo like this; user fix it", 0, 1},
		{"an empty message", `{"history":[` + task + `,{"role":"assistant","content":""}]}`, "user fix it", 1, 1},
	} {
		sink, rep := importText(t, SWEAgent, c.log)
		if got := shape(t, sink); got != c.want || sum(rep.Skipped) != c.skipped || rep.Events != c.events {
			t.Errorf("%s: %q, %s\nwant %q", c.name, got, rep, c.want)
		}
	}
}
