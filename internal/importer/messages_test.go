package importer

import "testing"

// TestMessages reads every form of a message, and every form of a list of them.
func TestMessages(t *testing.T) {
	list := func(messages string) string { return "[" + messages + "]" }
	hi := `{"role":"user","content":"hi"}`
	for _, c := range []struct {
		name, log, want string
		skipped, events int
	}{
		{"a list", list(hi + `,{"role":"assistant","content":"ho"}`), "user hi; assistant ho", 0, 0},
		{"an object", `{"messages":[` + hi + `]}`, "user hi", 0, 0},
		{"an object that says more", `{"model":"m","messages":[` + hi + `],"tools":[{}]}`, "user hi", 0, 1},
		{"lines", hi + "\n" + hi + "\n", "user hi; user hi", 0, 0},
		{"lines of which one is no message", hi + "\n" + `{"type":"note","text":"x"}` + "\n", "user hi", 0, 1},
		{"a system beside", `{"system":"be brief","messages":[` + hi + `]}`, "system be brief; user hi", 0, 0},
		{"calls", list(hi + `,{"role":"assistant","content":"so","reasoning_content":"hm","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}},{"id":"d","name":"g","arguments":{"a":1}}]},{"role":"tool","tool_call_id":"c","content":"x"},{"role":"tool","tool_call_id":"d","content":null}`),
			"user hi; assistant hm so c d; tool c x; tool d", 0, 0},
		{"functions", list(`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"1"},{"role":"function","name":"f","content":"2"}`),
			"assistant call-1; assistant call-2; tool call-1 1; tool call-2 2", 0, 0},
		{"a result that nothing asked for", list(`{"role":"tool","content":"x"}`), "tool x", 0, 0},
		{"results in a user's message", list(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"},{"type":"text","text":"and?"}]}`), "tool c x; user and? <messages-1", 0, 0},
		{"words before a result", list(`{"role":"user","content":[{"type":"text","text":"see"},{"type":"tool_result","tool_use_id":"c","content":"x"}]}`), "user see; tool c x <messages-1", 0, 0},
		{"nothing", list(hi + `,{"role":"assistant","content":""},{"role":"assistant","content":null,"tool_calls":[]},{"role":"assistant","content":[{"type":"text","text":""}]}`), "user hi", 3, 0},
		{"a message of ctxfs", `{"id":"k","role":"user","content":[{"type":"text","text":"sum"}],"type":"compaction"}` + "\n" + `{"role":"user","content":"on","parent":"k","sidechain":true}`, "user/compaction sum; user/side on <k", 0, 0},
		{"text of roles", `{"messages_display":"user: a\nb: c\nassistant: None\nassistant: d"}`, "user a\nb: c; assistant d", 1, 0},
		{"what is no message", `{"messages":[` + hi + `,7,"x"]}`, "user hi", 0, 2},
	} {
		sink, rep := importText(t, Messages, c.log)
		if got := shape(t, sink); got != c.want || sum(rep.Skipped) != c.skipped || rep.Events != c.events {
			t.Errorf("%s: %q, %s\nwant %q", c.name, got, rep, c.want)
		}
	}
}
