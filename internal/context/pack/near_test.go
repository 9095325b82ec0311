package pack

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// runs is a session that runs a test again and again; each time another line of its log differs.
func runs(n int) []msg {
	out := []msg{text("user", "make the tests pass")}
	for i := range n {
		var log strings.Builder
		for l := range 60 {
			state := "ok"
			if l == i+7 {
				state = "[FAIL]"
			}
			fmt.Fprintf(&log, "%s test number %d of the suite\n", state, l)
		}
		id := fmt.Sprint("call", i)
		out = append(out, msg{"role": "assistant", "tool_calls": []msg{{"id": id, "function": msg{"name": "sh", "arguments": `{"cmd":"make test"}`}}}},
			msg{"role": "tool", "tool_call_id": id, "content": log.String()})
	}
	return out
}

func TestNearIdenticalOutputsAreShownAsWhatChanged(t *testing.T) {
	w, h := fold(t, logOf(t, runs(5)...))
	in := Input{Session: "runs", Agent: "a", Budget: 8000, History: h}
	p := buildIn(t, w, in)
	hold(t, w, in, p)
	want := "[5 tool, result of 4]\n[... 542 tokens, as 3.1 but for what follows: cat context/swap/open/messages:5.1]\n" +
		"@@ -8,2 +8,2 @@\n- [FAIL] test number 7 of the suite\n-ok test number 8 of the suite\n+ok test number 7 of the suite\n+ [FAIL] test number 8 of the suite\n[6 assistant"
	if !bytes.Contains(p.Markdown, []byte(want)) {
		t.Errorf("not as expected:\n%.3000s", p.Markdown)
	}
	for _, o := range p.Omitted {
		if o.Reason != outDuplicate || o.Kind != kindPart {
			t.Errorf("omitted: %+v", o)
		}
	}
	if len(p.Omitted) != 4 {
		t.Errorf("%d omissions, want 4", len(p.Omitted))
	}
}

// TestNearNeedsItsBase checks that no output is shown by its difference from one that the pack does not show whole.
func TestNearNeedsItsBase(t *testing.T) {
	w, h := fold(t, logOf(t, runs(12)...))
	for budget := 300; budget < 8000; budget += 177 {
		in := Input{Session: "runs", Agent: "a", Budget: budget, History: h}
		hold(t, w, in, buildIn(t, w, in))
	}
}
