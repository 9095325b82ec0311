package frames

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func code(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line string
		want Request
	}{
		{`{"op":"send","id":"client-msg-id","session":"default","scope":"private","cwd":"/work","input":"hello"}`,
			Request{Op: Send, ID: "client-msg-id", Session: "default", Scope: Private, CWD: "/work", Input: "hello"}},
		{`{"op":"send","id":"a","input":"x","thread_id":"unknown fields are passed over"}` + "\r\n", Request{Op: Send, ID: "a", Scope: Private, Input: "x"}},
		{`{"op":"send","id":"a","scope":"shared","share":"team","input":"x"}`, Request{Op: Send, ID: "a", Scope: Shared, Share: "team", Input: "x"}},
		{`{"op":"send","id":"a","scope":"temp","session":null,"cwd":null,"input":"x"}`, Request{Op: Send, ID: "a", Scope: Temp, Input: "x"}},
		{`{"op":"resume","session":"s","after":"12:3456"}`, Request{Op: Resume, Session: "s", Scope: Private, After: "12:3456"}},
		{`{"op":"resume","after":12,"follow":true}`, Request{Op: Resume, Scope: Private, After: "12", Follow: true}},
		{`{"op":"follow","id":"f"}`, Request{Op: Follow, ID: "f", Scope: Private, Follow: true}},
		{`{"op":"cancel","id":"a","session":"s"}`, Request{Op: Cancel, ID: "a", Session: "s", Scope: Private}},
		{`{"op":"cancel","id":"c","run":"r"}`, Request{Op: Cancel, ID: "c", Run: "r", Scope: Private}},
		{`{"op":"send","id":"a","scope":"shared","input":"x"}`, Request{Op: Send, ID: "a", Scope: Shared, Input: "x"}},
		{`{"op":"resume","after":"run-1.2"}`, Request{Op: Resume, Scope: Private, After: "run-1.2"}},
		{`{"op":"ping"}`, Request{Op: Ping, Scope: Private}},
		{`{"op":"serve","session":"s"}`, Request{Op: Serve, Session: "s", Scope: Private}},
		{`{"op":"delta","run":"r","text":""}`, Request{Op: Delta, ID: "r", Run: "r", Scope: Private, HasText: true}},
		{`{"op":"done","run":"r"}`, Request{Op: Done, ID: "r", Run: "r", Scope: Private, Status: StatusOK}},
		{`{"op":"error","run":"r","code":"EIO","message":"no"}`, Request{Op: Fail, ID: "r", Run: "r", Scope: Private, Code: "EIO", Text: "no"}},
		{`{"op":"usage","run":"r","input_tokens":3,"output_tokens":4}`, Request{Op: Usage, ID: "r", Run: "r", Scope: Private, Tokens: [2]int64{3, 4}}},
		{`{"op":"message","run":"r","role":"tool","content":"x"}`, Request{Op: Message, ID: "r", Run: "r", Scope: Private, Role: "tool", Content: json.RawMessage(`"x"`)}},
		{`{"op":"message","run":"r","id":"m","role":"tool","tool_call_id":"call/1","is_error":true,"content":"x"}`,
			Request{Op: Message, ID: "r", Run: "r", Scope: Private, Role: "tool", ItemID: "m", CallID: "call/1", IsError: true, Content: json.RawMessage(`"x"`)}},
		{`{"op":"tool_call","run":"r","id":"call/1","name":"n","input":{"a":1}}`, Request{Op: ToolCall, ID: "r", Run: "r", Scope: Private, Name: "n", ItemID: "call/1", Content: json.RawMessage(`{"a":1}`)}},
	} {
		got, err := Parse([]byte(c.line))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n got %+v, %v\nwant %+v", c.line, got, err, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	long := strings.Repeat("x", MaxID+1)
	for _, c := range []struct {
		line string
		code Code
		says string
	}{
		{"", EINVAL, "empty"}, {" \t\n", EINVAL, "empty"}, {"{}\n{}", EINVAL, "one line"}, {"[]", EINVAL, "object"}, {"null", EINVAL, "object"},
		{"{", EINVAL, "JSON"}, {"{}x", EINVAL, "JSON"}, {"{\"op\":\"\xff\"}", EINVAL, "JSON"}, {"\x00", EINVAL, "object"}, {"{\x00}", EINVAL, "JSON"},
		{`{}`, EINVAL, "op"}, {`{"op":1}`, EINVAL, "op"}, {`{"OP":"ping"}`, EINVAL, "op"}, {`{"op":"sing"}`, EINVAL, "op"},
		{`{"op":"send","input":"x"}`, EINVAL, "id"}, {`{"op":"send","id":1,"input":"x"}`, EINVAL, "id"}, {`{"op":"send","id":"","input":"x"}`, EINVAL, "id"},
		{`{"op":"send","id":"` + long + `","input":"x"}`, EINVAL, "id"}, {`{"op":"ping","id":"a\u0000"}`, EINVAL, "id"}, {`{"op":"cancel"}`, EINVAL, "id"},
		{`{"op":"send","id":"a","session":"../x","input":"x"}`, EINVAL, "session"}, {`{"op":"send","id":"a","session":"index","input":"x"}`, EINVAL, "session"},
		{`{"op":"send","id":"a","session":"","input":"x"}`, EINVAL, "session"}, {`{"op":"send","id":"a","session":"` + long + `","input":"x"}`, EINVAL, "session"},
		{`{"op":"send","id":"a","scope":"public","input":"x"}`, EINVAL, "scope"}, {`{"op":"send","id":"a","scope":"shared","share":"","input":"x"}`, EINVAL, "share"},
		{`{"op":"send","id":"a","scope":"shared","share":"../home","input":"x"}`, EINVAL, "share"}, {`{"op":"send","id":"a","share":"t","input":"x"}`, EINVAL, "share"},
		{`{"op":"send","id":"a","cwd":"work","input":"x"}`, EINVAL, "cwd"}, {`{"op":"send","id":"a","cwd":"","input":"x"}`, EINVAL, "cwd"},
		{`{"op":"send","id":"a","cwd":"/\u0000","input":"x"}`, EINVAL, "cwd"}, {`{"op":"send","id":"a","cwd":7,"input":"x"}`, EINVAL, "cwd"},
		{`{"op":"send","id":"a"}`, EINVAL, "input"}, {`{"op":"send","id":"a","input":""}`, EINVAL, "input"}, {`{"op":"send","id":"a","input":["x"]}`, EINVAL, "input"},
		{`{"op":"send","id":"a","input":"x\u0000y"}`, EINVAL, "NUL"},
		{`{"op":"resume","after":{}}`, EINVAL, "after"}, {`{"op":"resume","after":"` + long + `"}`, EINVAL, "after"}, {`{"op":"resume","follow":"yes"}`, EINVAL, "follow"},
		{`{"op":"delta","text":"x"}`, EINVAL, "run"}, {`{"op":"delta","run":"r"}`, EINVAL, "text"}, {`{"op":"done","run":"r","status":"fine"}`, EINVAL, "status"},
		{`{"op":"send","id":"bad/id","input":"x"}`, EINVAL, "id"}, {`{"op":"cancel","id":"bad/id"}`, EINVAL, "id"}, {`{"op":"cancel","id":"c","run":"bad/id"}`, EINVAL, "run"},
		{`{"op":"message","run":"r","id":7,"role":"tool","content":"x"}`, EINVAL, "id"}, {`{"op":"tool_call","run":"r","id":"","name":"n"}`, EINVAL, "id"},
		{`{"op":"message","run":"r","role":"tool","is_error":1,"content":"x"}`, EINVAL, "is_error"},
		{`{"op":"message","run":"r","content":"x"}`, EINVAL, "role"}, {`{"op":"message","run":"r","role":"tool","content":1}`, EINVAL, "content"},
		{`{"op":"tool_call","run":"r"}`, EINVAL, "name"}, {`{"op":"usage","run":"r","input_tokens":"1"}`, EINVAL, "input_tokens"},
		{`{"op":"send","id":"a","input":"` + strings.Repeat("x", MaxFrame) + `"}`, EMSGSIZE, "bytes"},
	} {
		_, err := Parse([]byte(c.line))
		if code(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.80q: got %v, want %s with %q", c.line, err, c.code, c.says)
		}
	}
}

// Of several faults the one that is checked first is told (the order in Parse's comment).
func TestOrderOfChecks(t *testing.T) {
	big := strings.Repeat(" ", MaxFrame+1)
	for _, c := range []struct{ line, says string }{
		{big + "\n[", "at most"},
		{"[\n]", "one line"},
		{"[1,", "object"},
		{`{"op":"sing","id":1`, "JSON"},
		{`{"op":"sing","id":1}`, "op"},
		{`{"op":"send","id":1,"session":1,"scope":1,"cwd":1,"input":1}`, "id"},
		{`{"op":"send","id":"a","session":1,"scope":1,"cwd":1,"input":1}`, "session"},
		{`{"op":"send","id":"a","session":"s","scope":1,"cwd":1,"input":1}`, "scope"},
		{`{"op":"send","id":"a","session":"s","scope":"shared","share":1,"cwd":1,"input":1}`, "share"},
		{`{"op":"send","id":"a","session":"s","scope":"temp","cwd":1,"input":1}`, "cwd"},
		{`{"op":"send","id":"a","session":"s","scope":"temp","cwd":"/","input":1}`, "input"},
	} {
		_, err := Parse([]byte(c.line))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.60q: got %v, want %q first", strings.TrimSpace(c.line), err, c.says)
		}
	}
}

// A refused frame is answered with its id, where it has one.
func TestRefusedFrameHasItsID(t *testing.T) {
	for _, line := range []string{`{"op":"sing","id":"a"}`, `{"op":"send","id":"a","scope":"x"}`, `{"op":"send","id":"a"}`} {
		if r, err := Parse([]byte(line)); err == nil || r.ID != "a" {
			t.Errorf("%s: %+v, %v", line, r, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"op":"send","id":"a","input":"x"}`, `{"op":"resume","after":12}`, `{"op":"usage","run":"r","input_tokens":1}`, "{", "\x00", `{"op":"cancel","id":"c","run":"r"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := Parse(line)
		if err != nil {
			if c := code(err); c != EINVAL && c != EMSGSIZE && c != ENOSYS {
				t.Fatalf("%q: %v", line, err)
			}
			return
		}
		if r.Op == "" || r.Scope == "" || r.Op == Send && (r.ID == "" || r.Input == "") || r.OfAgent() && r.Run == "" ||
			r.Session != "" && !isName(r.Session) || strings.ContainsRune(r.Input+r.Text+r.CWD, 0) {
			t.Fatalf("%q: %+v", line, r)
		}
	})
}
