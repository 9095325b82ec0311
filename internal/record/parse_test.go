package record

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	for line, ok := range map[string]bool{
		`{}`: true, "{}\n": true, " \t{ } \r\n": true, `{"a":1}`: true, `{"a":"é日😀"}`: true, `{"a":"\ud800"}`: true, `{"a":1,"a":2}`: true, deep: true,
		"": false, "\n": false, " ": false, "null": false, "[]": false, `"{}"`: false, "1": false, "{": false, "{}}": false, "{}{}": false,
		"{} x": false, `{"a":}`: false, `{a:1}`: false, `{'a':1}`: false, `{"a":1,}`: false, "{\"a\":\"\n\"}": false, "{\"a\":\"\x00\"}": false,
		"{\"a\":\"\xff\"}": false, "{\"a\":\"\xed\xa0\x80\"}": false, "\x00{}": false, "{}\x00": false, "\ufeff{}": false, `{"a":NaN}`: false, deep[1:]: false,
	} {
		err := Check([]byte(line))
		if (err == nil) != ok || err != nil && !errors.Is(err, ErrNotObject) {
			t.Errorf("Check(%.40q): %v", line, err)
		}
	}
}

// TestParse reads the shapes in common use.
func TestParse(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name, line string
		want       Record
	}{
		{"plain chat", `{"role":"user","content":"hello"}`,
			Record{Role: "user", Blocks: []Block{{Kind: Text, Text: "hello"}}}},
		{"ids and time", `{"id":"m1","parent":"m0","role":"assistant","name":"coder","created_at":"2026-01-02T03:04:05Z","content":"x"}`,
			Record{ID: "m1", Parent: "m0", Role: "assistant", Name: "coder", Time: at, Blocks: []Block{{Kind: Text, Text: "x"}}}},
		{"OpenAI calls", `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"p\":\"/\"}"}}]}`,
			Record{Role: "assistant", Blocks: []Block{{Kind: ToolUse, CallID: "c1", Name: "ls", Input: `{"p":"/"}`}}}},
		{"OpenAI function_call", `{"role":"assistant","content":"so","function_call":{"name":"ls","arguments":{"p":1}}}`,
			Record{Role: "assistant", Blocks: []Block{{Kind: Text, Text: "so"}, {Kind: ToolUse, Name: "ls", Input: `{"p":1}`}}}},
		{"OpenAI result", `{"role":"tool","tool_call_id":"c1","name":"ls","content":"a\nb"}`,
			Record{Role: "tool", Name: "ls", Blocks: []Block{{Kind: ToolResult, CallID: "c1", Name: "ls", Text: "a\nb"}}}},
		{"OpenAI failed result", `{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"is_error":true}`,
			Record{Role: "tool", Blocks: []Block{{Kind: ToolResult, CallID: "c1", Text: "a\nb", IsError: true}}}},
		{"reasoning_content", `{"role":"assistant","reasoning_content":"hm","content":"yes"}`,
			Record{Role: "assistant", Blocks: []Block{{Kind: Thinking, Text: "hm"}, {Kind: Text, Text: "yes"}}}},
		{"Anthropic blocks", `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"},{"type":"tool_use","id":"t1","name":"Read","input":{"f":1}}]}`,
			Record{Role: "assistant", Blocks: []Block{{Kind: Thinking, Text: "hm"}, {Kind: Text, Text: "a"}, {Kind: ToolUse, CallID: "t1", Name: "Read", Input: `{"f":1}`}}}},
		{"Anthropic result", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"x"}],"is_error":true}]}`,
			Record{Role: "user", Blocks: []Block{{Kind: ToolResult, CallID: "t1", Text: "x", IsError: true}}}},
		{"several results in a tool record", `{"role":"tool","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"b","content":"2"}]}`,
			Record{Role: "tool", Blocks: []Block{{Kind: ToolResult, CallID: "a", Text: "1"}, {Kind: ToolResult, CallID: "b", Text: "2"}}}},
		{"result in a result", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":["a",{"type":"tool_result","content":"b"}]}]}`,
			Record{Role: "user", Blocks: []Block{{Kind: ToolResult, CallID: "t1", Text: "a\n" + `{"type":"tool_result","content":"b"}`}}}},
		{"base64 image", `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}`,
			Record{Role: "user", Blocks: []Block{{Kind: Image, MediaType: "image/png", Bytes: 3}}}},
		{"data URL", `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,AAAAAAA="}}]}`,
			Record{Role: "user", Blocks: []Block{{Kind: Image, MediaType: "image/jpeg", Bytes: 5}}}},
		{"image by reference", `{"role":"user","content":[{"type":"image","media_type":"image/png","source":{"type":"ref","ref":"blake3-00","bytes":77}}]}`,
			Record{Role: "user", Blocks: []Block{{Kind: Image, MediaType: "image/png", Bytes: 77, Ref: "blake3-00"}}}},
		{"wrapped", `{"type":"assistant","uuid":"u1","parentUuid":"u0","isSidechain":true,"timestamp":"2026-01-02T03:04:05Z","message":{"role":"assistant","content":"x"}}`,
			Record{ID: "u1", Parent: "u0", Role: "assistant", Type: "assistant", Time: at, Sidechain: true, Blocks: []Block{{Kind: Text, Text: "x"}}}},
		{"compaction", `{"type":"compaction","role":"user","content":"so far"}`,
			Record{Role: "user", Type: "compaction", Compaction: true, Blocks: []Block{{Kind: Text, Text: "so far"}}}},
		{"caveat", `{"role":"user","is_meta":true,"content":"x"}`, Record{Role: "user", Meta: true, Blocks: []Block{{Kind: Text, Text: "x"}}}},
		{"bare text", `{"speaker":"Ann","text":"hi"}`, Record{Name: "Ann", Blocks: []Block{{Kind: Text, Text: "hi"}}}},
		{"unknown block", `{"role":"user","content":[{"type":"hologram","x":1}]}`,
			Record{Role: "user", Blocks: []Block{{Kind: Other, Text: `{"type":"hologram","x":1}`}}}},
		{"strings in a list", `{"role":"user","content":["a","b"]}`, Record{Role: "user", Blocks: []Block{{Kind: Text, Text: "a"}, {Kind: Text, Text: "b"}}}},
		{"wrong types", `{"id":{},"role":7,"name":[],"content":true,"tool_calls":"x","created_at":{},"type":null}`, Record{Role: "7"}},
		{"nothing known", `{"x":1}`, Record{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.N, c.want.Off, c.want.Len = 5, 70, len(c.line)+1
			got, err := Parse([]byte(c.line+"\n"), 5, 70)
			if len(got.Blocks) == 0 {
				got.Blocks = nil
			}
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, c.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, line := range []string{"", "\n", "null", "[]", "1", `"x"`, "{", "{}{}", "\x00"} {
		if r, err := Parse([]byte(line), 9, 100); !errors.Is(err, ErrNotObject) || r.N != 9 || r.Off != 100 || r.Len != len(line) {
			t.Errorf("Parse(%q) = %+v, %v", line, r, err)
		}
	}
}

func TestTimes(t *testing.T) {
	for raw, want := range map[string]string{
		`"2026-01-02T03:04:05Z"`:           "2026-01-02T03:04:05Z",
		`"2026-01-02T03:04:05.123456789Z"`: "2026-01-02T03:04:05.123456789Z",
		`"2026-01-02T05:04:05+02:00"`:      "2026-01-02T03:04:05Z",
		`" 2026-01-02 03:04:05 "`:          "2026-01-02T03:04:05Z",
		`"2026-01-02T03:04:05.5"`:          "2026-01-02T03:04:05.5Z",
		`"2026-01-02"`:                     "2026-01-02T00:00:00Z",
		`1767323045`:                       "2026-01-02T03:04:05Z",
		`1767323045000`:                    "2026-01-02T03:04:05Z",
		`1767323045.5`:                     "2026-01-02T03:04:05.5Z",
		`"yesterday"`:                      "", `""`: "", `0`: "", `-5`: "", `1e300`: "", `{}`: "", `null`: "", `true`: "",
	} {
		got := ""
		if at := parseTime([]byte(raw)); !at.IsZero() {
			got = at.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", raw, got, want)
		}
	}
}

func TestPlaceholder(t *testing.T) {
	for _, c := range []struct {
		b    Block
		want string
	}{
		{Block{MediaType: "image/png"}, "[image/png]"},
		{Block{MediaType: "image/png", Bytes: 7}, "[image/png, 7 bytes]"},
		{Block{MediaType: "image/png", Bytes: 7, Ref: "blake3-00"}, "[image/png, 7 bytes, blake3-00]"},
		{Block{MediaType: "image/png", Bytes: -7}, "[image/png]"},
	} {
		if got := c.b.Placeholder(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestQuestions(t *testing.T) {
	for _, c := range []struct {
		line           string
		user           bool
		words          string
		calls, results string
	}{
		{line: `{"role":"user","content":"a"}`, user: true, words: "a"},
		{line: `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":""},{"type":"text","text":"b"}]}`, user: true, words: "a\n\nb"},
		{line: `{"role":"user","content":[{"type":"image","source":{"data":"AAAA"}}]}`, user: true},
		{line: `{"role":"user","content":""}`},
		{line: `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}`, results: "t"},
		{line: `{"role":"user","is_meta":true,"content":"a"}`, words: "a"},
		{line: `{"role":"user","isSidechain":true,"content":"a"}`, words: "a"},
		{line: `{"role":"user","isCompactSummary":true,"content":"a"}`, words: "a"},
		{line: `{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"tool_use","id":"c"},{"type":"tool_use","id":"d"},{"type":"tool_use"}]}`, words: "a", calls: "c d"},
	} {
		r, err := Parse([]byte(c.line), 1, 0)
		if err != nil || r.IsUser() != c.user || r.Words() != c.words || strings.Join(r.Calls(), " ") != c.calls || strings.Join(r.Results(), " ") != c.results {
			t.Errorf("%s: user %v, words %q, calls %v, results %v, %v", c.line, r.IsUser(), r.Words(), r.Calls(), r.Results(), err)
		}
	}
}

func TestMemory(t *testing.T) {
	const log = "{\"role\":\"user\"}\n{}\n{\"torn"
	m := NewMemory([]byte(log))
	if m.Len() != 2 {
		t.Fatalf("%d records", m.Len())
	}
	if raw, err := m.Raw(2); err != nil || string(raw) != "{}\n" {
		t.Errorf("Raw(2): %q, %v", raw, err)
	}
	if r, err := m.Record(2); err != nil || r.N != 2 || r.Off != 16 || r.Len != 3 {
		t.Errorf("Record(2): %+v, %v", r, err)
	}
	for _, n := range []int{0, -1, 3} {
		if _, err := m.Record(n); err == nil {
			t.Errorf("Record(%d) is there", n)
		}
	}
	if NewMemory(nil).Len() != 0 {
		t.Error("an empty log has records")
	}
}

// TestManyParts: of a list with very many elements the last block has what remains; nothing is left out.
func TestManyParts(t *testing.T) {
	for _, line := range []string{
		`{"role":"user","content":[` + strings.Repeat(`"x", `, maxParts+2) + `{"text":"end"}]}`,
		`{"role":"assistant","tool_calls":[` + strings.Repeat(`{"id":"x"},`, maxParts+2) + `{}]}`,
	} {
		r, err := Parse([]byte(line), 1, 0)
		if err != nil || len(r.Blocks) != maxParts+1 {
			t.Fatalf("%d blocks, %v", len(r.Blocks), err)
		}
		var rest []any
		if last := r.Blocks[maxParts]; last.Kind != Other || json.Unmarshal([]byte(last.Text), &rest) != nil || len(rest) != 3 {
			t.Errorf("the last block: %+v", last)
		}
	}
	r, err := Parse([]byte(`{"role":"tool","content":[`+strings.Repeat(`"x",`, maxParts+2)+`"end"]}`), 1, 0)
	if err != nil || len(r.Blocks) != 1 || !strings.HasSuffix(r.Blocks[0].Text, "x\n[\"x\",\"x\",\"end\"]") {
		t.Errorf("%d blocks, %v", len(r.Blocks), err)
	}
}

// TestManyMembers: of an object with very many members the first and the last ones count.
func TestManyMembers(t *testing.T) {
	many := strings.Repeat(`"k":1,`, 3*maxMembers)
	r, err := Parse([]byte(`{"role":"user","id":"a",`+many+`"content":"x","id":"b"}`), 1, 0)
	if err != nil || r.Role != "user" || r.ID != "b" || r.Words() != "x" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Parse([]byte(`{"role":"user",`+many+`"content":}`), 1, 0); err == nil {
		t.Error("what is no JSON at its end is taken")
	}
}
