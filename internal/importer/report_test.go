package importer

import (
	"errors"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	r := Report{Format: ClaudeCode, Lines: 5510, Records: 5512, Messages: 1235, Events: 59, Blobs: 1, MessageRecords: 1234, EventRecords: 56,
		Merged: 300, MoreMessages: 1, MoreEvents: 2, Skipped: map[string]int{"progress": 3779, "empty": 71, "turn_duration": 72}, Bad: map[string]int{badTorn: 1}}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	want := "read 5,512 records on 5,510 lines, wrote 1,235 messages + 59 events + 1 blob from 1,290 records, merged 300, " +
		"skipped 3,922 (progress 3,779; turn_duration 72; empty 71), bad 1 (torn last line 1)"
	if got := r.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, change := range map[string]func(*Report){
		"a record lost":    func(r *Report) { r.Records++ },
		"a merge too many": func(r *Report) { r.Merged++ },
		"a message lost":   func(r *Report) { r.Messages-- },
		"an event lost":    func(r *Report) { r.Events-- },
	} {
		changed := r
		change(&changed)
		if changed.Check() == nil {
			t.Errorf("%s: the books still balance", name)
		}
	}
	if got := comma(1234567); got != "1,234,567" {
		t.Error(got)
	}
}

func TestDetect(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	for _, c := range []struct {
		name, head string
		want       Format
		says       string // of the error
	}{
		{"claude", said("a", "hi"), ClaudeCode, ""},
		{"claude, summary first", `{"type":"summary","summary":"s","leafUuid":"u"}` + "\n", ClaudeCode, ""},
		{"claude, noise first", "\n\x00\x00\nnot json\n" + `{"type":"permission-mode","permissionMode":"plan","sessionId":"s"}`, ClaudeCode, ""},
		{"claude, cut inside its first message", `{"type":"user","sessionId":"s","message":{"role":"user","content":"` + long[:200<<10], ClaudeCode, ""},
		{"codex", `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x"}}`, Codex, ""},
		{"codex, cut", `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","base_instructions":"` + long, Codex, ""},
		{"codex, byte order mark", "\uFEFF" + `{"timestamp":"t","type":"event_msg","payload":{}}`, Codex, ""},
		{"empty", " \n", "", "it is empty; understood are claude-code, codex, "},
		{"text", "# A heading\n", "", "neither JSON objects"},
		{"binary", "\x7fELF\x00\x00", "", "binary"},
		{"a message", `{"role":"user","content":"hi"}`, Messages, ""},
		{"messages on many lines", "[\n {\"role\":\"user\",\"content\":\"hi\"}]", Messages, ""},
		{"another's document with a message on a line", "{\n \"talk\": [\n{\"role\":\"user\",\"content\":\"hi\"}\n]}", "", "of another kind"},
		{"a trajectory, cut inside its first step", `{"environment":"e","trajectory":[{"action":"a","observation":"o","response":"` + long, SWEAgent, ""},
		{"an evaluation, cut inside its first event", `{"instance_id":"i","history":[{"id":0,"source":"agent","action":"system","args":{"content":"` + long, OpenHands, ""},
		{"a chat of Gemini's, cut", `{"sessionId":"s","projectHash":"h","messages":[{"id":"1","type":"user","content":"` + long, GeminiCLI, ""},
		{"an export of opencode's, cut", `{"info":{"id":"s"},"messages":[{"info":{"id":"1","sessionID":"s","role":"user"},"parts":[{"type":"text","text":"` + long, OpenCode, ""},
		{"a list cut inside its first message", `[{"role":"user","content":"` + long, Messages, ""},
		{"a chat of aider's", "\n# aider chat started at 2026-01-01 10:00:00\n\n> Aider  \n", Aider, ""},
		{"two formats at once", `{"role":"user","content":"hi","type":"user","sessionId":"s","message":{"role":"user","content":"hi"}}`, ClaudeCode, ""},
		{"a message that says it is Gemini's", `{"id":"1","timestamp":"t","type":"user","content":"hi"}`, GeminiCLI, ""},
		{"a document that could be two", `{"sessionId":"s","startTime":"t","messages":[],"history":[{"role":"user","content":"x"}]}`, "", "it could be any of gemini-cli, swe-agent; say which (of claude-code, "},
		{"qwen's parts", `{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","parts":[]}}`, "", "of another kind"},
	} {
		got, err := Detect([]byte(c.head))
		if got != c.want || (err == nil) != (c.says == "") {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		if err != nil && (!errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
