package importer

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestSeveral sees which conversations of a file become sessions of their own, and what they are called.
func TestSeveral(t *testing.T) {
	talk := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"messages":[{"role":"user","content":"about %s"}]}`, id, id)
	}
	line := `{"role":"user","content":"hi"}`
	for _, c := range []struct{ name, log, want string }{
		{"nothing", "", ""},
		{"blank lines", "\n \n", ""},
		{"one", talk("a"), ":1"},
		{"one, and blank lines", talk("a") + "\n\n \n", ":1"},
		{"one on many lines", strings.ReplaceAll(talk("a"), ",", ",\n"), ":1"},
		{"two lines", talk("a") + "\n" + talk("b") + "\n", "a:1 b:1"},
		{"two on a line", talk("a") + talk("b"), "a:1 b:1"},
		{"a list", "[" + talk("a") + "," + talk("b") + "]", "a:1 b:1"},
		{"a list on many lines", "[\n" + talk("a") + ",\n" + talk("b") + "\n]\n", "a:1 b:1"},
		{"a list of one", "[" + talk("a") + "]", ":1"},
		{"without names", talk("") + "\n" + talk("") + "\n", "1:1 2:1"},
		{"messages by lines", line + "\n" + line + "\n", ":2"},
		{"messages by lines, then a conversation", line + "\n" + line + "\n" + talk("a"), ":2 a:1"},
		{"a conversation, then messages by lines", talk("a") + "\n" + line + "\n" + line + "\n", "a:3"},
		{"two documents on many lines", strings.ReplaceAll(talk("a"), ",", ",\n") + "\n" + talk("b"), "a:1 b:1"},
		{"a torn line between", talk("a") + "\n" + talk("b")[:9] + "\n" + talk("c") + "\n", "a:1 c:1"},
		{"a list cut off", ("[" + talk("a") + "," + talk("b") + "," + talk("c"))[:130], "a:1 b:1"},
	} {
		list, err := importBytes([]byte(c.log), Messages, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var got []string
		for _, s := range list {
			checkImport(t, s.sink, s.rep)
			got = append(got, fmt.Sprintf("%s:%d", s.label, s.rep.Messages))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
	if _, err := Import(strings.NewReader(talk("a")+"\n"+talk("b")), Messages, &memSink{}, nil); !errors.Is(err, ErrSeveral) {
		t.Errorf("two sessions as one: %v", err)
	}
}

// TestCutDocuments cuts documents off anywhere: what is whole before the cut is there, and no byte is lost.
func TestCutDocuments(t *testing.T) {
	for f, doc := range map[Format]string{
		GeminiCLI: `{"sessionId":"s","projectHash":"h","startTime":"t","messages":[` + "\n" + `{"id":"1","type":"user","content":"one"},` + "\n" + `{"id":"2","type":"user","content":"two"}` + "\n]}",
		OpenCode:  `{"info":{"id":"s"},"messages":[{"info":{"id":"1","sessionID":"s","role":"user"},"parts":[{"type":"text","text":"one"}]},{"info":{"id":"2","sessionID":"s","role":"user"},"parts":[{"type":"text","text":"two"}]}]}`,
		SWEAgent:  `{"environment":"e","history":[{"role":"user","content":"one"},{"role":"user","content":"two"}],"info":{}}`,
		Messages:  `[{"role":"user","content":"one"},{"role":"user","content":"two"}]`,
	} {
		for at := range doc {
			list, err := importBytes([]byte(doc[:at]), f, nil)
			if err != nil {
				t.Fatal(err)
			}
			var all string
			for _, s := range list {
				checkImport(t, s.sink, s.rep)
				all += string(s.sink.log())
				for _, e := range s.sink.events {
					all += string(e)
				}
			}
			want := 0
			for _, word := range []string{`"one"`, `"two"`} {
				if end := strings.Index(doc, word+"}"); end >= 0 && at >= end+len(word)+1 {
					want++
				}
			}
			if f == OpenCode {
				want = strings.Count(doc[:at], "}]}")
			}
			if got := strings.Count(all, `"role":"user","content":[{"type":"text"`); got != want {
				t.Errorf("%s cut at %d: %d messages, want %d: %s", f, at, got, want, all)
			}
		}
	}
}

// TestMend closes what is open, and nothing else.
func TestMend(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":[{"b":1},{"c`:          `{"a":[{"b":1}]} at 13`,
		`[{"a":1},{"b":2`:            `[{"a":1}] at 8`,
		`{"x":{"y":[[1],[2`:          ` at 0`,
		`{"a":[1,2,3`:                ` at 0`,
		`{"a":[{"b":"]}"},{"c":"}`:   `{"a":[{"b":"]}"}]} at 16`,
		`{"a":[{"b":1}],"d":[{"e":2`: `{"a":[{"b":1}]} at 13`,
		`[{"a":1}}`:                  `[{"a":1}] at 8`,
		`}`:                          ` at 0`,
		``:                           ` at 0`,
	} {
		whole, at := mend([]byte(in))
		if got := fmt.Sprintf("%s at %d", whole, at); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
