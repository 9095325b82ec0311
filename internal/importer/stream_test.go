package importer

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
)

// TestStream feeds logs line by line: what is written is what Import writes, but for a log's end.
func TestStream(t *testing.T) {
	paths := []string{"claude-code.jsonl", "codex.jsonl", "copilot-cli.jsonl", "pi.jsonl"}
	for _, name := range paths {
		data := readFile(t, filepath.Join(root(t), "samples", name))
		f, err := Detect(data)
		if err != nil {
			t.Fatal(err)
		}
		sink := &memSink{}
		s, err := NewStream(f, sink)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			if err := s.Line(line); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Settle(); err != nil {
			t.Fatal(err)
		}
		whole, rep := importFile(t, filepath.Join(root(t), "samples", name))
		if !bytes.Equal(sink.log(), whole.log()) || s.r.w.report().Records != rep.Records || s.Lines() != rep.Lines {
			t.Errorf("%s: the stream wrote otherwise: %s", name, firstDiff(sink.log(), whole.log()))
		}
	}
	for _, f := range []Format{GeminiCLI, OpenCode, Messages, Aider, "tea"} {
		if _, err := NewStream(f, &memSink{}); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// TestSettle splits a message that goes on after a pause, and counts its usage once.
func TestSettle(t *testing.T) {
	sink := &memSink{}
	s, err := NewStream(ClaudeCode, sink)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{answer("a", "", "m", words), answer("b", "a", "m", words)} {
		if err := errors.Join(s.Line([]byte(line)), s.Settle(), s.Settle()); err != nil {
			t.Fatal(err)
		}
	}
	if got := shape(t, sink); got != "assistant x; assistant x <a" || bytes.Count(sink.log(), []byte(`"usage"`)) != 1 || !bytes.Contains(sink.log(), []byte(`"continues":"a"`)) {
		t.Errorf("%s: %s", got, sink.log())
	}
}
