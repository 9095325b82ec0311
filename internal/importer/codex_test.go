package importer

import (
	"fmt"
	"strings"
	"testing"

	"ctxfs/internal/record"
)

func item(payload string) string { return codexLine("response_item", payload) }
func told(payload string) string { return codexLine("event_msg", payload) }
func codexLine(typ, payload string) string {
	return fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","type":%q,"payload":%s}`+"\n", typ, payload)
}

// TestCodexOutputs reads every form of a tool's output.
func TestCodexOutputs(t *testing.T) {
	png := `data:image/png;base64,AAAA`
	for _, c := range []struct {
		output, want string
		failed       bool
		blobs        int
	}{
		{`"plain"`, "plain", false, 0},
		{`""`, "", false, 0},
		{`null`, "", false, 0},
		{`"{\"output\":\"done\\n\",\"metadata\":{\"exit_code\":0}}"`, "done\n", false, 0},
		{`"{\"output\":\"no\",\"metadata\":{\"exit_code\":2}}"`, "no", true, 0},
		{`"{\"output\":{\"a\":1}}"`, `{"a":1}`, false, 0},
		{`"{\"answer\":42}"`, `{"answer":42}`, false, 0},
		{`"{torn"`, "{torn", false, 0},
		{`"Exit code: 1\nWall time: 0 seconds\nOutput:\nbad"`, "Exit code: 1\nWall time: 0 seconds\nOutput:\nbad", true, 0},
		{`"Chunk ID: a\nProcess exited with code 0\nOutput:\nExit code: 1"`, "Chunk ID: a\nProcess exited with code 0\nOutput:\nExit code: 1", false, 0},
		{`"Chunk ID: a\nProcess exited with code 127\nOutput:\n"`, "Chunk ID: a\nProcess exited with code 127\nOutput:\n", true, 0},
		{`"Note\nExit code: 1"`, "Note\nExit code: 1", false, 0},
		{`{"content":"said","success":true}`, "said", false, 0},
		{`{"content":"said","success":false}`, "said", true, 0},
		{`[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"` + png + `"}]`, "see\n[image/png, 3 bytes, R]", false, 1},
		{`"[{\"type\":\"text\",\"text\":\"see\"},{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"}]"`, "see\n[image/png, 3 bytes, R]", false, 1},
		{`"[{\"type\":\"text\",\"text\":\"see\"}]"`, `[{"type":"text","text":"see"}]`, false, 0},
		{`[{"type":"input_image","image_url":"data:image/png;base64,*no*"}]`, "[image/png, 4 bytes, R]", false, 1},
		{`[{"type":"input_image","image_url":"https://example.invalid/a.png"}]`, "[input_image, https://example.invalid/a.png]", false, 0},
		{`7`, "7", false, 0},
	} {
		sink, rep := importText(t, Codex, item(`{"type":"function_call","name":"f","arguments":"{}","call_id":"c"}`)+
			item(`{"type":"function_call_output","call_id":"c","output":`+c.output+`}`))
		b := parsed(t, sink)[1].Blocks[0]
		got := b.Text
		for ref := range sink.blobs {
			got = strings.ReplaceAll(got, ref, "R")
		}
		if got != c.want || b.IsError != c.failed || b.CallID != "c" || rep.Blobs != c.blobs || rep.UnpairedCalls+rep.UnpairedResults != 0 {
			t.Errorf("%s:\n got %q, failed %v\nwant %q, %v", c.output, got, b.IsError, c.want, c.failed)
		}
	}
}

// TestCodexInputs reads every form of a call's arguments.
func TestCodexInputs(t *testing.T) {
	for payload, want := range map[string]string{
		`{"type":"function_call","arguments":"{\"a\":1}"}`:                               `{"a":1}`,
		`{"type":"function_call","arguments":"{\n \"a\" : 1 }"}`:                         `{"a":1}`,
		`{"type":"function_call","arguments":"[1]"}`:                                     `{"_raw":"[1]"}`,
		`{"type":"function_call","arguments":"{oops"}`:                                   `{"_raw":"{oops"}`,
		`{"type":"function_call","arguments":""}`:                                        `{}`,
		`{"type":"function_call","arguments":null}`:                                      `{}`,
		`{"type":"function_call","arguments":[1]}`:                                       `{"_raw":[1]}`,
		`{"type":"tool_search_call","arguments":{"query":"q"}}`:                          `{"query":"q"}`,
		`{"type":"custom_tool_call","input":"*** Begin <Patch>"}`:                        `{"input":"*** Begin <Patch>"}`,
		`{"type":"local_shell_call","action":{"type":"exec","command":["ls"]}}`:          `{"type":"exec","command":["ls"]}`,
		`{"type":"web_search_call","action":{"type":"search","query":"q"}}`:              `{"type":"search","query":"q"}`,
		`{"type":"image_generation_call","id":"i","revised_prompt":"p","result":"AAAA"}`: `{"revised_prompt":"p"}`,
	} {
		sink, _ := importText(t, Codex, item(payload))
		if b := parsed(t, sink)[0].Blocks[0]; b.Kind != record.ToolUse || b.Input != want || b.CallID == "" && !strings.Contains(payload, "function_call") && strings.Contains(payload, `"id"`) {
			t.Errorf("%s: %+v, want %s", payload, b, want)
		}
	}
}

// TestCodexHeld follows an event_msg to its end: it repeats a response_item, before or behind it, or it is news.
func TestCodexHeld(t *testing.T) {
	msg := item(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}`)
	say := told(`{"type":"agent_message","message":"hi"}`)
	end := told(`{"type":"task_complete","turn_id":"1"}`)
	out := item(`{"type":"function_call_output","call_id":"c","output":"x"}`)
	ran := told(`{"type":"exec_command_end","call_id":"c","aggregated_output":"x"}`)
	for _, c := range []struct {
		name, log string
		skipped   int
		events    int
	}{
		{"before", say + msg, 1, 0},
		{"behind", msg + say, 1, 0},
		{"alone", say, 0, 1},
		{"the turn ends between", say + end + msg, 0, 2},
		{"other words", told(`{"type":"agent_message","message":"ho"}`) + msg, 0, 1},
		{"other speaker", told(`{"type":"user_message","message":"hi"}`) + msg, 0, 1},
		{"a command's end, before", ran + out, 1, 0},
		{"a command's end, behind", out + ran, 1, 0},
		{"a command's end, alone", ran, 0, 1},
		{"a command's begin", told(`{"type":"exec_command_begin","call_id":"c"}`) + out, 1, 0},
		{"newer form", told(`{"type":"item_completed","item":{"type":"AgentMessage","id":"i","content":[{"type":"Text","text":"hi"}]}}`) + msg, 1, 0},
		{"an error", told(`{"type":"error","message":"rate limit"}`), 0, 1},
		{"many, held and let go", strings.Repeat(told(`{"type":"agent_message","message":"ho"}`), maxHeld+9), 0, maxHeld + 9},
	} {
		_, rep := importText(t, Codex, c.log)
		if sum(rep.Skipped) != c.skipped || rep.Events != c.events {
			t.Errorf("%s: %s", c.name, rep)
		}
	}
}

// TestCodexCompaction tells a summary that can be read from one that cannot.
func TestCodexCompaction(t *testing.T) {
	q := `{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]}`
	for _, c := range []struct {
		payload, typ, words string
	}{
		{`{"message":"sum","replacement_history":[` + q + `]}`, "compaction", "sum"},
		{`{"message":""}`, "compaction_marker", ""},
		{`{"message":"","replacement_history":[` + q + `,{"type":"compaction","encrypted_content":"x"}]}`, "compaction_marker", ""},
		{`{"message":"","replacement_history":[` + strings.Replace(q, `"q"`, `"new"`, 1) + `]}`, "compaction", "new"},
		{`{"message":"sum\n","replacement_history":[` + q + `,` + strings.Replace(q, `"q"`, `"sum"`, 1) + `]}`, "compaction", "sum\n"},
		{`{"message":"sum","replacement_history":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"<permissions instructions>none"}]},` +
			strings.Replace(q, `"q"`, `"<environment_context>at noon"`, 1) + `]}`, "compaction", "sum"},
		{`{"message":"","replacement_history":[` + strings.Replace(q, `"q"`, `"<environment_context>at noon"`, 1) + `]}`, "compaction_marker", ""},
	} {
		sink, rep := importText(t, Codex, item(q)+codexLine("compacted", c.payload))
		r := parsed(t, sink)[1]
		if r.Type != c.typ || r.Compaction != (c.typ == "compaction") || (c.words != "" && r.Words() != c.words) || r.IsUser() || rep.Events != 1 {
			t.Errorf("%s: %+v", c.payload, r)
		}
	}
}

// TestCodexMeta tells the user's own words from what Codex writes in the user's name.
func TestCodexMeta(t *testing.T) {
	text := func(list ...string) string {
		var parts []string
		for _, s := range list {
			parts = append(parts, fmt.Sprintf(`{"type":"input_text","text":%q}`, s))
		}
		return item(`{"type":"message","role":"user","content":[` + strings.Join(parts, ",") + `]}`)
	}
	from := func(origin, s string) string {
		return item(fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":%q}],"internal_chat_message_metadata_passthrough":{"content_item_metadata":[{"provenance":{"type":%q}}]}}`, s, origin))
	}
	for log, want := range map[string]string{
		text("why?"): "user",
		text("# AGENTS.md instructions for /x", "<environment_context>"): "instructions",
		text("<environment_context>", "and why?"):                        "user",
		text("<user_instructions>be brief</user_instructions>"):          "instructions",
		text("<turn_aborted>\nx"):                                        "note",
		text("<environment_context>", "<turn_aborted>"):                  "note",
		text("<button> has no label"):                                    "user",
		from("user", "<environment_context> is what?"):                   "user",
		from("harness", "a new kind of wrapper"):                         "instructions",
		item(`{"type":"message","role":"developer","content":[{"type":"input_text","text":"<skills_instructions>"}]}`): "instructions",
		codexLine("session_meta", `{"id":"i","base_instructions":{"text":"You are careful."}}`):                        "instructions",
	} {
		sink, _ := importText(t, Codex, log)
		got := "note"
		switch r := parsed(t, sink)[0]; {
		case r.IsUser():
			got = "user"
		case r.IsInstructions():
			got = "instructions"
		case !r.Meta:
			got = r.Role
		}
		if got != want {
			t.Errorf("%s: %s, want %s", log, got, want)
		}
	}
}

// TestCodexFork tells what a fork replays of its parent from what it says itself.
func TestCodexFork(t *testing.T) {
	const parent, fork = "01a20370-0000-7000-8000-000000000000", "01a20374-0000-7000-8000-000000000000"
	meta := func(id, from string) string {
		return codexLine("session_meta", fmt.Sprintf(`{"id":%q,"forked_from_id":%q}`, id, from))
	}
	turn := func(id, words string) string {
		return told(`{"type":"task_started","turn_id":"`+id+`"}`) + item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"`+words+`"}]}`) +
			item(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"`+words+`!"}]}`) + told(`{"type":"task_complete","turn_id":"`+id+`"}`)
	}
	older, younger := turn("01a20371-0000-7000-8000-000000000000", "first"), turn("01a20375-0000-7000-8000-000000000000", "then")
	for _, c := range []struct{ name, log, want, title string }{
		{"a fork with its parent's history", meta(fork, parent) + meta(parent, "") + older + younger, "first* first!* then then!", "then"},
		{"a fork without it", meta(fork, parent) + younger, "then then!", "then"},
		{"nothing said yet", meta(fork, parent) + meta(parent, "") + older, "first* first!*", "first"},
		{"ids that do not sort by time", meta("b", "a") + meta("a", "") + turn("1", "first") + turn("2", "then"), "first first! then then!", "first"},
		{"no fork", meta(fork, "") + younger, "then then!", "then"},
	} {
		sink, rep := importText(t, Codex, c.log)
		var got []string
		for _, r := range parsed(t, sink) {
			s := r.Words()
			if r.Replayed {
				s += "*"
			}
			got = append(got, s)
		}
		if strings.Join(got, " ") != c.want || rep.Title != c.title {
			t.Errorf("%s: %v, %q", c.name, got, rep.Title)
		}
	}
}

// TestCodexRest sees where the rarer records go.
func TestCodexRest(t *testing.T) {
	world := codexLine("world_state", `{"full":true}`)
	for _, c := range []struct {
		name, log                 string
		messages, events, skipped int
	}{
		{"the same world twice", world + world, 0, 1, 1},
		{"a ghost", item(`{"type":"ghost_snapshot","ghost_commit":{}}`), 0, 0, 1},
		{"a sealed compaction", item(`{"type":"compaction","encrypted_content":"x"}`), 0, 1, 0},
		{"a new kind of item", item(`{"type":"tea","role":"developer","leaf":"green"}`), 1, 0, 0},
		{"a new kind of call", item(`{"type":"tea_call","call_id":"c","arguments":"{}"}`) + item(`{"type":"tea_call_output","call_id":"c","output":"green"}`), 2, 0, 0},
		{"a new kind of event", told(`{"type":"tea"}`), 0, 1, 0},
		{"a new kind of record", codexLine("tea", `{"leaf":"green"}`), 0, 1, 0},
		{"a bare record", `{"tea":"green"}`, 0, 1, 0},
		{"an item without payload", `{"timestamp":"t","type":"response_item"}`, 0, 1, 0},
		{"an empty message", item(`{"type":"message","role":"user","content":[]}`), 0, 0, 1},
		{"deltas", told(`{"type":"agent_message_delta","delta":"h"}`), 0, 0, 1},
		{"instructions twice", strings.Repeat(codexLine("session_meta", `{"id":"i","instructions":"be brief"}`), 2), 1, 2, 0},
	} {
		_, rep := importText(t, Codex, c.log)
		if rep.Messages != c.messages || rep.Events != c.events || sum(rep.Skipped) != c.skipped || rep.UnpairedCalls+rep.UnpairedResults != 0 {
			t.Errorf("%s: %s", c.name, rep)
		}
	}
}
