package importer

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// copilotLog writes records of Copilot's log. Each answers the one before.
func copilotLog(list ...string) string {
	var b strings.Builder
	for i := 0; i < len(list); i += 2 {
		parent := "null"
		if i > 0 {
			parent = fmt.Sprintf(`"e%d"`, i/2)
		}
		fmt.Fprintf(&b, `{"type":%q,"data":%s,"id":"e%d","timestamp":"2026-01-01T00:00:%02dZ","parentId":%s}`+"\n", list[i], list[i+1], i/2+1, i/2, parent)
	}
	return b.String()
}

// spoken is shape without what the records answer.
func spoken(t *testing.T, sink *memSink) string {
	return regexp.MustCompile(` <[^;]*`).ReplaceAllString(shape(t, sink), "")
}

// shape shows the roles and blocks of what was written, and what each record answers.
func shape(t *testing.T, sink *memSink) string {
	var list []string
	for _, r := range parsed(t, sink) {
		s := r.Role
		if r.Type != "" {
			s += "/" + r.Type
		}
		if r.Sidechain {
			s += "/side"
		}
		for i := range r.Blocks {
			s += " " + strings.TrimSpace(r.Blocks[i].CallID+" "+r.Blocks[i].Text)
		}
		if r.Parent != "" {
			s += " <" + r.Parent
		}
		list = append(list, s)
	}
	return strings.Join(list, "; ")
}

// TestCopilot follows calls and other records to their ends.
func TestCopilot(t *testing.T) {
	const ask = `{"content":"","toolRequests":[{"toolCallId":"c","name":"ls","arguments":{}}]}`
	const start = `{"toolCallId":"c","toolName":"ls","arguments":{}}`
	const done = `{"toolCallId":"c","success":true,"result":{"content":"out","detailedContent":"out"}}`
	for _, c := range []struct {
		name    string
		log     string
		want    string
		skipped int
		events  int
	}{
		{"asked, started, done", copilotLog("assistant.message", ask, "tool.execution_start", start, "tool.execution_complete", done), "assistant c; tool c out <e1", 1, 0},
		{"started before it is asked", copilotLog("tool.execution_start", start, "assistant.message", ask, "tool.execution_complete", done), "assistant c; tool c out <e2", 1, 0},
		{"never asked", copilotLog("tool.execution_start", start, "tool.execution_complete", done), "assistant c; tool c out <e1", 0, 0},
		{"never asked, never done", copilotLog("user.message", `{"content":"hi"}`, "tool.execution_start", start), "user hi; assistant c <e1", 0, 0},
		{"done, then asked", copilotLog("tool.execution_start", start, "tool.execution_complete", done, "assistant.message", ask), "assistant c; tool c out <e1", 1, 0},
		{"done, then asked with words", copilotLog("tool.execution_start", start, "tool.execution_complete", done, "assistant.message", strings.Replace(ask, `"content":""`, `"content":"hm"`, 1)),
			"assistant c; tool c out <e1; assistant hm <e2", 0, 0},
		{"started twice", copilotLog("tool.execution_start", start, "tool.execution_start", start, "tool.execution_complete", done), "assistant c; tool c out <e1", 1, 0},
		{"started without an id", copilotLog("tool.execution_start", `{"toolName":"ls"}`), "", 0, 1},
		{"failed", copilotLog("assistant.message", ask, "tool.execution_complete", `{"toolCallId":"c","success":false,"error":{"message":"no"}}`), "assistant c; tool c no <e1", 0, 0},
		{"failed with a bare text", copilotLog("assistant.message", ask, "tool.execution_complete", `{"toolCallId":"c","success":false,"error":"no"}`), "assistant c; tool c no <e1", 0, 0},
		{"a picture", copilotLog("assistant.message", ask, "tool.execution_complete", `{"toolCallId":"c","success":true,"result":{"content":"see","contents":[{"type":"text","text":"see"},{"type":"image","data":"AAAA","mimeType":"image/png"}]}}`),
			"assistant c; tool c see\n[image/png, 3 bytes, R] <e1", 0, 0},
		{"compacted without a summary", copilotLog("session.compaction_complete", `{"success":false}`), "", 0, 1},
		{"compacted", copilotLog("session.compaction_complete", `{"success":true,"summaryContent":"sum"}`), "user/compaction sum", 0, 1},
		{"truncated", copilotLog("session.truncation", `{"messagesRemovedDuringTruncation":4}`), "", 0, 1},
		{"a child's words", copilotLog("assistant.message", `{"content":"hi","parentToolCallId":"p"}`), "assistant/side hi", 0, 0},
		{"a new kind", copilotLog("tea.ready", `{"leaf":"green"}`), "", 0, 1},
		{"no words", copilotLog("user.message", `{"content":""}`, "system.message", `{"content":""}`, "assistant.message", `{"content":""}`), "", 3, 0},
		{"what a message answers", copilotLog("user.message", `{"content":"a"}`, "assistant.turn_start", `{}`, "session.info", `{"message":"x"}`, "assistant.message", `{"content":"b"}`), "user a; assistant b <e1", 1, 1},
	} {
		sink, rep := importText(t, CopilotCLI, c.log)
		got := shape(t, sink)
		for ref := range sink.blobs {
			got = strings.ReplaceAll(got, ref, "R")
		}
		if got != c.want || sum(rep.Skipped) != c.skipped || rep.Events != c.events {
			t.Errorf("%s: %q, %s\nwant %q", c.name, got, rep, c.want)
		}
	}
}

// TestCopilotTransformed keeps what stood around the user's words.
func TestCopilotTransformed(t *testing.T) {
	for sent, want := range map[string]string{
		`"hi"`:           ``,
		`"<now>\n\nhi"`:  `"sent_before":"<now>\n\n","sent_behind":""`,
		`"hi\n\n<x>"`:    `"sent_before":"","sent_behind":"\n\n<x>"`,
		`"another text"`: `"transformedContent":"another text"`,
		`null`:           ``,
	} {
		sink, _ := importText(t, CopilotCLI, copilotLog("user.message", `{"content":"hi","transformedContent":`+sent+`}`))
		line := string(sink.messages[0])
		_, native, _ := strings.Cut(line, `"native":{"format":"copilot-cli","line":1`)
		if got := strings.TrimPrefix(strings.TrimSuffix(native, "}}"), ","); got != strings.NewReplacer(`,"sent_behind":""`, "", `"sent_before":"",`, "").Replace(want) {
			t.Errorf("%s: %s", sent, line)
		}
	}
}
