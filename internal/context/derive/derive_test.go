package derive

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/record"
)

func fold(records ...record.Record) *State {
	s := NewState(nil)
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
	if got, want := string(s.Todo(1)), "# Todo (messages:1)\n\n- [ ] one (in progress, messages:1)\n- [ ] two (messages:1)\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := string(s.Todo(3)), "# Todo (messages:2)\n\n- [x] one (messages:2)\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func result(id, text string) record.Record {
	return record.Record{Role: "user", Blocks: []record.Block{{Kind: record.ToolResult, CallID: id, Text: text}}}
}

func callAs(id, name, input string) record.Record {
	r := call(name, input)
	r.Blocks[0].CallID = id
	return r
}

// The plan that a fork replays of its parent is in force until the fork goes on by itself.
func TestTodoOfAFork(t *testing.T) {
	plan := call("update_plan", `{"plan":[{"step":"of the parent","status":"in_progress"}]}`)
	plan.Replayed = true
	note := record.Record{Role: "user", Meta: true}
	own := call("update_plan", `{"plan":[{"step":"of the fork","status":"pending"}]}`)
	s := fold(plan, note, say("user", "Try another way."), own, say("user", "Go on."))
	for upTo, want := range map[int]string{1: "of the parent", 2: "of the parent", 3: "", 4: "of the fork", 5: "of the fork"} {
		if got := string(s.Todo(upTo)); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("as of %d: %q, want %q", upTo, got, want)
		}
	}
}

func TestTodoOfTasks(t *testing.T) {
	s := fold(callAs("a", "TaskCreate", `{"subject":"one","activeForm":"doing one"}`), callAs("b", "TaskCreate", `{"subject":"two"}`),
		result("b", "Task #7 created successfully: two"), result("a", "Task #6 created successfully: one"),
		callAs("c", "TaskUpdate", `{"taskId":"7","status":"in_progress"}`), callAs("d", "TaskUpdate", `{"taskId":"6","status":"completed"}`),
		callAs("e", "TaskUpdate", `{"taskId":"7","status":"deleted"}`), call("TodoWrite", `{"todos":[]}`))
	for upTo, want := range map[int]string{
		2: "# Todo (messages:2)\n\n- [ ] one (messages:1)\n- [ ] two (messages:2)\n",
		6: "# Todo (messages:6)\n\n- [x] one (messages:6)\n- [ ] two (in progress, messages:5)\n",
		7: "# Todo (messages:7)\n\n- [x] one (messages:6)\n",
		8: "",
	} {
		if got := string(s.Todo(upTo)); got != want {
			t.Errorf("as of %d: %q, want %q", upTo, got, want)
		}
	}
}

func TestAnswersAndPlansAreDecisions(t *testing.T) {
	s := fold(callAs("a", "AskUserQuestion", `{"questions":[{"question":"Which \"format\"?"},{"question":"When?"},{"question":"Who?"}]}`),
		result("a", `User has answered your questions: "Which "format"?"="JSON, typed", "When?"="Now". You can now continue with the user's answers in mind.`),
		callAs("b", "ExitPlanMode", `{"plan":"# Not this"}`), result("b", "The user doesn't want to proceed with this tool use."),
		callAs("c", "ExitPlanMode", `{"plan":"\n# Do it\n## Steps"}`), result("c", "User has approved your plan. You can now start coding."))
	want := `{"id":"d1","decision":"Which \"format\"? JSON, typed","source":"messages:2"}` + "\n" + `{"id":"d2","decision":"When? Now","source":"messages:2"}` + "\n" +
		`{"id":"d3","decision":"Approved plan: Do it","source":"messages:6"}` + "\n"
	if got := string(s.Decisions(6)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestRulesAreFactsAndDescriptionsAreNot(t *testing.T) {
	for text, want := range map[string]int{
		"Always run the tests before pushing.": 1, "**Never** touch the main checkout.": 1, "Please do not add a parent folder.": 1, "- Make sure that the lint passes.": 1,
		"We use tabs here.": 1, "You must not revert my changes.": 1, "Respect the tree and never revert it.": 1,
		"It somehow always lists these twice.": 0, "This causes it to always return 0.": 0, "The data never leaves the machine.": 0, "If we use the last search anyway, then it is slow.": 0,
		"Do you always ask?": 0,
	} {
		s := fold(say("user", text))
		if got := strings.Count(string(s.Facts(1)), "\n"); got != want {
			t.Errorf("%q: %d facts, want %d", text, got, want)
		}
	}
}

func TestLargeOutputsAreRefs(t *testing.T) {
	s := fold(callAs("a", "sh", `{"cmd":"make"}`), result("a", strings.Repeat("x", largeOutput)), result("b", "small"), result("c", strings.Repeat("y", largeOutput)))
	want := `{"id":"o1","path":"context/swap/open/messages:2.1","kind":"tool_output","summary":"8192 bytes, output of sh {\"cmd\":\"make\"}","source":"messages:2"}` + "\n" +
		`{"id":"o2","path":"context/swap/open/messages:4.1","kind":"tool_output","summary":"8192 bytes, output of an unknown call","source":"messages:4"}` + "\n"
	if got := string(s.Refs(4)); got != want || len(s.calls) != 0 {
		t.Errorf("got %s want %s", got, want)
	}
}

// FuzzAdd folds any call and result, and any words: every line of every file is whole, and names its source; a path is on
// one line.
func FuzzAdd(f *testing.F) {
	f.Add("AskUserQuestion", `{"questions":[{"question":"q"}]}`, `"q"="a". You can`, "Always do it. We decided to.")
	f.Add("TaskCreate", `{"subject":"s"}`, "Task #3 created", "```\n")
	f.Add("TodoWrite", `{"todos":[{"content":"c\n","status":"done"}]}`, "", "x")
	f.Add("apply_patch", "*** Add File: y\n", "", "Never\x00 ever.")
	for _, s := range []string{`{"file_path":"/a"}`, `{"path":3}`, "*** Update File: x", `{"patch":"*** Add File: y\n"}`, "{", ""} {
		f.Add("Edit", s, "", "")
	}
	f.Fuzz(func(t *testing.T, name, input, output, words string) {
		for _, p := range Paths(&record.Block{Input: input}) {
			if strings.Contains(p, "\n") {
				t.Errorf("a path over two lines: %q", p)
			}
		}
		s := fold(say("user", words), callAs("a", name, input), result("a", output), say("assistant", words), callAs("b", "TaskUpdate", input))
		for _, data := range [][]byte{s.Facts(5), s.Decisions(5), s.Refs(5)} {
			for l := range strings.Lines(string(data)) {
				var row struct{ ID, Source string }
				if json.Unmarshal([]byte(l), &row) != nil || row.ID == "" || !strings.HasPrefix(row.Source, "messages:") {
					t.Errorf("a line without a source: %q", l)
				}
			}
		}
		for i, l := range strings.Split(strings.TrimSuffix(string(s.Todo(5)), "\n"), "\n") {
			if i > 1 && !strings.HasPrefix(l, "- [") || i > 1 && !strings.Contains(l, "messages:") {
				t.Errorf("line %d of the todo list: %q", i+1, l)
			}
		}
	})
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
