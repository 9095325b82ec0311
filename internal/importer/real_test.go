package importer

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRealSessions imports every Claude Code and Codex log of ../shared/data.
func TestRealSessions(t *testing.T) {
	dir := shared(t)
	all := append(logs(t, dir, "claude-code/*/*.jsonl"), logs(t, dir, "codex/*/*.jsonl")...)
	if len(all) != 79 {
		t.Errorf("%d logs, want 79", len(all))
	}
	var total Report
	var twoOnALine, unpaired int
	for _, path := range all {
		sink, rep := importFile(t, path)
		if got, want := string(rep.Format), strings.Split(path[len(dir)+1:], string(filepath.Separator))[0]; got != want {
			t.Errorf("%s: detected as %s", path, got)
		}
		if len(rep.Bad) != 0 {
			t.Errorf("%s: bad %v: every line of these logs is JSON", path, rep.Bad)
		}
		if !strings.Contains(filepath.Base(path), rep.SessionID) || rep.CWD == "" || rep.Title == "" || rep.Started.IsZero() || rep.Ended.Before(rep.Started) {
			t.Errorf("%s: session %q, cwd %q, title %q, %v to %v", path, rep.SessionID, rep.CWD, rep.Title, rep.Started, rep.Ended)
		}
		if rep.UnpairedResults != 0 {
			t.Errorf("%s: %d results without a call", path, rep.UnpairedResults)
		}
		twoOnALine += rep.Records - rep.Lines
		unpaired += rep.UnpairedCalls
		total.Messages += len(sink.messages)
		total.Events += len(sink.events)
		total.Blobs += rep.Blobs
		total.Calls += rep.Calls
		total.Merged += rep.Merged
	}
	if twoOnALine != 3 || total.Blobs != 7 || unpaired != 11 {
		t.Errorf("two objects on %d lines, %d pictures, %d calls that were cut off; want 3, 7, 11", twoOnALine, total.Blobs, unpaired)
	}
	t.Logf("%d logs: %d messages, %d events, %d merged, %d calls", len(all), total.Messages, total.Events, total.Merged, total.Calls)
}

// TestGrowingSession imports the same session as it was saved again and again: what was written first stays as it was.
func TestGrowingSession(t *testing.T) {
	for _, dir := range logs(t, shared(t), "growth/*/claude-code__*") {
		var before [][]byte
		for _, path := range logs(t, dir, "*.jsonl") {
			sink, _ := importFile(t, path)
			// The last message of the shorter log may have been cut off while it grew.
			for i := 0; i < len(before)-1; i++ {
				if !bytes.Equal(before[i], sink.messages[i]) {
					t.Errorf("%s: message %d changed:\n%.300s\n%.300s", path, i+1, before[i], sink.messages[i])
					break
				}
			}
			before = sink.messages
		}
	}
}

// TestFixtures imports small logs of other versions of the two agents, which lack fields or have others.
func TestFixtures(t *testing.T) {
	dir := filepath.Join(shared(t), "format-fixtures", "Resources", "Fixtures")
	for _, pattern := range []string{"codex_*.jsonl", "stage0/agents/codex/*.jsonl", "stage0/agents/claude/*.jsonl", "stage0/agents/claude/subagent/*.jsonl",
		"stage0/agents/claude/subagent/*/*/*.jsonl", "stage0/agents/copilot/*.jsonl", "stage0/agents/copilot/*/*/*.jsonl", "stage0/agents/pi/*.jsonl",
		"stage0/agents/gemini/*", "stage0/agents/hermes/*", "session_*.jsonl",
		"stage0/agents/openclaw/*.jsonl"} {
		list := logs(t, dir, pattern)
		if len(list) == 0 {
			t.Errorf("no %s", pattern)
		}
		for _, path := range list {
			sink, rep := importUnchecked(t, path)
			checkImport(t, sink, rep)
			if rep.Records == 0 || sum(rep.Bad) > 0 {
				t.Errorf("%s: %s", path, rep)
			}
		}
	}
}

// TestRealDeterminism imports some logs twice.
func TestRealDeterminism(t *testing.T) {
	for i, path := range append(logs(t, shared(t), "claude-code/*/*.jsonl"), logs(t, shared(t), "codex/*/*.jsonl")...) {
		if i%8 != 0 {
			continue
		}
		a, ra := importUnchecked(t, path)
		b, rb := importUnchecked(t, path)
		if !bytes.Equal(a.log(), b.log()) || !bytes.Equal(bytes.Join(a.events, nil), bytes.Join(b.events, nil)) || ra.String() != rb.String() {
			t.Errorf("%s: two imports differ", path)
		}
	}
}

// TestForeignLogs sees that the logs of other agents are not taken for one of ours.
func TestForeignLogs(t *testing.T) {
	dir := shared(t)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel := path[len(dir)+1:]
		got, derr := Detect(data[:min(len(data), 256<<10)])
		if want := wantFormat(filepath.ToSlash(rel)); got != want {
			t.Errorf("%s: detected as %q (%v), want %q", rel, got, derr, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRealCodexWords holds logs of Codex 0.169 to what they say about themselves: what the user wrote, and what a compaction left.
func TestRealCodexWords(t *testing.T) {
	for _, path := range logs(t, shared(t), "cli-2026-11/codex-*/*/*/*/*.jsonl") {
		var users, summaries []string
		for _, v := range jsonValues(t, path) {
			p := at(v, "payload")
			if strAt(v, "type") == "compacted" {
				say(&summaries, strAt(p, "message"))
			}
			for i, origin := range listAt(p, "internal_chat_message_metadata_passthrough", "content_item_metadata") {
				if strAt(origin, "provenance", "type") == "user" {
					say(&users, strAt(listAt(p, "content")[i], "text"))
				}
			}
		}
		sink, _ := importFile(t, path)
		var gotUsers, gotSummaries []string
		for _, r := range parsed(t, sink) {
			switch {
			case r.IsUser():
				gotUsers = append(gotUsers, r.Words())
			case r.Compaction:
				gotSummaries = append(gotSummaries, r.Words())
			case oneOf(r.Role, "system", "developer") && !r.IsInstructions():
				t.Errorf("%s: record %d of role %s is not marked", path, r.N, r.Role)
			}
		}
		sameSet(t, path+": words of the user", gotUsers, users)
		sameSet(t, path+": compactions", gotSummaries, summaries)
	}
}

// wantFormat knows whose logs stand where. OpenClaw is built on pi.
func wantFormat(rel string) Format {
	first, _, _ := strings.Cut(strings.TrimPrefix(rel, "format-fixtures/Resources/Fixtures/stage0/agents/"), "/")
	if late, ok := strings.CutPrefix(rel, "cli-2026-11/"); ok { // a folder or a file for each program, with its version
		first = late[:strings.IndexAny(late, "0123456789")-1]
	}
	switch {
	case filepath.Base(rel) == ".project_root":
		return ""
	case first == "opencode" && strings.HasSuffix(rel, ".json") && !strings.Contains(rel, "storage"):
		return OpenCode
	case first == "openhands":
		return OpenHands
	case first == "swe-agent":
		return SWEAgent
	case first == "aider":
		return Aider
	case first == "tau-bench", first == "hermes", strings.HasPrefix(filepath.Base(rel), "session_") && !strings.Contains(rel, "droid"):
		return Messages // Hermes keeps OpenAI's messages
	case first == "gemini" || first == "gemini-cli":
		return GeminiCLI
	case !strings.HasSuffix(rel, ".jsonl"):
		return ""
	case strings.Contains(rel, "claude"):
		return ClaudeCode
	case strings.Contains(rel, "codex"):
		return Codex
	case first == "pi" || first == "openclaw":
		return Pi
	case first == "copilot-cli" || first == "copilot":
		return CopilotCLI
	}
	return ""
}
