package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzRecord: Check takes what encoding/json does, when it is an object in UTF-8; what Check takes, Parse reads; what Parse reads is of bounded size and leaves the line alone.
func FuzzRecord(f *testing.F) {
	for _, s := range []string{
		`{"role":"user","content":"hello","created_at":"2026-01-02T03:04:05Z"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","function":{"name":"ls","arguments":"{}"}}],"function_call":{}}`,
		`{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"a"},"b",{"type":"image","source":{"data":"AAAA="}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_result","content":{"type":"text","text":"x"}}]}]}`,
		`{"type":"assistant","uuid":"u","message":{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}}`,
		`{"ts":1767323045.5,"message":null,"content":7}`,
		" {}\r\n", "{\"a\":\"\xff\"}", "{}{}", "null", "\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		before := string(line)
		ok := Check(line)
		if want := json.Valid(line) && utf8.Valid(line) && bytes.HasPrefix(bytes.TrimLeft(line, " \t\r\n"), []byte("{")); want != (ok == nil) {
			t.Errorf("Check: %v, want %v: %q", ok, want, line)
		}
		r, err := Parse(line, 3, 9)
		if ok == nil && err != nil {
			t.Errorf("Check takes %q, Parse does not: %v", line, err)
		}
		if string(line) != before || r.N != 3 || r.Off != 9 || r.Len != len(line) {
			t.Errorf("the line or its place changed: %+v", r)
		}
		total := 0
		for i := range r.Blocks {
			b := &r.Blocks[i]
			if b.Kind < Text || b.Kind > Other {
				t.Errorf("block %d has kind %d", i, b.Kind)
			}
			total += len(b.Text) + len(b.Input) + len(b.Placeholder())
		}
		if words := r.Words(); len(words)+total > 40*len(line)+100 || ok == nil && strings.ContainsRune(words, 0) && !strings.Contains(before, `\u0000`) {
			t.Errorf("%d bytes of blocks from a line of %d", total, len(line))
		}
		ids := ParseIDs(line)
		if kept := fmt.Sprint(ids); len(kept) > 2*len(line)+200 || len(ids.Evidence) > maxEvidence || err != nil && len(ids.Native) > 0 {
			t.Errorf("%d bytes of ids from a line of %d", len(kept), len(line))
		}
		_, _, _ = r.IsUser(), r.Calls(), r.Results()
	})
}

// BenchmarkNested reads a hostile line: results within results within results.
func BenchmarkNested(b *testing.B) {
	const depth = 2400
	line := []byte(`{"role":"user","content":[` + strings.Repeat(`{"type":"tool_result","content":[`, depth) + strings.Repeat("]}", depth) + "]}")
	for b.Loop() {
		if _, err := Parse(line, 1, 0); err != nil {
			b.Fatal(err)
		}
	}
}
