package importer

import "testing"

// TestOpenCode follows the parts of messages to their ends.
func TestOpenCode(t *testing.T) {
	doc := func(info, parts string) string {
		return `{"info":{"id":"s","directory":"/w"},"messages":[{"info":{"id":"m","sessionID":"s","role":` + info + `},"parts":[` + parts + `]}]}`
	}
	tool := func(id, state string) string {
		return `{"type":"tool","callID":"` + id + `","tool":"ls","state":{"input":{},` + state + `}}`
	}
	done := `"status":"completed","output":"x"`
	for _, c := range []struct {
		name, log, want string
		skipped, events int
	}{
		{"words", doc(`"user"`, `{"type":"text","text":"hi"}`), "user hi", 0, 1},
		{"a call and its result", doc(`"assistant"`, tool("c", done)), "assistant c; tool c x <m", 0, 1},
		{"two calls of one step", doc(`"assistant"`, tool("c", done)+","+tool("d", done)), "assistant c d; tool c x d x <m", 0, 1},
		{"two steps", doc(`"assistant"`, tool("c", done)+`,{"type":"step-start"},`+tool("d", done)), "assistant c; tool c x <m; assistant d <m.tool; tool d x <m.next", 0, 1},
		{"words behind a result", doc(`"assistant"`, tool("c", done)+`,{"type":"reasoning","text":"so"},{"type":"text","text":"ok"}`), "assistant c; tool c x <m; assistant so ok <m.tool", 0, 1},
		{"a call that runs", doc(`"assistant"`, tool("c", `"status":"running"`)), "assistant c", 0, 1},
		{"a call that failed", doc(`"assistant"`, tool("c", `"status":"error","error":"no"`)), "assistant c; tool c no <m", 0, 1},
		{"an output that is no text", doc(`"assistant"`, tool("c", `"status":"completed","output":{"a":1}`)), `assistant c; tool c {"a":1} <m`, 0, 1},
		{"a summary", doc(`"assistant","summary":true`, `{"type":"text","text":"sum"}`), "assistant/compaction sum", 0, 1},
		{"what asked for it", doc(`"user"`, `{"type":"compaction","auto":true}`), "", 0, 3},
		{"an answer that failed", doc(`"assistant","error":{"name":"APIError"}`, ""), "", 0, 2},
		{"nothing", doc(`"assistant"`, `{"type":"step-start"}`), "", 1, 1},
		{"a new kind of part", doc(`"user"`, `{"type":"tea","leaf":"green"}`), `user {"type":"tea","leaf":"green"}`, 0, 1},
		{"the list alone", `[{"info":{"id":"m","sessionID":"s","role":"user"},"parts":[{"type":"text","text":"hi"}]}]`, "user hi", 0, 0},
		{"no parts", `{"info":{},"messages":[{"info":{"id":"m","sessionID":"s","role":"user"},"parts":7},8]}`, "", 1, 2},
	} {
		sink, rep := importText(t, OpenCode, c.log)
		if got := shape(t, sink); got != c.want || sum(rep.Skipped) != c.skipped || rep.Events != c.events {
			t.Errorf("%s: %q, %s\nwant %q", c.name, got, rep, c.want)
		}
	}
}
