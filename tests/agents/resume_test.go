package agents

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestResume exports a session of every format to Claude Code and resumes it there. The model gets each text, call and result once, in
// order, but those that no one answers.
func TestResume(t *testing.T) {
	samples, err := filepath.Glob("../../samples/*")
	must(t, err)
	for _, sample := range samples {
		t.Run(filepath.Base(sample), func(t *testing.T) {
			l := newClaude(t)
			store := t.TempDir()
			l.ctxfs("import", "--store", store, "--agent", "a", sample)
			sessions, err := filepath.Glob(sessionBelow(store, "a", "*"))
			must(t, err)
			l.resume(sessions[0])
		})
	}
}

func (l *lab) resume(session string) {
	l.t.Helper()
	cmd := exec.Command(program, "session", "export", session, "--resume-in", l.work)
	cmd.Env = l.env
	out, err := cmd.Output()
	must(l.t, err)
	id := regexp.MustCompile(`claude --resume (\S+)\n$`).FindSubmatch(out)
	if id == nil {
		l.t.Fatalf("no command: %s", out)
	}
	l.run("-p", "--permission-mode", "bypassPermissions", "--resume", string(id[1]), "turn-1")
	var got message
	for _, msg := range l.model.sent() {
		if msg.role == "system" {
			continue
		}
		got.texts = append(got.texts, msg.texts...)
		got.calls = append(got.calls, msg.calls...)
		got.results = append(got.results, msg.results...)
	}
	got.texts = slices.DeleteFunc(got.texts, func(s string) bool {
		return strings.HasPrefix(s, "<system-reminder>") || s == "No response requested." // Claude Code's own
	})
	want := said(l.t, contents(l.t, filepath.Join(session, "messages.jsonl")))
	same(l.t, "texts", got.texts, append(want.texts, "turn-1"))
	same(l.t, "calls", got.calls, want.calls)
	same(l.t, "results", got.results, want.results)
}

// said returns what the model is to get of a session.
func said(t *testing.T, log []byte) message {
	t.Helper()
	var m message
	called, answered := map[string]bool{}, map[string]bool{}
	for _, r := range records(t, log) {
		for _, b := range r.Content {
			called[b.ID] = called[b.ID] || b.Type == "tool_use" && b.ID != ""
			answered[b.ToolUseID] = answered[b.ToolUseID] || b.Type == "tool_result"
		}
	}
	for _, r := range records(t, log) {
		if r.Sidechain || r.Role == "system" || r.Role == "developer" {
			continue
		}
		for _, b := range r.Content {
			switch {
			case b.Type == "text" && strings.TrimSpace(b.Text) != "":
				m.texts = append(m.texts, strings.TrimSpace(b.Text))
			case b.Type == "tool_use" && answered[b.ID]:
				m.calls = append(m.calls, canonical(b.Input))
			case b.Type == "tool_result" && called[b.ToolUseID]:
				m.results = append(m.results, output(b.Content))
			}
		}
	}
	return m
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			g, _ := json.Marshal(got)
			w, _ := json.Marshal(want)
			t.Errorf("%s differ at %d:\n got %s\nwant %s", what, i, g, w)
			return
		}
	}
}
