package importer

import "testing"

// TestGemini imports chats and saved histories.
func TestGemini(t *testing.T) {
	chat := func(messages string) string {
		return `{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z","messages":[` + messages + `]}`
	}
	hi := `{"id":"u","timestamp":"2026-01-01T00:00:01Z","type":"user","content":"hi"}`
	ls := `{"id":"a","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"","toolCalls":[{"id":"c","name":"ls","args":{}}]}`
	lsDone := `{"id":"a","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"","toolCalls":[{"id":"c","name":"ls","args":{},"result":[{"functionResponse":{"id":"c","response":{"output":"x"}}}]}]}`
	head := `{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z"}` + "\n"
	for _, c := range []struct {
		name, log, want string
		merged, skipped int
		events          int
	}{
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
	}
}
