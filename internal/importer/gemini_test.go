package importer

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestGemini imports chats and saved histories.
func TestGemini(t *testing.T) {
	chat := func(messages string) string {
		return `{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z","messages":[` + messages + `]}`
	}
	hi := `{"id":"u","timestamp":"2026-01-01T00:00:01Z","type":"user","content":"hi"}`
	ls := `{"id":"a","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"","toolCalls":[{"id":"c","name":"ls","args":{}}]}`
	lsDone := `{"id":"a","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"","toolCalls":[{"id":"c","name":"ls","args":{},"result":[{"functionResponse":{"id":"c","response":{"output":"x"}}}]}]}`
	head := `{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z"}` + "\n"
	set := `{"$set":{"lastUpdated":"2026-01-01T00:00:02Z"}}` + "\n"
	said := `{"id":"a","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"I look.","thoughts":[{"subject":"S","description":"why"}],"tokens":{"input":9,"output":2}`
	lsResult := `{"functionResponse":{"id":"c","name":"ls","response":{"output":"x"}}}`
	calls := `,"toolCalls":[{"id":"c","name":"ls","args":{},"result":[` + lsResult + `],"status":"success"},{"id":"d","name":"cat","args":{},"result":[{"functionResponse":{"id":"d","response":{"error":"none"}}}],"status":"error"}]}`
	answers := `{"id":"r","timestamp":"2026-01-01T00:00:03Z","type":"user","content":[` + lsResult + `,{"functionResponse":{"id":"d","name":"cat","response":{"error":"none"}}}]}`
	end := `{"id":"z","timestamp":"2026-01-01T00:00:04Z","type":"gemini","content":"Done.","tokens":{"input":12,"output":1}}`
	worked := head + hi + "\n" + set + said + "}\n" + set + said + calls + "\n" + answers + "\n" + set + end + "\n" + set
	workedAs := "user hi; assistant why I look. <u; assistant c d <a; tool c x d none <a#6; assistant Done. <a.tool"
	context := `{"id":"k","timestamp":"2026-01-01T00:00:00Z","type":"user","content":[{"text":"<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - /x\n</session_context>"}]}`
	contextAs := "user/instructions <session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - /x\n</session_context>"
	resumed := head + `{"$set":{"messages":[` + context + `]}}` + "\n" + `{"$set":{"messages":[` + context + "," + hi + `,{"id":"a","type":"gemini","content":[{"text":"**S** why","thought":true},{"text":"I look."},{"functionCall":{"id":"c","name":"ls","args":{}}},{"functionCall":{"id":"d","name":"cat","args":{}}}]},` +
		strings.Replace(answers, `"r"`, `"a_response"`, 1) + "," + answers + `,{"id":"z","type":"gemini","content":[{"text":"Done."}]}]}}` + "\n"
	for _, c := range []struct {
		name, log, want string
		merged, skipped int
		events          int
	}{
		{"calls after the text, and their results again", worked, workedAs, 0, 5, 1},
		{"resumed", worked + resumed + `{"id":"v","timestamp":"2026-01-02T00:00:00Z","type":"user","content":"on"}`, workedAs + "; " + contextAs + "; user on <z", 0, 5, 4},
		{"the folder, then a turn", head + `{"$set":{"messages":[` + context + `]}}` + "\n" + hi, contextAs + "; user hi <k", 0, 0, 2},
		{"rolled back", head + hi + "\n" + end + "\n" + `{"$set":{"messages":[` + hi + `]}}` + "\n" + `{"id":"v","timestamp":"2026-01-02T00:00:00Z","type":"user","content":"on"}`, "user hi; assistant Done. <u; user on <u", 0, 0, 2},
		{"a result of several calls in each", head + `{"$set":{"messages":[{"id":"a","type":"gemini","toolCalls":[{"id":"c","name":"ls","args":{},"result":[` + lsResult + `,{"functionResponse":{"id":"d","response":{"output":"y"}}}]},` +
			`{"id":"d","name":"cat","args":{},"result":[` + lsResult + `,{"functionResponse":{"id":"d","response":{"output":"y"}}}]}]}]}}`, "assistant c d; tool c x d y <a", 0, 0, 2},
		{"a saved history with results twice", `[{"role":"model","parts":[{"functionCall":{"id":"c","name":"ls","args":{}}}]},{"role":"user","parts":[` + lsResult + `]},{"role":"user","parts":[` + lsResult + `]}]`, "assistant c; tool c x <gemini-cli-1", 0, 1, 0},
		{"one id for two calls", chat(`{"id":"a","type":"gemini","toolCalls":[{"id":"c","name":"ls","args":{},"result":"x"}]},{"id":"b","type":"gemini","toolCalls":[{"id":"c","name":"ls","args":{"p":1},"result":"y"}]}`),
			"assistant c; tool c x <a; assistant c <a.tool; tool c y <b", 0, 0, 1},
		{"nothing", chat(""), "", 0, 0, 1},
		{"a chat", chat(hi + "," + lsDone), "user hi; assistant c <u; tool c x <a", 0, 0, 1},
		{"another kind of response", chat(`{"id":"a","type":"gemini","toolCalls":[{"id":"c","name":"ls","args":"x","result":[{"functionResponse":{"response":{"files":2}}}],"status":"error"}]}`), `assistant c; tool c {"files":2} <a`, 0, 0, 1},
		{"a bare text for a result", chat(`{"id":"a","type":"gemini","toolCalls":[{"id":"c","name":"ls","result":"x"}]}`), `assistant c; tool c x <a`, 0, 0, 1},
		{"a message that grew", head + hi + "\n" + ls + "\n" + lsDone + "\n", "user hi; assistant c <u; tool c x <a", 1, 0, 1},
		{"logged again", head + hi + "\n" + lsDone + "\n" + hi + "\n", "user hi; assistant c <u; tool c x <a", 0, 1, 1},
		{"taken back", head + hi + "\n" + lsDone + "\n" + `{"$rewindTo":"a"}` + "\n" + `{"id":"b","timestamp":"2026-01-01T00:00:03Z","type":"user","content":"or"}`, "user hi; assistant c <u; tool c x <a; user or <u", 0, 0, 2},
		{"taken back to nowhere", head + hi + "\n" + `{"$rewindTo":"?"}` + "\n" + `{"id":"b","timestamp":"2026-01-01T00:00:03Z","type":"user","content":"or"}`, "user hi; user or", 0, 0, 2},
		{"compressed", head + hi + "\n" + lsDone + "\n" + `{"$set":{"messages":[{"id":"k","type":"user","content":"sum"},{"id":"a"}]}}` + "\n" + `{"id":"b","timestamp":"2026-01-01T00:00:03Z","type":"user","content":"on"}`,
			"user hi; assistant c <u; tool c x <a; user/compaction sum; user on <a.tool", 0, 0, 2},
		{"the same history", head + hi + "\n" + `{"$set":{"messages":[{"id":"u"}]}}`, "user hi", 0, 0, 2},
		{"a saved history", `[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"ls","args":{}}},{"functionCall":{"name":"ls","args":{}}}]},` +
			`{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"1"}}},{"functionResponse":{"name":"ls","response":{"error":"2"}}},{"text":"and?"}]}]`,
			"user hi; assistant hm call-1 call-2 <gemini-cli-1; tool call-1 1 call-2 2 <gemini-cli-2; user and? <gemini-cli-3", 0, 0, 0},
		{"parts of every kind", `{"history":[{"role":"user","parts":["t",{"fileData":{"fileUri":"u","mimeType":"video/mp4"}},{"executableCode":{"code":"1"}},{"inlineData":{"mimeType":"audio/wav","data":"AAAA"}}]}]}`,
			`user t  {"executableCode":{"code":"1"}} `, 0, 0, 1},
		{"cut off", chat(hi + "," + lsDone)[:len(chat(hi+","+lsDone))-9], "user hi", 0, 0, 2},
		{"cut off before anything", `{"sessionId":"s","projectHash":"h","startTime":"t","messages":[{"id":`, "", 0, 0, 1},
	} {
		sink, rep := importText(t, GeminiCLI, c.log)
		if got := shape(t, sink); got != c.want || rep.Merged != c.merged || sum(rep.Skipped) != c.skipped || rep.Events != c.events {
			t.Errorf("%s: %q, %s\nwant %q", c.name, got, rep, c.want)
		}
		if strings.HasPrefix(c.log, head) {
			sameStream(t, []byte(c.log), sink)
		}
	}
}

// sameStream compares what a stream writes of a log with what Import wrote.
func sameStream(t *testing.T, log []byte, whole *memSink) {
	t.Helper()
	sink, _ := streamed(t, GeminiCLI, log)
	if !bytes.Equal(sink.log(), whole.log()) {
		t.Errorf("the stream wrote other messages: %s", firstDiff(sink.log(), whole.log()))
	}
	if a, b := bytes.Join(sink.events, []byte{'\n'}), bytes.Join(whole.events, []byte{'\n'}); !bytes.Equal(a, b) {
		t.Errorf("the stream wrote other events: %s", firstDiff(a, b))
	}
}

// TestGeminiSettle writes an answer before its call has a result, and what its next copy adds as a message of its own.
func TestGeminiSettle(t *testing.T) {
	sink := &memSink{}
	s, err := NewStream(GeminiCLI, sink)
	if err != nil {
		t.Fatal(err)
	}
	answer := `{"id":"a","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"I look.","tokens":{"input":9,"output":2},"toolCalls":[{"id":"c","name":"ls","args":{}`
	result := `,"result":[{"functionResponse":{"id":"c","response":{"output":"x"}}}]`
	if err := s.Line([]byte(answer + "}]}\n")); err != nil || !s.Waits() || len(sink.messages) > 0 {
		t.Fatalf("%v, waits %v, %s", err, s.Waits(), sink.log())
	}
	if err := errors.Join(s.Settle(), s.Line([]byte(answer+result+"}]}\n"))); err != nil || s.Waits() {
		t.Fatal(err)
	}
	if got := shape(t, sink); got != "assistant I look. c; tool c x <a" || strings.Count(string(sink.log()), `"usage"`) != 1 || !strings.Contains(string(sink.messages[1]), `"continues":"a"`) {
		t.Errorf("%s: %s", got, sink.log())
	}
}
