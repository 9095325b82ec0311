package frames

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"ctxfs/internal/record"
)

func TestEncode(t *testing.T) {
	uid := uint32(0)
	for _, c := range []struct {
		r    Reply
		want string
	}{
		{Reply{Type: Pong, ID: "a"}, `{"type":"pong","id":"a"}`},
		{Reply{Type: Start, ID: "a", Run: "r", Session: "s", Scope: Private, Model: "m", Replay: true, N: 1, Cursor: "1:9"},
			`{"type":"start","id":"a","run":"r","session":"s","scope":"private","model":"m","replay":true,"n":1,"cursor":"1:9"}`},
		{Reply{Type: Delta, ID: "a", Run: "r", Text: "<b>&\n"}, `{"type":"delta","id":"a","run":"r","text":"<b>&\n"}`},
		{Reply{Type: Fail, ID: "a", Code: EINVAL, Message: "no"}, `{"type":"error","id":"a","code":"EINVAL","message":"no"}`},
		{Reply{Type: Input, ID: "a", UID: &uid, Input: "x"}, `{"type":"input","id":"a","uid":0,"input":"x"}`},
		{Reply{Type: ToolCall, ID: "a", Name: "n", ToolInput: json.RawMessage(`{"a": 1}`)}, `{"type":"tool_call","id":"a","name":"n","tool_input":{"a":1}}`},
	} {
		if got := string(Encode(c.r)); got != c.want+"\n" {
			t.Errorf("got %swant %s", got, c.want)
		}
	}
}

func TestFromRecord(t *testing.T) {
	rec, err := record.Parse([]byte(`{"id":"x","role":"assistant","created_at":"2026-01-02T03:04:05Z","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"c1","name":"ls","input":{"a":1}}]}`), 7, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := FromRecord(&rec, "7:99")
	m.ID = "q"
	want := `{"type":"message","id":"q","n":7,"cursor":"7:99","role":"assistant","record_id":"x","created_at":"2026-01-02T03:04:05Z","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"c1","name":"ls","input":{"a":1}}]}` + "\n"
	if got := string(Encode(m)); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// No message is longer than a frame may be, whatever is in it, and what is cut says so.
func TestLongMessagesAreCut(t *testing.T) {
	for name, text := range map[string]string{"plain": strings.Repeat("x", 3*MaxFrame), "wide": strings.Repeat("ü\u2028", MaxFrame), "control": strings.Repeat("\x01", MaxFrame)} {
		m := Reply{Type: Message, ID: "a", Path: "p", Content: []Block{{Type: "text", Text: text}, {Type: "tool_use", Input: json.RawMessage(`"` + strings.Repeat("y", 2*MaxFrame) + `"`)}}}
		b := Encode(m)
		var back Reply
		if err := json.Unmarshal(b, &back); err != nil || len(b) > MaxFrame+1 || !back.Truncated || bytes.Count(b, []byte{'\n'}) != 1 {
			t.Errorf("%s: %d bytes, truncated %v, %v", name, len(b), back.Truncated, err)
		}
		if len(back.Content) == 0 || !strings.HasPrefix(text, back.Content[0].Text) || len(back.Content[0].Text) < 1000 {
			t.Errorf("%s: what is left is not the beginning", name)
		}
	}
}

func TestPieces(t *testing.T) {
	for _, text := range []string{"", "x", strings.Repeat("ü", MaxFrame), strings.Repeat("\U0001F600", MaxFrame/4)} {
		pieces := Pieces(text)
		if strings.Join(pieces, "") != text {
			t.Errorf("%d bytes: pieces lose something", len(text))
		}
		for _, p := range pieces {
			if !utf8.ValidString(p) || len(p) > MaxFrame/4 {
				t.Errorf("a piece of %d bytes, valid %v", len(p), utf8.ValidString(p))
			}
		}
	}
}
