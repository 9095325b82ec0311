package derive

import (
	"strings"
	"testing"

	"ctxfs/internal/record"
)

func TestParseBox(t *testing.T) {
	for _, c := range []struct {
		line string
		want Box
		ok   bool
	}{
		{"- [ ] open", Box{"open", "pending", ""}, true},
		{"- [x] done (messages:12)", Box{"done", "completed", "messages:12"}, true},
		{"  * [X] done\n", Box{"done", "completed", ""}, true},
		{"2. [x] numbered", Box{"numbered", "completed", ""}, true},
		{"+ [ ] now (in progress, messages:3.2)", Box{"now", "in_progress", "messages:3.2"}, true},
		{"- [ ] not any more (cancelled, messages:3)", Box{"not any more", "cancelled", "messages:3"}, true},
		{"- [ ] see a] b (aside)", Box{"see a] b (aside)", "pending", ""}, true},
		{"- [x]", Box{}, false},
		{"- [link](x) y", Box{}, false},
		{"# Todo (messages:3)", Box{}, false},
		{"", Box{}, false},
	} {
		if got, ok := ParseBox(c.line); got != c.want || ok != c.ok {
			t.Errorf("%q: %+v, %v", c.line, got, ok)
		}
	}
}

// What Todo writes, ParseBox reads.
func TestBoxOfTodo(t *testing.T) {
	s := NewState(nil)
	s.Add(&record.Record{N: 4, Role: "assistant", Blocks: []record.Block{{Kind: record.ToolUse, Name: "TodoWrite",
		Input: `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"},{"content":"c","status":"pending"},{"content":"d","status":"cancelled"}]}`}}})
	var got []Box
	for l := range strings.Lines(string(s.Todo(4))) {
		if b, ok := ParseBox(l); ok {
			got = append(got, b)
		}
	}
	if len(got) != 4 {
		t.Fatalf("boxes: %+v", got)
	}
	for i, want := range []Box{{"a", "completed", "messages:4"}, {"b", "in_progress", "messages:4"}, {"c", "pending", "messages:4"}, {"d", "cancelled", "messages:4"}} {
		if got[i] != want {
			t.Errorf("box %d: %+v, want %+v", i, got[i], want)
		}
	}
}

func FuzzParseBox(f *testing.F) {
	f.Add("- [x] done (in progress, messages:1)")
	f.Fuzz(func(t *testing.T, line string) {
		b, ok := ParseBox(line)
		if ok && (!strings.Contains(line, b.Text) || !strings.Contains(line, b.Source) || b.Status == "") {
			t.Errorf("%q: %+v", line, b)
		}
	})
}
