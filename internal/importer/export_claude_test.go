package importer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sentOf returns what Claude Code 2.1.330 sends to the model of a log, in short: it walks parentUuid from the last record that
// is no side chain, up to a compact_boundary; joins adjacent assistant records of one message.id; puts the results first of what the user says
// next; drops a message with a call whose result does not come there. tests/agents holds the program itself to the same.
func sentOf(t *testing.T, log []byte) string {
	t.Helper()
	byID, parents := map[string]object{}, map[string]bool{}
	var records []object
	for line := range bytes.Lines(log) {
		o := parseObject(line)
		byID[o.str("uuid")] = o
		parents[o.str("parentUuid")] = true
		records = append(records, o)
	}
	var o object
	for _, r := range records {
		if !parents[r.str("uuid")] && !r.truth("isSidechain") {
			o = r // the last that no record follows
		}
	}
	var chain []object
	for ; o != nil && o.str("subtype") != "compact_boundary"; o = byID[o.str("parentUuid")] {
		if o.str("type") != "system" {
			chain = append([]object{o}, chain...)
		}
	}
	return strings.Join(turnsOf(chain), " ")
}

// turnsOf joins the records of a chain to messages and shows their blocks.
func turnsOf(chain []object) []string {
	type joined struct {
		role, id string
		blocks   []object
	}
	var list []joined
	for _, o := range chain {
		m := o.obj("message")
		role, id := m.str("role"), m.str("id")
		if n := len(list); n == 0 || list[n-1].role != role || role == "assistant" && list[n-1].id != id {
			list = append(list, joined{role: role, id: id})
		}
		content := elements(m.get("content"))
		if content == nil {
			content = append(content, textBlock(m.str("content")))
		}
		for _, raw := range content {
			list[len(list)-1].blocks = append(list[len(list)-1].blocks, parseObject(raw))
		}
	}
	var out []string
	for i, m := range list {
		slices.SortStableFunc(m.blocks, func(a, b object) int { return rank(a) - rank(b) })
		for _, b := range m.blocks {
			switch b.str("type") {
			case "tool_use":
				answered := i+1 < len(list) && slices.ContainsFunc(list[i+1].blocks, func(r object) bool { return r.str("tool_use_id") == b.str("id") })
				out = append(out, fmt.Sprintf("call:%s:%s:%v", b.str("id"), b.str("name"), answered))
			case "tool_result":
				out = append(out, "result:"+b.str("tool_use_id"))
			case "text":
				out = append(out, b.str("text"))
			default:
				out = append(out, b.str("type"))
			}
		}
	}
	return out
}

// rank orders the blocks of a message: results come first, calls last.
func rank(b object) int {
	return map[string]int{"tool_result": -1, "tool_use": 1}[b.str("type")]
}

// TestClaudeExportIsSent writes sessions of the shapes that other programs leave, and looks what the model would get.
func TestClaudeExportIsSent(t *testing.T) {
	user := func(s string) string { return `{"role":"user","content":"` + s + `"}` }
	bot := func(blocks ...string) string {
		return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
	}
	say := func(s string) string { return `{"type":"text","text":"` + s + `"}` }
	use := func(id, name string) string {
		return `{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":{}}`
	}
	res := func(ids ...string) string {
		s := ""
		for _, id := range ids {
			s += `,{"type":"tool_result","tool_use_id":"` + id + `","content":"x"}`
		}
		return `{"role":"tool","content":[` + s[1:] + `]}`
	}
	long := `{"role":"user","content":"` + strings.Repeat("long ", claudeWindow/5) + `"}`
	summary := `{"role":"user","type":"compaction","content":"summary"}`
	for _, c := range []struct {
		name  string
		lines []string
		want  string
		left  int
	}{
		{"no parents", []string{user("one"), bot(say("two")), user("three")}, "one two three", 0},
		{"siblings", []string{`{"id":"u","role":"user","content":"one"}`, `{"id":"a","parent":"u","role":"assistant","content":"two"}`, `{"id":"b","parent":"u","role":"assistant","content":"three"}`}, "one two three", 0},
		{"one id twice", []string{`{"id":"u","role":"user","content":"one"}`, `{"id":"u","role":"assistant","content":"two"}`, user("three")}, "one two three", 0},
		{"calls in records of their own", []string{user("q"), bot(use("A", "f")), bot(use("B", "f")), res("A"), res("B"), bot(say("end"))},
			"q call:A:f:true call:B:f:true result:A result:B end", 0},
		{"a result that comes late", []string{user("q"), bot(use("A", "f"), use("B", "f")), res("A"), bot(say("meanwhile")), user("and"), res("B"), bot(say("end"))},
			"q call:A:f:true call:B:f:true result:A result:B meanwhile and end", 0},
		{"words before the result", []string{bot(use("A", "f")), user("wait"), res("A")}, "call:A:f:true result:A wait", 0},
		{"a call without a result keeps its words", []string{user("q"), bot(say("trying"), use("A", "f")), user("stop")}, "q trying stop", 1},
		{"a result without a call", []string{user("q"), res("A"), bot(say("end"))}, "q end", 1},
		{"a call id again", []string{bot(use("A", "f")), res("A"), bot(use("A", "g")), res("A")}, "call:A:f:true result:A call:A-2:g:true result:A-2", 0},
		{"ids and names that the API refuses", []string{bot(use("call|1", "functions.exec")), res("call|1")}, "call:call_1:functions_exec:true result:call_1", 0},
		{"results of two turns in one record", []string{bot(use("A", "f")), user("so"), bot(use("B", "f")), res("B", "A")}, "so call:B:f:true result:B", 2},
		{"unsigned thoughts", []string{bot(`{"type":"thinking","thinking":"hm"}`), bot(`{"type":"thinking","thinking":"hm"}`, say("said"))}, "said", 2},
		{"signed thoughts", []string{bot(`{"type":"thinking","thinking":"hm","signature":"s"}`, say("said"))}, "thinking said", 0},
		{"blank text", []string{user(" "), bot(say(""), say("said"))}, "said", 0},
		{"system prompts", []string{`{"role":"system","content":"be good"}`, user("q"), `{"role":"developer","content":"be quick"}`, bot(say("end"))}, "q end", 2},
		{"side chains", []string{user("q"), `{"role":"assistant","content":"aside","sidechain":true}`, bot(say("end")), `{"role":"user","content":"aside","sidechain":true}`}, "q end", 2},
		{"a compaction of a short history", []string{user("q"), bot(say("a")), summary, bot(say("end"))}, "q a summary end", 0},
		{"a compaction of a long history", []string{user("q"), long, summary, bot(say("end"))}, "summary end", 2},
		{"two compactions", []string{user("q"), long, summary, user("r"), summary, bot(say("end"))}, "summary r summary end", 2},
		{"a call over a compaction", []string{long, bot(use("A", "f"), say("b")), summary, res("A"), bot(say("end"))}, "summary end", 3},
	} {
		var b bytes.Buffer
		rep, err := Export{Messages: strings.NewReader(strings.Join(c.lines, "\n") + "\n"), SessionID: "s"}.Write(&b, "claude-code")
		if err != nil {
			t.Fatal(err)
		}
		if got := sentOf(t, b.Bytes()); got != c.want || sum(rep.LeftOut) != c.left {
			t.Errorf("%s:\n got %.300s\nwant %s\nleft %v, want %d", c.name, got, c.want, rep.LeftOut, c.left)
		}
		again := kept(t, b.Bytes(), ClaudeCode)[0]
		if third, _ := export(t, again, "claude-code"); !bytes.Equal(withoutSurroundings(third), withoutSurroundings(b.Bytes())) {
			t.Errorf("%s: exported again, it differs: %s", c.name, firstDiff(third, b.Bytes()))
		}
	}
}

// withoutSurroundings leaves out of a log what export sets for a test.
func withoutSurroundings(log []byte) []byte {
	log = bytes.ReplaceAll(log, []byte(`"cwd":"/w",`), nil)
	return bytes.ReplaceAll(log, []byte(ClaudeSession("5e55")), []byte(ClaudeSession("s")))
}

// TestClaudeSession checks that the id is a UUID, the same each time, and that a UUID stays what it is.
func TestClaudeSession(t *testing.T) {
	const uuid = "01a202ca-0af6-71a3-81fb-6b5bb9feeb79"
	if got := ClaudeSession(uuid); got != uuid {
		t.Errorf("%s became %s", uuid, got)
	}
	for _, id := range []string{"", "ses_5e55", strings.Repeat("x", 36), uuid + "0", strings.Replace(uuid, "a", "g", 1)} {
		if got := ClaudeSession(id); !isUUID(got) || got == id || got != ClaudeSession(id) || got == ClaudeSession(id+"'") {
			t.Errorf("%s: %s", id, got)
		}
	}
}
