package importer

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// seeds adds a log line by line, and small ones besides. Long seeds would only be made smaller, for as long as there is time.
func seeds(f *testing.F, dir, name string, small ...string) {
	for _, s := range small {
		f.Add([]byte(s))
	}
	for _, path := range logs(f, dir, name) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, line := range bytes.SplitAfter(data, []byte{'\n'}) {
			if len(line) < 2000 {
				f.Add(line)
			}
		}
	}
}

// fuzzImport sees that whatever comes in, it has one format or none, the books balance and what goes out are records.
func fuzzImport(f *testing.F, format Format) {
	f.Fuzz(func(t *testing.T, log []byte) {
		if got, err := Detect(log); (got == "") != (err != nil) {
			t.Errorf("%q, %v", got, err)
		}
		list, err := importBytes(log, format, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := importBytes(log, format, nil)
		if err != nil || len(again) != len(list) {
			t.Fatalf("%d sessions, then %d: %v", len(list), len(again), err)
		}
		for i, s := range list {
			checkImport(t, s.sink, s.rep)
			if !bytes.Equal(s.sink.log(), again[i].sink.log()) {
				t.Error("two imports differ")
			}
		}
	})
}

const samples = "../../samples"

func FuzzClaudeCode(f *testing.F) {
	seeds(f, "testdata", "claude-code.jsonl")
	fuzzImport(f, ClaudeCode)
}

func FuzzCodex(f *testing.F) {
	seeds(f, "testdata", "codex.jsonl")
	fuzzImport(f, Codex)
}

func FuzzCopilot(f *testing.F) {
	seeds(f, samples, "copilot-cli.jsonl")
	fuzzImport(f, CopilotCLI)
}

func FuzzPi(f *testing.F) {
	seeds(f, samples, "pi.jsonl")
	fuzzImport(f, Pi)
}

// FuzzGeminiStream sees that a stream writes what an import of the same lines does.
func FuzzGeminiStream(f *testing.F) {
	data, err := os.ReadFile(samples + "/gemini-cli.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	docs := newGemini(newWriter(nil, GeminiCLI)).(documents)
	f.Fuzz(func(t *testing.T, log []byte) {
		for line := range bytes.Lines(log) {
			if !json.Valid(line) || docs.holds(line) {
				t.Skip("a document, or cut off")
			}
		}
		list, err := importBytes(log, GeminiCLI, nil)
		if err != nil || len(list) != 1 {
			t.Skip("no session")
		}
		sameStream(t, log, list[0].sink)
	})
}

func FuzzGemini(f *testing.F) {
	seeds(f, samples, "gemini-cli.jsonl", `{"sessionId":"s","startTime":"t","messages":[{"id":"1","type":"user","content":"a"},{"id":"2","type":"gemini","thoughts":[{"description":"b"}],"toolCalls":[{"id":"c","name":"d","args":{},"result":[{"functionResponse":{"response":{"output":"e"}}}]}]}]}`,
		`[{"role":"user","parts":[{"text":"a"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]},{"role":"model","parts":[{"functionCall":{"name":"b"}}]},{"role":"user","parts":[{"functionResponse":{"name":"b","response":{}}}]}]`)
	fuzzImport(f, GeminiCLI)
}

func FuzzOpenCode(f *testing.F) {
	seeds(f, samples, "none", `{"info":{"id":"s"},"messages":[{"info":{"id":"m","sessionID":"s","role":"assistant","time":{"created":1700000000000},"tokens":{"input":1,"cache":{"read":2}}},"parts":[{"type":"text","text":"a"},`+
		`{"type":"tool","callID":"c","tool":"t","state":{"status":"completed","output":"b","metadata":{"exit":1},"attachments":[{"mime":"image/png","url":"data:image/png;base64,AAAA"}]}},{"type":"step-start"},{"type":"patch"},{"type":"reasoning","text":"d"}]}]}`)
	fuzzImport(f, OpenCode)
}

func FuzzOpenHands(f *testing.F) {
	seeds(f, samples, "none", `{"instance_id":"i","history":[{"id":1,"source":"user","action":"message","args":{"content":"a"}},{"id":2,"source":"agent","action":"run","args":{},"tool_call_metadata":{"tool_call_id":"c","model_response":{"id":"r","choices":[{"message":{"content":"b","tool_calls":[{"id":"c","function":{"arguments":"{}"}}]}}]}}},`+
		`{"id":3,"cause":2,"observation":"run","content":"d","extras":{"metadata":{"exit_code":1}}}]}`, `[[{"action":"run","command":"ls"},{"observation":"run","content":"x"}]]`, `[{"id":9,"source":"agent","action":"condensation","args":{"summary":"s"}}]`)
	fuzzImport(f, OpenHands)
}

func FuzzSWEAgent(f *testing.F) {
	seeds(f, samples, "none", `{"environment":"e","history":[{"role":"user","content":"a"},{"role":"assistant","content":"b","tool_calls":[{"id":"c","function":{"name":"d","arguments":"{}"}}]},{"role":"tool","content":"e","tool_call_ids":["c"]}],"trajectory":[{"action":"f","response":"b","observation":"e","state":"{}"}]}`,
		`{"trajectory":[{"query":[{"role":"user","content":"a"}],"action":"b","response":"c","observation":"d"}]}`)
	fuzzImport(f, SWEAgent)
}

func FuzzMessages(f *testing.F) {
	seeds(f, samples, "messages.jsonl", `{"system":"s","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"b"},{"type":"text","text":"c"}]},{"role":"assistant","content":null,"function_call":{"name":"d"}},{"role":"function","name":"d","content":"e"}]}`,
		`[{"task_id":1,"trial":0,"traj":[{"role":"user","content":"a"}]},{"task_id":2,"traj":[]}]`, `{"messages_display":"user: a\nassistant: None\ntool: b"}`)
	fuzzImport(f, Messages)
}

func FuzzAider(f *testing.F) {
	seeds(f, samples, "aider*", "# aider chat started at 2026-01-01 10:00:00\n#### a  \n> Model: b with c  \nd\n> # 1 SEARCH/REPLACE block failed to match\ne  \n")
	fuzzImport(f, Aider)
}

// BenchmarkImport imports the largest logs of ../shared/data; the log's bytes are what is counted.
func BenchmarkImport(b *testing.B) {
	dir := shared(b)
	for _, name := range []string{"claude-code/entireio__cli/2026-01-24-53ea19c1-6d29-4ebf-952b-ddbb27af25bb.jsonl", "codex/EntityProcess__agentv/019ed99c-d00d-7613-b2e7-d2f512f78afd.jsonl"} {
		data, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			b.Fatal(err)
		}
		f, err := Detect(data)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(string(f), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Import(bytes.NewReader(data), f, nowhere{}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type nowhere struct{}

func (nowhere) Message([]byte) error        { return nil }
func (nowhere) Event([]byte) error          { return nil }
func (nowhere) Blob([]byte) (string, error) { return "blake3-00", nil }
