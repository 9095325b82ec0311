package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"testing"

	"ctxfs/internal/record"
)

// The tests in this file read the logs once more, by encoding/json and internal/record alone, and compare.

// sourceRecord is what the comparison reads of a record.
type sourceRecord struct {
	Type, UUID        string
	IsAPIErrorMessage bool `json:"isApiErrorMessage"`
	Message           struct {
		ID    string
		Usage struct {
			Output int `json:"output_tokens"`
		}
	}
	Payload json.RawMessage
}

// sourceRecords reads every JSON object of a log, wherever the lines end.
func sourceRecords(t *testing.T, path string, each func(sourceRecord, json.RawMessage)) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var r sourceRecord
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		each(r, raw)
	}
}

// show gives a block without what an import changes: where a picture's data is.
func show(b *record.Block) string {
	words := regexp.MustCompile(", blake3-[0-9a-f]{64}]").ReplaceAllString(b.Text, "]")
	return fmt.Sprintf("%d %q %q %q %v %s %d %q", b.Kind, b.CallID, b.Name, b.Input, b.IsError, b.MediaType, b.Bytes, words)
}

func blocksOf(t *testing.T, line []byte) []string {
	t.Helper()
	r, err := record.Parse(line, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i := range r.Blocks {
		list = append(list, show(&r.Blocks[i]))
	}
	return list
}

// TestClaudeContent sees that every block of every message stands in the import, in order, once.
func TestClaudeContent(t *testing.T) {
	for _, path := range logs(t, shared(t), "claude-code/*/*.jsonl") {
		var want, got []string
		seen := map[string]string{} // uuid: its blocks
		sourceRecords(t, path, func(r sourceRecord, raw json.RawMessage) {
			if (r.Type != "user" && r.Type != "assistant") || r.IsAPIErrorMessage {
				return
			}
			list := blocksOf(t, raw)
			if seen[r.UUID] == fmt.Sprint(list) {
				return
			}
			seen[r.UUID] = fmt.Sprint(list)
			want = append(want, list...)
		})
		sink, _ := importUnchecked(t, path)
		for _, line := range sink.messages {
			if !bytes.Contains(line, []byte(`"type":"queued_command"`)) {
				got = append(got, blocksOf(t, line)...)
			}
		}
		compare(t, path, got, want)
	}
}

// TestCodexContent sees that every message's text stands in the import, in order, once; calls and results by number.
func TestCodexContent(t *testing.T) {
	for _, path := range logs(t, shared(t), "codex/*/*.jsonl") {
		var want, got []string
		calls, results := 0, 0
		sourceRecords(t, path, func(r sourceRecord, _ json.RawMessage) {
			var p struct {
				Type   string
				CallID string `json:"call_id"`
			}
			if json.Unmarshal(r.Payload, &p) != nil || r.Type != "response_item" {
				return
			}
			switch {
			case p.Type == "message":
				want = append(want, blocksOf(t, r.Payload)...)
			case p.CallID != "" && bytes.HasSuffix([]byte(p.Type), []byte("_output")):
				results++
			case p.CallID != "":
				calls++
			}
		})
		sink, rep := importUnchecked(t, path)
		for _, line := range sink.messages {
			if nativeType(t, line) == "message" {
				got = append(got, blocksOf(t, line)...)
			}
		}
		compare(t, path, got, want)
		if rep.Calls != calls || rep.Results != results {
			t.Errorf("%s: %d calls, %d results; want %d, %d", path, rep.Calls, rep.Results, calls, results)
		}
	}
}

func nativeType(t *testing.T, line []byte) string {
	var m struct{ Native struct{ Type string } }
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatal(err)
	}
	return m.Native.Type
}

func compare(t *testing.T, path string, got, want []string) {
	t.Helper()
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("%s: block %d of %d: got %.200s, want %.200s", path, i+1, len(want), append(got, "none")[min(i, len(got))], want[i])
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d blocks, want %d", path, len(got), len(want))
	}
}

// TestUsageOnce sees that the usage of all records adds up to what the API counted, each message once.
func TestUsageOnce(t *testing.T) {
	continued := 0
	for _, path := range logs(t, shared(t), "claude-code/*/*.jsonl") {
		counted := map[string]int{}
		sourceRecords(t, path, func(r sourceRecord, _ json.RawMessage) {
			if r.Type == "assistant" && !r.IsAPIErrorMessage {
				counted[r.Message.ID] = r.Message.Usage.Output
			}
		})
		want, got := 0, 0
		for _, n := range counted {
			want += n
		}
		sink, _ := importUnchecked(t, path)
		for _, line := range sink.messages {
			var m struct {
				Usage  struct{ Output_tokens int }
				Native struct{ Continues string }
			}
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatal(err)
			}
			got += m.Usage.Output_tokens
			if m.Native.Continues != "" {
				continued++
			}
		}
		if got != want {
			t.Errorf("%s: %d output tokens, want %d", path, got, want)
		}
	}
	if continued == 0 {
		t.Error("no message goes on after a result: the test shows nothing")
	}
}
