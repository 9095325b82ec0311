package agents

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// record is what the tests look at in a record.
type record struct {
	Role, Type string
	Sidechain  bool
	Content    []struct {
		Type, Text, ID string
		ToolUseID      string `json:"tool_use_id"`
		Input, Content json.RawMessage
	}
}

func records(t *testing.T, log []byte) []record {
	t.Helper()
	var list []record
	for line := range bytes.Lines(log) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, r)
	}
	return list
}

// tokensOf returns the tokens of a session in order, each as often as it is there, and reports whether it has side chains.
func tokensOf(t *testing.T, log []byte) (list []string, side bool) {
	t.Helper()
	for _, r := range records(t, log) {
		side = side || r.Sidechain
		for _, b := range r.Content {
			list = append(list, token.FindAllString(b.Text+" "+words(b.Input, b.Content), -1)...)
		}
	}
	return list, side
}

// has holds a session to the tokens that the model got and said: each once, in order, while the watch runs, and no record of another
// agent.
func (l *lab) has(agent, name string, want []string) {
	l.t.Helper()
	log := filepath.Join(l.session(agent, name), "messages.jsonl")
	want = l.model.ordered(want)
	var got []string
	var side bool
	l.until(func() bool {
		got, side = tokensOf(l.t, contents(l.t, log))
		got = l.model.ordered(got)
		return slices.Equal(got, want)
	})
	if !slices.Equal(got, want) || side || len(want) == 0 {
		l.t.Errorf("%s %s (side chains: %v):\n got %v\nwant %v", agent, name, side, got, want)
		l.keep(name+".jsonl", contents(l.t, log))
	}
}

var opencodeSummary = regexp.MustCompile(`,"summary":\{"diffs":\[\]\}`)

// finished ends the watch, imports a finished log through the mount, which has nothing new, and into a store of its own, which makes the
// same records.
func (l *lab) finished(agent, log string) {
	l.t.Helper()
	if l.watch != nil {
		l.stopWatch(syscall.SIGTERM)
	}
	if out := l.ctxfs("import", "--agent", agent, log); !strings.Contains(out, "nothing new") {
		l.t.Errorf("import of what the watch read: %s", out)
	}
	store := l.t.TempDir()
	l.ctxfs("import", "--store", store, "--agent", agent, log)
	fresh := contents(l.t, filepath.Join(sessionBelow(store, agent, nameOf(log)), "messages.jsonl"))
	got := contents(l.t, filepath.Join(l.session(agent, nameOf(log)), "messages.jsonl"))
	if agent == "opencode" { // it notes in a message what its turn changed, afterwards
		got, fresh = opencodeSummary.ReplaceAll(got, nil), opencodeSummary.ReplaceAll(fresh, nil)
	}
	if !bytes.Equal(got, fresh) || len(got) == 0 {
		l.t.Errorf("%s: the watch wrote %d records, an import makes %d others", log, bytes.Count(got, []byte("\n")), bytes.Count(fresh, []byte("\n")))
		l.keep(nameOf(log)+"-watch.jsonl", got)
		l.keep(nameOf(log)+"-import.jsonl", fresh)
	}
}

// keep writes what a failure is about into the folder CTXFS_TEST_AGENTS_DUMP, if there is one.
func (l *lab) keep(name string, data []byte) {
	if dir := os.Getenv("CTXFS_TEST_AGENTS_DUMP"); dir != "" {
		must(l.t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
}

// logHas holds a native log to the tokens: the agent itself lost none.
func (l *lab) logHas(log string, want []string) {
	l.t.Helper()
	data := string(contents(l.t, log))
	for _, tok := range want {
		if !strings.Contains(data, tok) {
			l.t.Errorf("%s: no %s", log, tok)
		}
	}
}
