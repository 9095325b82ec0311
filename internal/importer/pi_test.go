package importer

import (
	"strings"
	"testing"
)

// piLine is an entry of pi's log. more is JSON members, without the comma in front.
func piLine(typ, id, parent, more string) string {
	return `{"type":"` + typ + `","id":"` + id + `","parentId":"` + parent + `","timestamp":"2026-01-01T00:00:00Z",` + more + "}\n"
}

func piSays(id, parent, message string) string {
	return piLine("message", id, parent, `"message":`+message)
}

// TestPi sees where each kind of entry goes.
func TestPi(t *testing.T) {
	user := piSays("u", "", `{"role":"user","content":"hi","timestamp":1}`)
	for _, c := range []struct {
		name, log, want string
		skipped, events int
	}{
		{"a tree", user + piSays("a", "u", `{"role":"assistant","content":[{"type":"text","text":"A"}]}`) + piSays("b", "u", `{"role":"assistant","content":[{"type":"text","text":"B"}]}`) +
			piSays("c", "a", `{"role":"user","content":"C"}`), "user hi; assistant A <u; assistant B <u; user C <a", 0, 0},
		{"an entry between", user + piLine("label", "l", "u", `"label":"x"`) + piSays("a", "l", `{"role":"assistant","content":[{"type":"text","text":"A"}]}`), "user hi; assistant A <u", 0, 1},
		{"a call and its result", piSays("a", "", `{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"ls","arguments":{"a":1}}]}`) +
			piSays("r", "a", `{"role":"toolResult","toolCallId":"c","toolName":"ls","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}],"isError":true}`), "assistant c; tool c x\ny <a", 0, 0},
		{"a result that is a string", piSays("r", "", `{"role":"toolResult","toolCallId":"c","content":"x"}`), "tool c x", 0, 0},
		{"an empty result", piSays("r", "", `{"role":"toolResult","toolCallId":"c","content":[]}`), "tool c", 0, 0},
		{"an answer that failed", user + piSays("a", "u", `{"role":"assistant","content":[],"stopReason":"error","errorMessage":"overloaded"}`), "user hi", 0, 1},
		{"a compaction", user + piLine("compaction", "k", "u", `"summary":"sum","firstKeptEntryId":"u"`) + piSays("b", "k", `{"role":"user","content":"go on"}`), "user hi; user/compaction sum <u; user go on <k", 0, 1},
		{"a compaction of nothing", piLine("compaction", "k", "", `"summary":" ","firstKeptEntryId":"u"`), "", 0, 1},
		{"a user's command", piSays("x", "", `{"role":"bashExecution","command":"ls","output":"a\n","exitCode":0}`), "user/bashExecution $ ls\na", 0, 0},
		{"words of an extension", piLine("custom_message", "x", "", `"customType":"t","content":"be brief"`), "user/custom_message be brief", 0, 0},
		{"a branch that was left", piLine("branch_summary", "x", "", `"summary":"was so","fromId":"u"`), "user/branch_summary was so", 0, 0},
		{"a level twice", strings.Repeat(piLine("thinking_level_change", "x", "", `"thinkingLevel":"low"`), 2), "", 1, 1},
		{"a new kind", piLine("tea", "x", "", `"leaf":"green"`), "", 0, 1},
		{"no message", piLine("message", "x", "", `"message":7`), "", 0, 1},
	} {
		sink, rep := importText(t, Pi, c.log)
		if got := shape(t, sink); got != c.want || sum(rep.Skipped) != c.skipped || rep.Events != c.events {
			t.Errorf("%s: %q, %s\nwant %q", c.name, got, rep, c.want)
		}
	}
}
