package importer

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// otelOf exports lines as records of OpenTelemetry: the attributes of each as text.
func otelOf(t *testing.T, content bool, log ...string) (list []map[string]string) {
	t.Helper()
	var out bytes.Buffer
	if _, err := (Export{Messages: strings.NewReader(strings.Join(log, "\n")), Name: "coder/s", SessionID: "5e55", Content: content}).Write(&out, "otel"); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out.Bytes()) {
		var data struct {
			ResourceLogs []struct {
				ScopeLogs []struct{ LogRecords []otelRecord }
			}
		}
		if err := json.Unmarshal(line, &data); err != nil {
			t.Fatal(err)
		}
		for _, r := range data.ResourceLogs[0].ScopeLogs[0].LogRecords {
			m := map[string]string{"event": r.EventName, "time": r.Time}
			for _, a := range r.Attrs {
				for _, v := range []*string{a.Value.String, a.Value.Int} {
					if v != nil {
						m[a.Key] = *v
					}
				}
			}
			list = append(list, m)
		}
	}
	return list
}

// What was said is not in it unless it is asked for.
func TestOTelContent(t *testing.T) {
	log := []string{`{"role":"user","content":"a SECRET word"}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"SECRET"},{"type":"text","text":"SECRET"},{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"SECRET"}}]}`,
		`{"role":"tool","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":[{"type":"text","text":"SECRET"}]}]}`}
	without := otelOf(t, false, log...)
	for _, r := range without {
		for key, value := range r {
			if strings.Contains(value, "SECRET") {
				t.Errorf("%s has %s", key, value)
			}
		}
	}
	if len(without) != 3 || without[2]["gen_ai.tool.name"] != "Bash" || without[2]["gen_ai.tool.call.id"] != "c1" || without[2]["error.type"] != "_OTHER" {
		t.Errorf("%v", without)
	}
	with := otelOf(t, true, log...)
	if want := `[{"role":"user","parts":[{"type":"text","content":"a SECRET word"}]}]`; with[0]["gen_ai.input.messages"] != want {
		t.Errorf("%s", with[0]["gen_ai.input.messages"])
	}
	if want := `[{"role":"assistant","parts":[{"type":"reasoning","content":"SECRET"},{"type":"text","content":"SECRET"},{"type":"tool_call","id":"c1","name":"Bash","arguments":{"command":"SECRET"}}]}]`; with[1]["gen_ai.output.messages"] != want {
		t.Errorf("%s", with[1]["gen_ai.output.messages"])
	}
	if !strings.Contains(with[2]["gen_ai.tool.call.result"], "SECRET") {
		t.Errorf("%v", with[2])
	}
}

// Events of ctxfs are there by their type; what was said in them only when it is asked for.
func TestOTelEvents(t *testing.T) {
	events := `{"specversion":"1.0","id":"ctxfs-1","source":"ctxfs","type":"ctxfs.run.tool_call","time":"2026-01-02T03:04:05.5Z","data":{"run":"r1","name":"Bash","input":{"id":"SECRET","pin":4711}}}
{"source":"ctxfs","id":"ctxfs-2","type":"ctxfs.run.usage","data":{"run":"r1","input_tokens":7,"output_tokens":0}}
{"source":"claude-code","type":"system","data":{"id":"SECRET"}}
{"source":"ctxfs","type":"ctxfs.context.compaction","data":{"method":"custom","coverage":{"records":12},"loss_notes":["SECRET"],"n":1.5}}

not JSON
{"source":"ctxfs","type":"context.exported","data":{"what":"session","for":"SECRET"}}`
	export := func(content bool) string {
		var out strings.Builder
		done, err := Export{Messages: strings.NewReader(""), Events: strings.NewReader(events), Name: "coder/s", SessionID: "5e55", Content: content}.Write(&out, "otel")
		if err != nil || done.LeftOut["events of other programs"] != 2 {
			t.Fatalf("%v, %v", done, err)
		}
		return out.String()
	}
	got := export(false)
	if strings.Contains(got, "SECRET") || strings.Contains(got, "4711") {
		t.Errorf("what was said is in it:\n%s", got)
	}
	lines := strings.Split(strings.TrimSpace(got), "\n")
	for i, want := range []string{
		`{"timeUnixNano":"1767323045500000000","severityNumber":9,"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},` +
			`{"key":"gen_ai.tool.name","value":{"stringValue":"Bash"}},{"key":"gen_ai.conversation.id","value":{"stringValue":"5e55"}},{"key":"gen_ai.agent.name","value":{"stringValue":"coder"}},` +
			`{"key":"ctxfs.event","value":{"intValue":"1"}},{"key":"cloudevents.event_id","value":{"stringValue":"ctxfs-1"}},{"key":"cloudevents.event_source","value":{"stringValue":"ctxfs"}},` +
			`{"key":"ctxfs.data.run","value":{"stringValue":"r1"}}],"eventName":"ctxfs.run.tool_call"}`,
		`{"key":"gen_ai.usage.input_tokens","value":{"intValue":"7"}}`, `{"key":"ctxfs.data.coverage.records","value":{"intValue":"12"}}`,
		`{"key":"ctxfs.data.what","value":{"stringValue":"session"}}`,
	} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %s\nwithout %s", i+1, lines[i], want)
		}
	}
	if all := export(true); strings.Count(all, "SECRET") != 3 {
		t.Errorf("with what was said:\n%s", all)
	}
}

// Tokens are counted as the conventions do, whoever counted them.
func TestOTelAttributes(t *testing.T) {
	for _, c := range []struct{ line, provider, in, out, cached string }{
		{`"model":"claude-x","usage":{"input_tokens":3,"output_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":10}`, "anthropic", "113", "5", "100"},
		{`"model":"gpt-x","usage":{"input_tokens":103,"output_tokens":5,"cached_input_tokens":100}`, "openai", "103", "5", "100"},
		{`"model":"gemini-x","usage":{"input_tokens":103,"output_tokens":5,"cache_read_input_tokens":100}`, "gcp.gemini", "103", "5", "100"},
		{`"usage":{"prompt_tokens":7,"completion_tokens":"many","total":-1}`, "", "7", "", ""},
		{`"native":{"format":"codex"}`, "openai", "", "", ""},
	} {
		r := otelOf(t, false, `{"role":"assistant","content":"x","created_at":"2026-01-02T03:04:05.5Z",`+c.line+`}`)[0]
		for key, want := range map[string]string{"event": "gen_ai.client.inference.operation.details", "gen_ai.operation.name": "chat", "gen_ai.conversation.id": "5e55",
			"gen_ai.agent.name": "coder", "gen_ai.provider.name": c.provider, "gen_ai.usage.input_tokens": c.in, "gen_ai.usage.output_tokens": c.out,
			"gen_ai.usage.cache_read.input_tokens": c.cached, "time": "1767323045500000000", "ctxfs.record": "1", "ctxfs.role": "assistant"} {
			if r[key] != want {
				t.Errorf("%s: %s is %q, not %q", c.line, key, r[key], want)
			}
		}
	}
}
