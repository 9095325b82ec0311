package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/importer"
)

// turnLog is a log as Claude Code 2.1.330 writes it with -p: nothing follows the answer but notes, and those only when the
// process ends.
func turnLog() string {
	rec := func(uuid, typ, message string) string {
		return `{"parentUuid":null,"isSidechain":false,"type":"` + typ + `","uuid":"` + uuid + `","sessionId":"s","timestamp":"2026-11-22T10:00:00Z","message":` + message + "}\n"
	}
	part := func(uuid, mid, stop, block string) string {
		return rec(uuid, "assistant", `{"id":"`+mid+`","role":"assistant","stop_reason":"`+stop+`","content":[`+block+`]}`)
	}
	last := `{"type":"last-prompt","sessionId":"s","lastPrompt":"go","leafUuid":"x"}` + "\n"
	return rec("u1", "user", `{"role":"user","content":"go"}`) +
		part("a1", "m1", "tool_use", `{"type":"thinking","thinking":"hm"}`) + last +
		part("a2", "m1", "tool_use", `{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}`) +
		rec("u2", "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a b"}]}`) +
		part("b1", "m2", "end_turn", `{"type":"thinking","thinking":"ah"}`) + part("b2", "m2", "end_turn", `{"type":"text","text":"two files"}`) +
		last + `{"type":"cost-state","sessionId":"s","totalCostUSD":1}` + "\n" +
		rec("u3", "user", `{"role":"user","content":"again"}`) + part("c1", "m3", "max_tokens", `{"type":"text","text":"two fi"}`)
}

// turnLogs are the real logs of Claude Code in which answers have a stop_reason, by their paths, and turnLog.
func turnLogs(t *testing.T) map[string]string {
	t.Helper()
	logs := map[string]string{"turnLog": turnLog()}
	var list []string
	for _, pattern := range []string{"cli-2026-11/claude-code-*/*/*.jsonl", "cli-2026-11/claude-code-*/*/*/subagents/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join("../../../shared/data", pattern))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	if len(list) == 0 {
		t.Log("SKIP: ../shared/data/cli-2026-11 is not here: real logs are not followed")
	}
	for _, path := range list {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		logs[path] = strings.TrimSuffix(string(data), "\n") + "\n"
	}
	return logs
}

// stopOf returns the id of the API's message that a line belongs to, and its stop_reason.
func stopOf(line string) (id, stop string) {
	var o struct {
		Type    string
		Message struct{ ID, Stop_reason string } //nolint:revive // the log's name
	}
	if json.Unmarshal([]byte(line), &o) != nil || o.Type != "assistant" {
		return "", ""
	}
	return o.Message.ID, o.Message.Stop_reason
}

// turnEnds lists where in a log an answer that ends its turn is whole, in bytes.
func turnEnds(log string) (ends []int) {
	at := 0
	lines := strings.SplitAfter(log, "\n")
	for i, line := range lines[:len(lines)-1] {
		at += len(line)
		id, stop := stopOf(line)
		if next, _ := stopOf(lines[i+1]); next != id && (stop == "end_turn" || stop == "max_tokens") {
			ends = append(ends, at)
		}
	}
	return ends
}

// TestTurnEnd has logs stop growing behind each answer that ends a turn: it is in the session at once, though a message that
// may go on would wait for an hour. In the end the session is what an import of the log makes.
func TestTurnEnd(t *testing.T) {
	for path, log := range turnLogs(t) {
		want := imported(t, []byte(log), importer.ClaudeCode)
		w := newWorld(t)
		w.quiet = time.Hour
		x := w.watcher()
		ends := turnEnds(log)
		for i, end := range append(ends, len(log)) {
			w.write("p/s.jsonl", log[:end])
			for _, l := range logsIn(x) {
				if err := x.step(l); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * x.cfg.Sync)
				if err := x.care(l.path); err != nil {
					t.Fatal(err)
				}
			}
			if i == len(ends) {
				break
			}
			got := []byte(w.log("claude-code/s", Messages))
			part := imported(t, []byte(log[:end]), importer.ClaudeCode).logs[Messages].Bytes()
			if !bytes.Equal(got, part) {
				t.Fatalf("%s, up to byte %d: the answer is not in the session: %s", path, end, differs(got, part))
			}
		}
		for _, name := range []string{Messages, Events} {
			if got := []byte(w.log("claude-code/s", name)); !bytes.Equal(got, want.logs[name].Bytes()) {
				t.Errorf("%s: %s is not what an import makes: %s", path, name, differs(got, want.logs[name].Bytes()))
			}
		}
		if path == "turnLog" && len(ends) != 2 {
			t.Errorf("%d turns", len(ends))
		}
	}
}

// TestTurnEndRun sees the answer arrive through Run.
func TestTurnEndRun(t *testing.T) {
	w := newWorld(t)
	w.quiet = time.Hour
	x := w.watcher()
	x.cfg.Poll = time.Hour
	store := locked{make(chan struct{}, 1), w.store}
	x.store = store
	log := turnLog()
	w.write("p/s.jsonl", log[:turnEnds(log)[0]])
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	within(t, "the answer", func() bool { return strings.HasSuffix(store.words(t, "claude-code/s"), "two files") })
	add(t, filepath.Join(w.dir, "logs/p/s.jsonl"), log[turnEnds(log)[0]:])
	within(t, "the second answer", func() bool { return strings.HasSuffix(store.words(t, "claude-code/s"), "two fi") })
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
