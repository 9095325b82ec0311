package pack

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestLargeOutputsShowThePartThatMatches asks for something in the middle of a long output.
func TestLargeOutputsShowThePartThatMatches(t *testing.T) {
	var log strings.Builder
	for i := range 600 {
		if i == 300 {
			log.WriteString("[warn] the hydraulic pump lost its pressure\n")
		}
		fmt.Fprintf(&log, "step %d of the build went well\n", i)
	}
	list := append(toolRounds(3), msg{"role": "assistant", "tool_calls": []msg{{"id": "big", "function": msg{"name": "sh", "arguments": `{"cmd":"build"}`}}}},
		msg{"role": "tool", "tool_call_id": "big", "content": log.String()}, text("user", "go on"))
	w, h := fold(t, logOf(t, list...))
	query := "what about the hydraulic pressure?"
	answer, err := w.Recall(Input{History: h}, query, 2000)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Session: "s", Agent: "a", Budget: 2000, Query: query, History: h}
	p := buildIn(t, w, in)
	hold(t, w, in, p)
	for name, out := range map[string][]byte{"recall": answer, "pack": p.Markdown} {
		if !bytes.Contains(out, []byte("\n [warn] the hydraulic pump lost")) || !bytes.Contains(out, []byte("step 0 of")) || !bytes.Contains(out, []byte("of 602: cat context/swap/open/messages:11.1]")) {
			t.Errorf("%s:\n%s", name, out)
		}
	}
	in.Query = ""
	if q := buildIn(t, w, in); bytes.Contains(q.Markdown, []byte("hydraulic")) {
		t.Error("the part is in a pack that did not ask for it: the test shows nothing")
	}
}

func TestLinesOf(t *testing.T) {
	for _, c := range []struct {
		text string
		size int
		want string
	}{{"", 4, "[]"}, {"ab\ncd\nef", 6, `["ab\ncd\n" "ef"]`}, {"abcdefgh\nij", 3, `["abcdefgh\n" "ij"]`}, {"abc", 1, `["abc"]`}} {
		if got := fmt.Sprintf("%q", linesOf(c.text, c.size)); got != c.want {
			t.Errorf("%q by %d: %s, want %s", c.text, c.size, got, c.want)
		}
	}
}
