package report

import (
	"fmt"
	"strings"
	"testing"

	"ctxfs/internal/record"
)

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		line string
		want Usage
		ok   bool
	}{
		{`{"role":"assistant","usage":{"input_tokens":3,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"output_tokens":9}}`, Usage{7, 3, 2000, 100, 9}, true},
		{`{"usage":{"input_tokens":12,"output_tokens":30,"cache_read_input_tokens":900,"cache_creation_input_tokens":40,"total_tokens":982}}`, Usage{7, 12, 900, 40, 30}, true}, // beside
		{`{"usage":{"input_tokens":1000,"output_tokens":12,"cache_read_input_tokens":900,"reasoning_tokens":5,"total_tokens":1017}}`, Usage{7, 100, 900, 0, 12}, true},          // within
		{`{"usage":{"prompt_tokens":1000,"completion_tokens":12,"prompt_tokens_details":{"cached_tokens":900}}}`, Usage{7, 100, 900, 0, 12}, true},
		{`{"type":"assistant","message":{"role":"assistant","usage":{"input_tokens":5,"output_tokens":1}}}`, Usage{7, 5, 0, 0, 1}, true},
		{`{"message":"text","usage":{"output_tokens":20}}`, Usage{7, 0, 0, 0, 20}, true},
		{`{"usage":{"input_tokens":-5,"output_tokens":1e300}}`, Usage{7, 0, 0, 0, maxTokens}, true},
		{`{"usage":{"input_tokens":0}}`, Usage{}, false},
		{`{"content":"the \"usage\" of it"}`, Usage{}, false},
		{`{"usage":null}`, Usage{}, false},
		{`{"usage":"none"}`, Usage{}, false},
	} {
		got, ok := usageOf([]byte(c.line), 7)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %+v, %v", c.line, got, ok)
		}
	}
}

// A long log is drawn with as many bars as fit, and the largest calls are among them.
func TestUsageOfLongLogs(t *testing.T) {
	var b strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&b, `{"role":"assistant","content":"x","usage":{"input_tokens":%d,"output_tokens":1}}`+"\n", 10+i%7*1000)
	}
	s, err := Tell("a", "s", record.NewMemory([]byte(b.String())), nil, nil, nil, strings.Clone)
	if err != nil {
		t.Fatal(err)
	}
	if sum := s.Spent(); sum.Calls != 2500 || sum.Reply != 2500 {
		t.Errorf("spent %+v", sum)
	}
	calls := s.calls()
	if len(calls) > maxCalls || len(calls) < maxCalls/2 || !strings.Contains(calls[0].Label, "6010 tokens sent") {
		t.Errorf("%d bars, the first %q", len(calls), calls[0].Label)
	}
}

func FuzzUsage(f *testing.F) {
	f.Add([]byte(`{"usage":{"input_tokens":3,"cache_read_input_tokens":1e9,"total_tokens":-1}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if u, ok := usageOf(line, 1); ok && (u.Fresh < 0 || u.Read < 0 || u.Wrote < 0 || u.Reply < 0 || u.Sent()+u.Reply <= 0) {
			t.Errorf("%q: %+v", line, u)
		}
	})
}
