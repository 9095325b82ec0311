package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The agents in examples/ work as docs/agents.md says, and say the same.
func TestExamples(t *testing.T) {
	needs(t, "bash", "jq", "python3", "node")
	notUnderRace(t)
	m := newMount(t)
	programs, err := filepath.Glob("../examples/agent.*")
	if err != nil || len(programs) != 3 {
		t.Fatalf("%q, %v", programs, err)
	}
	for _, name := range programs {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(m.agent, "session", filepath.Ext(name)[1:])
			agentTurn(t, name, dir)
			agentRefused(t, name, dir)
			agentFollows(t, name, dir)
			agentGivesUp(t, name, filepath.Join(m.agent, "session", "small-"+filepath.Ext(name)[1:]))
			if out, err := exec.Command(name, "ask", dir).CombinedOutput(); exitCode(err) != 1 || !strings.Contains(string(out), "ask SESSION TEXT") {
				t.Errorf("without a text: %v\n%s", err, out)
			}
		})
	}
}

// A line of which write(2) takes only a part is in the log whole, or refused.
func TestExampleLongLines(t *testing.T) {
	needs(t, "python3")
	m := newMount(t)
	dir := m.session("long")
	line := message("user", strings.Repeat("x", 3<<20))
	for _, c := range []struct{ line, said string }{
		{strings.TrimSpace(line), ""}, {strings.Repeat("not JSON ", 350000), "OSError: [Errno 22]"}, {`{"a":"` + strings.Repeat("x", 70<<20) + `"}`, "OSError: [Errno 27]"},
	} {
		run := exec.Command("python3", "-c", "import sys, agent; agent.append(sys.argv[1], sys.stdin.read())", dir)
		run.Env = append(os.Environ(), "PYTHONPATH=../examples", "PYTHONDONTWRITEBYTECODE=1")
		run.Stdin = strings.NewReader(c.line)
		out, err := run.CombinedOutput()
		if (err != nil) != (c.said != "") || !strings.Contains(string(out), c.said) {
			t.Errorf("%.20s of %d bytes: %v\n%s", c.line, len(c.line), err, out)
		}
	}
	if got := read(t, dir+"/messages.jsonl"); got != line {
		t.Errorf("the log has %d bytes", len(got))
	}
}

// agentGivesUp has the agent work under a budget that its newest record is too large for.
func agentGivesUp(t *testing.T, name, dir string) {
	t.Helper()
	must(t, os.Mkdir(dir, 0o700))
	must(t, write(dir+"/context/budget", "40\n"))
	out, err := exec.Command(name, "ask", dir, "How long is the log?").CombinedOutput()
	if exitCode(err) != 1 || !strings.HasSuffix(string(out), "agent: no answer after 8 calls\n") || read(t, dir+"/state") != "error\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// callID is what differs from turn to turn.
var callID = regexp.MustCompile(`call-\d+`)

// agentTurn has the agent take two turns in a new session.
func agentTurn(t *testing.T, name, dir string) {
	t.Helper()
	for _, want := range []string{"The log had 2 lines.", "The log had 6 lines."} {
		c := exec.Command(name, "ask", dir, `How long is the log? Say "long".`)
		var said strings.Builder
		c.Stderr = &said
		out, err := c.Output()
		if err != nil || strings.TrimSpace(string(out)) != want || strings.Count(said.String(), "of 32000 tokens, 0 left out") != 2 {
			t.Errorf("%v: %q, not %q\n%s", err, out, want, said.String())
		}
	}
	var got []string
	for line := range strings.Lines(callID.ReplaceAllString(read(t, dir+"/messages.jsonl"), "call")) {
		var record any
		must(t, json.Unmarshal([]byte(line), &record))
		sorted, err := json.Marshal(record)
		must(t, err)
		got = append(got, string(sorted))
	}
	turn := []string{
		`{"content":[{"text":"How long is the log? Say \"long\".","type":"text"}],"role":"user"}`,
		`{"content":[{"id":"call","input":{"file":"messages.jsonl"},"name":"count_lines","type":"tool_use"}],"role":"assistant"}`,
		`{"content":[{"content":"N","tool_use_id":"call","type":"tool_result"}],"role":"tool"}`,
		`{"content":[{"text":"The log had N lines.","type":"text"}],"role":"assistant"}`,
	}
	both := strings.ReplaceAll(strings.Join(turn, "\n"), "N", "2") + "\n" + strings.ReplaceAll(strings.Join(turn, "\n"), "N", "6")
	if strings.Join(got, "\n") != both {
		t.Errorf("the log is\n%s\nnot\n%s", strings.Join(got, "\n"), both)
	}
	if state := read(t, dir+"/state"); state != "idle\n" {
		t.Errorf("state %q", state)
	}
}

// agentRefused appends what is no record, and what is.
func agentRefused(t *testing.T, name, dir string) {
	t.Helper()
	before := read(t, dir+"/messages.jsonl")
	out, err := exec.Command(name, "append", dir, "not JSON").CombinedOutput()
	if exitCode(err) != 1 || string(out) != "agent: EINVAL: it is not one JSON object; mend it, and append it again\n" {
		t.Errorf("%v: %q", err, out)
	}
	if out, err := exec.Command(name, "append", dir, `{"role":"user","content":"as it is"}`).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %q", err, out)
	}
	if got := read(t, dir+"/messages.jsonl"); got != before+message2 {
		t.Errorf("%q", strings.TrimPrefix(got, before))
	}
}

const message2 = `{"role":"user","content":"as it is"}` + "\n"

// agentFollows has the agent follow the session while it goes on, and leave when it is done.
func agentFollows(t *testing.T, name, dir string) {
	t.Helper()
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	must(t, err)
	c := exec.Command(name, "follow", dir)
	c.Stdout, c.Stderr = said, said
	must(t, c.Start())
	until(t, "it tells what was", func() bool { return strings.Contains(read(t, said.Name()), "as it is") })
	long := message("assistant", strings.Repeat("long é ", 20000))
	add(t, dir+"/messages.jsonl", long+message("user", "the last"))
	must(t, write(dir+"/state", "done\n"))
	must(t, c.Wait())
	var want strings.Builder
	for line := range strings.Lines(read(t, dir+"/messages.jsonl")) {
		var record struct{ Role string }
		must(t, json.Unmarshal([]byte(line), &record))
		want.WriteString(record.Role + ": " + line)
	}
	if got := read(t, said.Name()); got != want.String() {
		t.Errorf("it said\n%.2000s\nnot\n%.2000s", got, want.String())
	}
}
