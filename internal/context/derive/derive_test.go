package derive

import (
	"strings"
	"testing"
	"time"

	"ctxfs/internal/record"
)

func fold(records ...record.Record) *State {
	s := NewState()
	for i := range records {
		records[i].N = i + 1
		s.Add(&records[i])
	}
	return s
}

func say(role, text string) record.Record {
	return record.Record{Role: role, Blocks: []record.Block{{Kind: record.Text, Text: text}}}
}

func call(name, input string) record.Record {
	return record.Record{Role: "assistant", Blocks: []record.Block{{Kind: record.ToolUse, Name: name, Input: input}}}
}

func TestNothingKnownSaysNothing(t *testing.T) {
	s := fold(say("user", "hello there, how are you?"), say("assistant", "fine"))
	for _, got := range [][]byte{s.Facts(2), s.Decisions(2), s.Todo(2), s.Refs(2), Digest{}.Markdown()} {
		if len(got) != 0 {
			t.Errorf("said %q", got)
		}
	}
}

func TestFactsAndDecisionsKeepTheirSource(t *testing.T) {
	s := fold(say("user", "Please fix it. We always run make lint before a push. Do you always ask?\n```\nalways this is code\n```"),
		say("assistant", "Looking.\nI decided to keep the old index format."), say("user", "We always run make lint before a push."))
	if got, want := string(s.Facts(3)), `{"id":"f1","text":"We always run make lint before a push.","source":"messages:1"}`+"\n"; got != want {
		t.Errorf("facts %q, want %q", got, want)
	}
	if got, want := string(s.Decisions(3)), `{"id":"d1","decision":"I decided to keep the old index format.","source":"messages:2"}`+"\n"; got != want {
		t.Errorf("decisions %q, want %q", got, want)
	}
	if got := s.Decisions(1); len(got) != 0 {
		t.Errorf("as of record 1: %q", got)
	}
}

func TestTodoIsTheLastListAsOfARecord(t *testing.T) {
	s := fold(call("TodoWrite", `{"todos":[{"content":"one","status":"in_progress"},{"content":"two","status":"pending"}]}`),
		call("update_plan", `{"plan":[{"step":"one","status":"completed"}]}`), call("TodoWrite", `not json`))
	if got, want := string(s.Todo(1)), "# Todo (messages:1)\n\n- [ ] one (in progress)\n- [ ] two\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := string(s.Todo(3)), "# Todo (messages:2)\n\n- [x] one\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRefsNameTheFilesTouched(t *testing.T) {
	s := fold(call("Read", `{"file_path":"/a.go"}`), call("Edit", `{"file_path":"/a.go","old_string":"x"}`),
		call("apply_patch", "*** Begin Patch\n*** Update File: b.go\n*** Add File: c.go\n*** End Patch"), call("Bash", `{"command":"cat /d.go"}`))
	got := string(s.Refs(4))
	if strings.Count(got, "\n") != 3 || !strings.Contains(got, `{"id":"r1","path":"/a.go","kind":"file","summary":"named in 2 tool calls, 1 of them edits; first messages:1, last messages:2","source":"messages:2"}`) {
		t.Errorf("refs:\n%s", got)
	}
	if latest := string(s.LatestRefs(4, 2)); strings.Contains(latest, "/a.go") || strings.Count(latest, "\n") != 2 || !strings.Contains(got, latest) {
		t.Errorf("latest refs:\n%s", latest)
	}
}

func TestSummaryQuotes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	got := string(Digest{Records: 9, Users: 2, First: Said{1, at, ""}, Last: Said{9, at, ""}, Requests: []Said{{1, at, "Fix the build."}, {7, time.Time{}, "Now\nthe tests."}}}.Markdown())
	want := "# Summary of messages:1-9\n\n9 records, 2 of them the user's; from 2026-01-02 03:04 to 2026-01-02 03:04. Extracts, not a retelling.\n" +
		"\n## First request (messages:1, 2026-01-02 03:04)\n\nFix the build.\n\n## Later requests\n\n- messages:7: Now the tests.\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func FuzzPaths(f *testing.F) {
	for _, s := range []string{`{"file_path":"/a"}`, `{"path":3}`, "*** Update File: x", `{"patch":"*** Add File: y\n"}`, "{", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range Paths(&record.Block{Input: s}) {
			if strings.Contains(p, "\n") {
				t.Errorf("a path over two lines: %q", p)
			}
		}
	})
}
