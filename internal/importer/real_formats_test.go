package importer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/record"
)

// facts are what a log says, as the tests of this file read it: by encoding/json alone.
type facts struct {
	texts, thoughts, calls, results []string
	said                            []string // texts and results together, of logs whose results name no call
	sessions                        int
}

// at gives what stands at a path in it.
func at(v any, path ...string) any {
	for _, k := range path {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

func strAt(v any, path ...string) string { s, _ := at(v, path...).(string); return s }
func listAt(v any, path ...string) []any { l, _ := at(v, path...).([]any); return l }

// say adds a text, unless it is empty.
func say(list *[]string, text string) {
	if text != "" {
		*list = append(*list, text)
	}
}

// TestRealFormats compares what an import wrote with what the log says, read independently.
func TestRealFormats(t *testing.T) {
	dir := shared(t)
	for _, c := range []struct {
		pattern string
		files   int
		read    func(f *facts, v any)
	}{
		{"copilot-cli/*/*.jsonl", 12, copilotFacts},
		{"pi/*/*.jsonl", 1, piFacts},
		{"gemini-cli/*/*.json", 3, geminiFacts},
		{"openhands/*.jsonl", 2, openHandsFacts},
		{"swe-agent/*.traj", 22, sweFacts},
		{"tau-bench/*", 3, tauFacts},
	} {
		paths := logs(t, dir, c.pattern)
		if len(paths) != c.files {
			t.Errorf("%s: %d files, want %d", c.pattern, len(paths), c.files)
		}
		for _, path := range paths {
			var want facts
			for _, v := range jsonValues(t, path) {
				c.read(&want, v)
			}
			want.sessions = max(want.sessions, 1)
			checkFacts(t, path, &want)
		}
	}
}

// jsonValues reads all values of a file.
func jsonValues(t *testing.T, path string) []any {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []any
	for dec := json.NewDecoder(f); dec.More(); {
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		list = append(list, v)
	}
	return list
}

func checkFacts(t *testing.T, path string, want *facts) {
	t.Helper()
	var got facts
	for _, s := range importEach(t, path) {
		got.sessions++
		for _, r := range parsed(t, s.sink) {
			got.add(&r)
		}
		if len(s.rep.Bad) > 0 || s.rep.UnpairedResults > 0 {
			t.Errorf("%s: %s; %d results without a call", path, s.rep, s.rep.UnpairedResults)
		}
	}
	if got.sessions != want.sessions {
		t.Errorf("%s: %d sessions, want %d", path, got.sessions, want.sessions)
	}
	if want.said != nil {
		for _, r := range got.results {
			got.said = append(got.said, strings.TrimPrefix(r, " "))
		}
		sameSet(t, path+": said", append(got.said, got.texts...), want.said)
		return
	}
	sameSet(t, path+": texts", got.texts, want.texts)
	sameSet(t, path+": thoughts", got.thoughts, want.thoughts)
	sameSet(t, path+": calls", got.calls, want.calls)
	sameSet(t, path+": results", got.results, want.results)
}

func (f *facts) add(r *record.Record) {
	for i := range r.Blocks {
		switch b := &r.Blocks[i]; b.Kind {
		case record.Text:
			say(&f.texts, b.Text)
		case record.Thinking:
			say(&f.thoughts, b.Text)
		case record.ToolUse:
			f.calls = append(f.calls, b.CallID+" "+b.Name)
		case record.ToolResult:
			f.results = append(f.results, b.CallID+" "+b.Text)
		}
	}
}

func sameSet(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if slices.Equal(got, want) {
		return
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("%s: %d, want %d; the first that differs: %.200q, want %.200q", what, len(got), len(want), append(got, "none")[min(i, len(got))], want[i])
			return
		}
	}
	t.Errorf("%s: %d, want %d; one too many: %.200q", what, len(got), len(want), got[len(want)])
}

func copilotFacts(f *facts, v any) {
	d := at(v, "data")
	switch strAt(v, "type") {
	case "user.message", "system.notification":
		say(&f.texts, strAt(d, "content"))
	case "system.message":
		if !slices.Contains(f.texts, strAt(d, "content")) {
			say(&f.texts, strAt(d, "content"))
		}
	case "assistant.message":
		say(&f.texts, strAt(d, "content"))
		say(&f.thoughts, strAt(d, "reasoningText"))
		for _, c := range listAt(d, "toolRequests") {
			f.calls = append(f.calls, strAt(c, "toolCallId")+" "+strAt(c, "name"))
		}
	case "tool.execution_complete":
		f.results = append(f.results, strAt(d, "toolCallId")+" "+strAt(d, "result", "content")+strAt(d, "error", "message"))
	}
}

func piFacts(f *facts, v any) {
	m := at(v, "message")
	var texts []string
	for _, b := range listAt(m, "content") {
		say(&texts, strAt(b, "text"))
		say(&f.thoughts, strAt(b, "thinking"))
		if strAt(b, "type") == "toolCall" {
			f.calls = append(f.calls, strAt(b, "id")+" "+strAt(b, "name"))
		}
	}
	if strAt(m, "role") == "toolResult" {
		f.results = append(f.results, strAt(m, "toolCallId")+" "+strings.Join(texts, "\n"))
	} else {
		f.texts = append(f.texts, texts...)
	}
}

func geminiFacts(f *facts, v any) {
	for _, m := range listAt(v, "messages") {
		if strAt(m, "type") == "info" {
			continue
		}
		say(&f.texts, strAt(m, "content"))
		for _, th := range listAt(m, "thoughts") {
			say(&f.thoughts, strAt(th, "description"))
		}
		for _, c := range listAt(m, "toolCalls") {
			f.calls = append(f.calls, strAt(c, "id")+" "+strAt(c, "name"))
			for _, r := range listAt(c, "result") {
				f.results = append(f.results, strAt(r, "functionResponse", "id")+" "+strAt(r, "functionResponse", "response", "output"))
			}
		}
	}
}

func openHandsFacts(f *facts, v any) {
	f.sessions++
	answers := map[string]bool{}
	for i, e := range listAt(v, "history") {
		meta := at(e, "tool_call_metadata")
		switch a := strAt(e, "action"); {
		case a == "system" || a == "message":
			say(&f.texts, strAt(e, "args", "content")+strAt(e, "content"))
		case a == "recall" || strAt(e, "observation") == "recall":
		case a != "" && meta != nil:
			choice := listAt(meta, "model_response", "choices")[0]
			if id := strAt(meta, "model_response", "id"); !answers[id] {
				answers[id] = true
				say(&f.texts, strAt(choice, "message", "content"))
			}
			f.calls = append(f.calls, strAt(meta, "tool_call_id")+" "+strAt(meta, "function_name"))
		case a != "":
			say(&f.texts, strAt(e, "thought"))
			f.calls = append(f.calls, fmt.Sprintf("openhands-%d %s", i+1, a))
		case meta != nil:
			f.results = append(f.results, strAt(meta, "tool_call_id")+" "+strAt(e, "content"))
		case strAt(e, "observation") == "error" && strAt(e, "source") != "":
			say(&f.texts, strAt(e, "content"))
		default:
			f.results = append(f.results, fmt.Sprintf("openhands-%d %s", i, strAt(e, "content")))
		}
	}
}

func sweFacts(f *facts, v any) {
	for _, m := range listAt(v, "history") {
		content := strAt(m, "content")
		if strAt(m, "role") == "tool" {
			id, _ := listAt(m, "tool_call_ids")[0].(string)
			f.results = append(f.results, id+" "+content)
			continue
		}
		say(&f.texts, content)
		openAICalls(f, m)
	}
}

func openAICalls(f *facts, m any) {
	for _, c := range listAt(m, "tool_calls") {
		f.calls = append(f.calls, strAt(c, "id")+" "+strAt(c, "function", "name"))
	}
}

func tauFacts(f *facts, v any) {
	if text := strAt(v, "messages_display"); text != "" {
		f.sessions++
		for _, part := range regexp.MustCompile(`(?m)^(user|assistant|tool): `).Split(text, -1)[1:] {
			if part = strings.TrimSuffix(part, "\n"); part != "None" {
				f.said = append(f.said, part)
			}
		}
		return
	}
	all, _ := v.([]any)
	for _, talk := range all {
		f.sessions++
		for _, m := range listAt(talk, "traj") {
			if strAt(m, "role") == "tool" {
				f.results = append(f.results, strAt(m, "tool_call_id")+" "+strAt(m, "content"))
				continue
			}
			say(&f.texts, strAt(m, "content"))
			openAICalls(f, m)
		}
	}
}

// TestRealAider sees that every line of a history stands in the import, in order, once.
func TestRealAider(t *testing.T) {
	for _, path := range logs(t, shared(t), "aider/*.md") {
		var want, got []string
		for line := range strings.Lines(string(readFile(t, path))) {
			line = strings.TrimRight(line, " \r\n")
			want = append(want, strings.TrimPrefix(line, "# aider chat started at "))
		}
		sink, rep := importFile(t, path)
		users := 0
		for _, r := range parsed(t, sink) {
			if r.Role == "user" {
				users++
			}
			for _, b := range r.Blocks {
				got = append(got, strings.Split(b.Text, "\n")...)
			}
		}
		for _, e := range sink.events {
			var ev struct {
				Created string `json:"created_at"`
				Data    struct{ Text string }
			}
			if err := json.Unmarshal(e, &ev); err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.Replace(ev.Created, "T", " ", 1))
			got = append(got, strings.Split(ev.Data.Text, "\n")...)
		}
		sameLines(t, got, want)
		if rep.Messages < 60 || users < 30 {
			t.Errorf("%s: %d messages, %d of users", path, rep.Messages, users)
		}
	}
}

// sameLines compares two lists of lines by how often each stands there, without marks, blanks and thinking tags.
func sameLines(t *testing.T, got, want []string) {
	t.Helper()
	count := map[string]int{}
	bare := func(l string) string {
		l = strings.TrimSpace(l)
		for _, mark := range []string{"#### ", "> ", ">"} {
			l = strings.TrimPrefix(l, mark)
		}
		return strings.TrimSpace(l)
	}
	for _, l := range want {
		count[bare(l)]++
	}
	for _, l := range got {
		count[bare(l)]--
	}
	for l, n := range count {
		if n != 0 && l != "" && l != "####" && !strings.Contains(l, "thinking-content-") {
			t.Errorf("%d times too few: %.200q", n, l)
		}
	}
}

// TestOpenCodeStorage puts the files of opencode's older storage together, as its export does, and imports them.
func TestOpenCodeStorage(t *testing.T) {
	dir := filepath.Join(shared(t), "format-fixtures/Resources/Fixtures/stage0/agents/opencode")
	for _, c := range []struct {
		session, parts, want string
	}{
		{"storage_v2/session/proj_test/ses_s_stage0_small.json", "storage_v2/part/", "user Hello; assistant call_1; tool call_1 a.txt\nb.txt; assistant Found 2 files."},
		{"storage_v2/session/proj_test/ses_s_stage0_large.json", "storage_v2/part/", "user Step 1; assistant call_large_1; tool call_large_1 ls: /non-existent-directory: No such file or directory; " +
			"assistant Command failed with exit code 1.  Investigating failing command.; user Step 2; assistant Ok"},
	} {
		var info struct{ ID string }
		raw := readFile(t, filepath.Join(dir, c.session))
		if err := json.Unmarshal(raw, &info); err != nil {
			t.Fatal(err)
		}
		var messages []string
		for _, path := range logs(t, dir, "storage_v2/message/"+info.ID+"/*.json") {
			var m struct{ ID string }
			data := readFile(t, path)
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatal(err)
			}
			var parts []string
			for _, p := range logs(t, dir, c.parts+m.ID+"/*.json") {
				parts = append(parts, string(readFile(t, p)))
			}
			messages = append(messages, `{"info":`+string(data)+`,"parts":[`+strings.Join(parts, ",")+`]}`)
		}
		doc := `{"info":` + string(raw) + `,"messages":[` + strings.Join(messages, ",") + `]}`
		if f, err := Detect([]byte(doc)); f != OpenCode {
			t.Errorf("%s: %q, %v", c.session, f, err)
		}
		sink, _ := importText(t, OpenCode, doc)
		if got := spoken(t, sink); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.session, got, c.want)
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
