package importer

import "testing"

// TestOpenHands follows actions and observations to their ends.
func TestOpenHands(t *testing.T) {
	meta := func(call, answer string) string {
		return `"tool_call_metadata":{"tool_call_id":"` + call + `","function_name":"bash","model_response":{"id":"` + answer + `","model":"m","usage":{"completion_tokens":3},"choices":[{"message":{"content":"I will.",` +
			`"tool_calls":[{"id":"c","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},{"id":"d","function":{"name":"bash","arguments":"{\"command\":\"pwd\"}"}}]}}]}}`
	}
	user := `{"id":0,"timestamp":"2026-01-01T00:00:00","source":"user","action":"message","args":{"content":"hi"}}`
	run := `{"id":1,"timestamp":"2026-01-01T00:00:01","source":"agent","action":"run","args":{"command":"ls"},` + meta("c", "r") + `}`
	ran := `{"id":2,"timestamp":"2026-01-01T00:00:02","source":"agent","cause":1,"observation":"run","content":"x","extras":{"metadata":{"exit_code":1}},` + meta("c", "r") + `}`
	second := `{"id":3,"timestamp":"2026-01-01T00:00:03","source":"agent","action":"run","args":{"command":"pwd"},` + meta("d", "r") + `}`
	for _, c := range []struct {
		name, log, want string
		omitted, events int
	}{
		{"a list", "[" + user + "," + run + "," + ran + "]", "user hi; assistant I will. c; tool c x <openhands-1", 0, 0},
		{"a record of an evaluation", `{"instance_id":"i","history":[` + user + "," + run + "," + ran + "]}", "user hi; assistant I will. c; tool c x <openhands-1", 0, 1},
		{"lines", user + "\n" + run + "\n" + ran + "\n", "user hi; assistant I will. c; tool c x <openhands-1", 0, 0},
		{"two calls of one answer", "[" + run + "," + ran + "," + second + "]", "assistant I will. c; tool c x <openhands-1; assistant d", 1, 0},
		{"an older log", `[{"action":"message","content":"hi"},{"action":"run","command":"ls","thought":"so"},{"observation":"run","content":"x","exit_code":0},{"action":"message","content":"ho"}]`,
			"user hi; assistant so openhands-2; tool openhands-2 x; assistant ho", 0, 0},
		{"pairs", `[[{"action":"message","content":"hi"},{"observation":"null","content":""}],[{"action":"run","command":"ls"},{"observation":"run","content":"x"}]]`,
			"user hi; assistant openhands-3; tool openhands-3 x", 0, 1},
		{"an observation of nothing", `[` + user + `,{"id":9,"source":"environment","observation":"agent_state_changed","content":"","extras":{"agent_state":"running"}}]`, "user hi", 0, 1},
		{"an error of no call", `[` + user + `,{"id":9,"source":"environment","observation":"error","content":"no such tool","extras":{}}]`, "user hi; user/error no such tool", 0, 0},
		{"a condensation", `[` + user + `,{"id":9,"source":"agent","action":"condensation","args":{"summary":"sum","forgotten_event_ids":[0]}}]`, "user hi; user/compaction sum", 0, 1},
		{"one without a summary", `[` + user + `,{"id":9,"source":"agent","action":"condensation","args":{"forgotten_event_ids":[0]}}]`, "user hi", 0, 1},
		{"a recall that repeats", `[` + user + `,{"id":9,"source":"user","action":"recall","args":{"query":"hi"}}]`, "user hi", 0, 1},
		{"an empty message", `[` + user + `,{"id":9,"source":"agent","action":"message","args":{"content":""}}]`, "user hi", 0, 1},
	} {
		sink, rep := importText(t, OpenHands, c.log)
		if got := shape(t, sink); got != c.want || sum(rep.Omitted) != c.omitted || rep.Events != c.events || rep.UnpairedResults > 0 {
			t.Errorf("%s: %q, %s, omitted %v\nwant %q", c.name, got, rep, rep.Omitted, c.want)
		}
	}
}
