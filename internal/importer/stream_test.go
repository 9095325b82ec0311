package importer

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestStream feeds logs line by line: what is written is what Import writes, but for a log's end.
func TestStream(t *testing.T) {
	paths := []string{"claude-code.jsonl", "codex.jsonl", "copilot-cli.jsonl", "gemini-cli.jsonl", "pi.jsonl"}
	for _, name := range paths {
		data := readFile(t, filepath.Join(root(t), "samples", name))
		f, err := Detect(data)
		if err != nil {
			t.Fatal(err)
		}
		sink, s := streamed(t, f, data)
		whole, rep := importFile(t, filepath.Join(root(t), "samples", name))
		if !bytes.Equal(sink.log(), whole.log()) || s.r.w.report().Records != rep.Records || s.Lines() != rep.Lines {
			t.Errorf("%s: the stream wrote otherwise: %s", name, firstDiff(sink.log(), whole.log()))
		}
	}
	for _, f := range []Format{OpenCode, Messages, Aider, "tea"} {
		if _, err := NewStream(f, &memSink{}); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// streamed feeds a log line by line, to its end.
func streamed(t *testing.T, f Format, log []byte) (*memSink, *Stream) {
	t.Helper()
	sink := &memSink{}
	s, err := NewStream(f, sink)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(log) {
		if err := s.Line(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Settle(); err != nil {
		t.Fatal(err)
	}
	return sink, s
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

// stopped is a record of the model's with a stop_reason, as JSON.
func stopped(uuid, mid, reason, block string) string {
	return rec("assistant", uuid, "", fmt.Sprintf(`"message":{"id":%q,"role":"assistant","stop_reason":%s,"content":[%s]}`, mid, reason, block))
}

// TestTurnEnded checks which messages Claude Code's log marks as the last of a turn, and which notes write them.
func TestTurnEnded(t *testing.T) {
	const think = `{"type":"thinking","thinking":"hm"}`
	note := func(typ string) string { return fmt.Sprintf(`{"type":%q,"sessionId":"s","n":1}`+"\n", typ) }
	for reason, want := range map[string]struct{ ends, written bool }{ // without a note, with one
		`"end_turn"`: {true, true}, `"stop_sequence"`: {true, true}, `"max_tokens"`: {true, true}, `"refusal"`: {true, true},
		`"model_context_window_exceeded"`: {true, true}, `null`: {false, true}, `"tool_use"`: {false, false}, `"pause_turn"`: {false, false},
	} {
		for _, typ := range []string{"last-prompt", "cost-state", "mode"} {
			sink := &memSink{}
			s, err := NewStream(ClaudeCode, sink)
			if err != nil {
				t.Fatal(err)
			}
			log := stopped("a", "m", reason, think) + stopped("b", "m", reason, words)
			for line := range strings.Lines(log) {
				if err := s.Line([]byte(line)); err != nil {
					t.Fatal(err)
				}
			}
			if s.TurnEnded() != want.ends || len(sink.messages) != 0 {
				t.Errorf("stop_reason %s: the turn has ended: %v, %d messages", reason, s.TurnEnded(), len(sink.messages))
			}
			if err := s.Line([]byte(note(typ))); err != nil {
				t.Fatal(err)
			}
			written := want.written && typ != "mode"
			if got := len(sink.messages) == 1; got != written || s.Waits() == written || s.TurnEnded() != (want.ends && !written) {
				t.Errorf("stop_reason %s, then %s: written %v, waits %v", reason, typ, got, s.Waits())
			}
			whole, _ := importText(t, ClaudeCode, log+note(typ)+stopped("c", "m", reason, words))
			if got := len(whole.messages) == 2; got != written {
				t.Errorf("stop_reason %s, then %s and more of the message: %s", reason, typ, whole.log())
			}
		}
	}
}
