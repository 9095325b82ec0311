package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/record"
)

// blobSink is a memSink that keeps the data of pictures.
type blobSink struct {
	memSink
	data map[string][]byte
}

func (b *blobSink) Blob(data []byte) (string, error) {
	ref, err := b.memSink.Blob(data)
	if b.data == nil {
		b.data = map[string][]byte{}
	}
	b.data[ref] = bytes.Clone(data)
	return ref, err
}

func (b *blobSink) get(ref string) ([]byte, error) {
	if data, ok := b.data[ref]; ok {
		return data, nil
	}
	return nil, os.ErrNotExist
}

// kept imports a log with its pictures.
func kept(t *testing.T, data []byte, f Format) []*blobSink {
	t.Helper()
	var list []*blobSink
	_, err := ImportAll(bytes.NewReader(data), f, func(string) (Sink, error) {
		list = append(list, &blobSink{})
		return list[len(list)-1], nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func export(t *testing.T, s *blobSink, form string) ([]byte, Exported) {
	t.Helper()
	var b bytes.Buffer
	rep, err := Export{Messages: bytes.NewReader(s.log()), Name: "s", SessionID: "5e55", CWD: "/w", Blob: s.get}.Write(&b, form)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), rep
}

// readAs is the format that a form is read back in.
func readAs(form string) Format {
	if form == "claude-code" {
		return ClaudeCode
	}
	return Messages
}

// TestRoundTrips imports, exports and imports again: the records are the same, as far as the form goes. A third export is
// the second, byte for byte.
func TestRoundTrips(t *testing.T) {
	paths := logs(t, filepath.Join(root(t), "samples"), "*")
	if _, err := os.Stat(filepath.Join(root(t), "..", "shared", "data")); err == nil {
		for _, pattern := range []string{"claude-code/*/*", "codex/*/*", "copilot-cli/*/*", "gemini-cli/*/*", "openhands/*", "pi/*/*", "swe-agent/*", "tau-bench/*", "aider/*"} {
			paths = append(paths, logs(t, shared(t), pattern)...)
		}
	} else {
		t.Log("SKIP: ../shared/data is not here: only the samples go round")
	}
	for i, path := range paths {
		if i > 20 && (i%3 > 0 || testing.Short() && i%8 > 0) { // of the real ones, some
			continue
		}
		data := readFile(t, path)
		f, err := Detect(data[:min(len(data), 256<<10)])
		if err != nil {
			t.Fatal(err)
		}
		for n, s := range kept(t, data, f) {
			for _, form := range []string{"openai", "anthropic", "claude-code"} {
				roundTrip(t, fmt.Sprintf("%s %d %s", path, n, form), s, form)
			}
		}
	}
}

func roundTrip(t *testing.T, name string, s *blobSink, form string) {
	t.Helper()
	out, _ := export(t, s, form)
	want := append(canon(parsed(t, &s.memSink), form), raws(t, &s.memSink, form)...)
	if len(want) == 0 {
		return
	}
	if f, err := Detect(out[:min(len(out), 256<<10)]); f != readAs(form) {
		t.Fatalf("%s: what was exported is detected as %q, %v", name, f, err)
	}
	again := kept(t, out, readAs(form))
	if len(again) != 1 {
		t.Fatalf("%s: %d sessions came back", name, len(again))
	}
	got := append(canon(parsed(t, &again[0].memSink), form), raws(t, &again[0].memSink, form)...)
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("%s: record %d of %d:\n got %.600s\nwant %.600s", name, i+1, len(want), append(got, "none")[min(i, len(got))], want[i])
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d records came back, want %d; the first too many: %.300s", name, len(got), len(want), got[len(want)])
	}
	if third, _ := export(t, again[0], form); !bytes.Equal(third, out) {
		t.Errorf("%s: exported again, it differs: %s", name, firstDiff(third, out))
	}
}

// canon gives what of each record a form holds: this is what "the same" means (docs/import.md).
func canon(list []record.Record, form string) []string {
	var out, system []string
	for i := range list {
		r := &list[i]
		if r.Sidechain && form != "claude-code" {
			continue
		}
		switch form {
		case "openai":
			out = append(out, canonOpenAI(r)...)
		case "anthropic":
			if said := canonBlocks(r, form); len(said) == 0 {
				continue
			} else if r.Role == "system" || r.Role == "developer" {
				system = append(system, said...)
			} else {
				out = append(out, anthropicRole(r.Role)+strings.Join(said, "|"))
			}
		default:
			out = append(out, fmt.Sprintf("%s %s <%s %v %v %v %s", r.ID, claudeRole(r), r.Parent, r.Time, r.Sidechain, r.Compaction, strings.Join(canonBlocks(r, form), "|")))
		}
	}
	if len(system) > 0 {
		out = append([]string{"system " + strings.Join(system, "|")}, out...)
	}
	return out
}

// raws gives what internal/record does not read of a record: thoughts that have signatures, and for Claude Code's form the model, the
// usage and is_meta, which comes back also where words are like those that Claude Code writes in the user's name.
func raws(t *testing.T, sink *memSink, form string) []string {
	t.Helper()
	var out []string
	for _, line := range sink.messages {
		var m struct {
			Role, Type, Model string
			Usage             json.RawMessage
			Sidechain         bool
			Meta              bool `json:"is_meta"`
			Content           []json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		if form == "openai" || form == "anthropic" && (m.Role == "system" || m.Role == "developer") || m.Sidechain {
			continue
		}
		if form == "claude-code" && m.Role == "assistant" && m.Type != "compaction" {
			out = append(out, m.Model+" "+string(m.Usage))
		}
		if form == "claude-code" && m.Role != "tool" {
			out = append(out, fmt.Sprint("meta ", m.Meta || m.Role == "user" && claudeMeta(m.Content)))
		}
		for _, raw := range m.Content {
			if b := parseObject(raw); b.str("signature") != "" {
				out = append(out, b.str("signature")+" "+b.str("thinking"))
			}
		}
	}
	return out
}

func anthropicRole(role string) string {
	if role == "assistant" || role == "tool" {
		return role
	}
	return "user"
}

func claudeRole(r *record.Record) string {
	if r.Compaction {
		return "user"
	}
	return r.Role
}

func canonBlocks(r *record.Record, form string) []string {
	var out []string
	for i := range r.Blocks {
		if b := &r.Blocks[i]; b.Kind != record.Thinking || form == "claude-code" { // see raws for anthropic
			out = append(out, canonBlock(b, form))
		}
	}
	return out
}

// canonBlock shows a block. What is of an unknown kind is written as text.
func canonBlock(b *record.Block, form string) string {
	kind := b.Kind
	if kind == record.Image && b.Bytes == 0 {
		if form == "openai" && !strings.HasPrefix(b.MediaType, "image") {
			return canonBlock(&record.Block{Kind: record.Text, Text: b.Placeholder()}, form)
		}
		return "at " + b.Ref
	}
	if kind == record.Other {
		kind = record.Text
	}
	name := b.Name
	if kind == record.ToolResult && form != "claude-code" {
		name = "" // the call has it
	}
	return fmt.Sprintf("%d %q %q %s %v %s %d %q", kind, b.CallID, name, compact([]byte(b.Input)), b.IsError, b.MediaType, b.Bytes, b.Text)
}

// canonOpenAI gives a record's messages: results, one each; then reasoning, words, calls.
func canonOpenAI(r *record.Record) []string {
	var out, thought, words, calls []string
	for i := range r.Blocks {
		b := r.Blocks[i]
		switch b.Kind {
		case record.ToolResult:
			out = append(out, fmt.Sprintf("tool %q %q", b.CallID, b.Text))
		case record.Thinking:
			if b.Text != "" {
				thought = append(thought, b.Text)
			}
		case record.ToolUse:
			calls = append(calls, canonBlock(&b, "openai"))
		default:
			words = append(words, canonBlock(&b, "openai"))
		}
	}
	if len(thought)+len(words)+len(calls) > 0 {
		out = append(out, openAIRole(r.Role)+r.Name+" "+strings.Join(thought, "\n\n")+" "+strings.Join(append(words, calls...), "|"))
	}
	return out
}

// TestExportShapes exports records of the shapes that agents write themselves.
func TestExportShapes(t *testing.T) {
	const blob = `{"type":"image","source":{"type":"ref","ref":"blake3-aa","media_type":"image/png","bytes":3}}`
	for _, c := range []struct{ form, line, want string }{
		{"openai", `{"role":"user","content":"hi"}`, `{"role":"user","content":"hi"}`},
		{"openai", `{"type":"user","message":{"role":"user","content":"hi"}}`, `{"role":"user","content":"hi"}`},
		{"openai", `{"role":"user","content":[` + blob + `]}`, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`},
		{"openai", `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}`, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`},
		{"openai", `{"role":"user","content":[{"type":"image","source":{"type":"ref","ref":"gone","media_type":"image/png","bytes":3}}]}`, `{"role":"user","content":"[image/png, 3 bytes, gone]"}`},
		{"openai", `{"role":"user","content":[{"type":"document","source":{"type":"url","url":"https://x","media_type":"a/b"}},{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}`,
			`{"role":"user","content":[{"type":"text","text":"[a/b, https://x]"},{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}`},
		{"openai", `{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"x"}]}`, `{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"x"}]}`},
		{"openai", `{"role":"tool","tool_call_id":"c","content":"x"}`, `{"role":"tool","tool_call_id":"c","content":"x"}`},
		{"openai", `{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}`, `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		{"openai", `{"event":"x"}`, ``},
		{"openai", `torn`, ``},
		{"anthropic", `{"role":"tool","tool_call_id":"c","content":"x","is_error":true}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x","is_error":true}]}`},
		{"anthropic", `{"role":"user","content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}`, `{"role":"user","content":"[audio/wav, 3 bytes, inline-0]"}`},
		{"anthropic", `{"role":"assistant","content":[{"type":"thinking","thinking":"","encrypted":true}]}`, ``},
		{"anthropic", `{"role":"assistant","content":[{"type":"thinking","thinking":"so"},{"type":"text","text":"x"}]}`, `{"role":"assistant","content":"x"}`},
		{"anthropic", `{"role":"assistant","content":[{"type":"thinking","thinking":"so","signature":"s"},{"type":"thinking","thinking":"","signature":"t"}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"so","signature":"s"},{"type":"thinking","thinking":"","signature":"t"}]}`},
		{"anthropic", `{"role":"assistant","content":[{"type":"tea","leaf":"green"}]}`, `{"role":"assistant","content":"{\"type\":\"tea\",\"leaf\":\"green\"}"}`},
	} {
		var b bytes.Buffer
		_, err := Export{Messages: strings.NewReader(c.line + "\n"), Blob: func(ref string) ([]byte, error) {
			if ref == "blake3-aa" {
				return []byte{0, 0, 0}, nil
			}
			return nil, os.ErrNotExist
		}}.Write(&b, c.form)
		got := strings.TrimSuffix(strings.TrimPrefix(b.String(), `{"messages":[`), "\n]}\n")
		if strings.TrimPrefix(got, "\n") != c.want || err != nil {
			t.Errorf("%s %s: %v\n got %s\nwant %s", c.form, c.line, err, got, c.want)
		}
	}
	if _, err := (Export{Messages: strings.NewReader("")}).Write(&bytes.Buffer{}, "tea"); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

// TestExportGolden shows each form of one sample.
func TestExportGolden(t *testing.T) {
	s := kept(t, readFile(t, filepath.Join(root(t), "samples", "pi.jsonl")), Pi)[0]
	for _, form := range Exports() {
		out, rep := export(t, s, form)
		got := fmt.Appendf(nil, "%s\n%s", rep, out)
		golden := filepath.Join("testdata", "export-"+form+".golden")
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := readFile(t, golden); !bytes.Equal(got, want) {
			t.Errorf("%s changed; run with -update and look at the diff.\n%s", form, firstDiff(got, want))
		}
	}
}

// TestMarkdown sees that nothing breaks out of its block.
func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"x", "```\nx\n```"},
		{"a\n```\nb", "````\na\n```\nb\n````"},
		{"`````", "``````\n`````\n``````"},
		{"`a``", "```\n`a``\n```"},
	} {
		if got := fenced("", c.in); got != c.want {
			t.Errorf("%q: %q", c.in, got)
		}
	}
	s := kept(t, []byte(`{"role":"user","name":"a\n# b","content":"hi","type":"x\ny"}`), Messages)[0]
	if out, _ := export(t, s, "markdown"); slices.Contains(strings.Split(string(out), "\n"), "# b") {
		t.Errorf("a name is a heading: %s", out)
	}
}

// FuzzExport sees that what is exported can be read back, whatever the log holds.
func FuzzExport(f *testing.F) {
	for _, line := range []string{`{"role":"user","content":"hi"}`, `{"role":"tool","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"x"}]}]}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"a"},{"type":"tool_use","id":"c","name":"f","input":{}}]}`, `{"role":"system","content":["a",7]}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		for _, form := range Exports() {
			var b bytes.Buffer
			rep, err := Export{Messages: bytes.NewReader(log)}.Write(&b, form)
			if err != nil {
				t.Fatal(err)
			}
			if form == "markdown" || form == "otel" || rep.Messages == 0 {
				continue
			}
			list, err := importBytes(b.Bytes(), readAs(form), nil)
			if err != nil || len(list) != 1 || sum(list[0].rep.Bad) > 0 {
				t.Fatalf("%s: %d sessions, %v: %s", form, len(list), err, b.Bytes())
			}
		}
	})
}
