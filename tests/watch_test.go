package tests

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ctxfs/tests/testhost"
)

// watching is a ctxfs watch of folders of logs that grow.
type watching struct {
	*mount
	home string
	cmd  *exec.Cmd
	said string // the file that it prints to
	rnd  *rand.Rand
}

func newWatching(m *mount) *watching {
	home := m.t.TempDir()
	return &watching{mount: m, home: home, said: filepath.Join(home, "said"), rnd: rand.New(rand.NewPCG(1, 9))}
}

// path gives where a program keeps a log in this home.
func (w *watching) path(format, name string) string {
	if format == "codex" {
		return filepath.Join(w.home, ".codex/sessions/2026/03/14", "rollout-"+name+".jsonl")
	}
	return filepath.Join(w.home, ".claude/projects/-home-dev-brewlog", name+".jsonl")
}

func (w *watching) watch(args ...string) {
	w.t.Helper()
	w.cmd = exec.Command(program, append([]string{"watch", "--mount", w.point}, args...)...)
	out, err := os.Create(w.said)
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	w.cmd.Stdout, w.cmd.Stderr = out, out
	w.cmd.Env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE")}
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watching) killWatch() {
	w.t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		w.t.Errorf("the watch had ended: %v: %s", err, read(w.t, w.said))
	}
	_ = w.cmd.Wait() // it was killed
}

// end ends the watch by SIGTERM, and reads what it held back.
func (w *watching) end() {
	w.t.Helper()
	until(w.t, "the watch follows", func() bool { return strings.Contains(read(w.t, w.said), "following") })
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Error(err)
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("the watch did not end cleanly: %v\n%s", err, read(w.t, w.said))
	}
	w.watch("--once")
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("watch --once: %v\n%s", err, read(w.t, w.said))
	}
}

// grow appends a log by pieces that end anywhere, with pauses.
func (w *watching) grow(path string, data []byte, pieces int, rnd *rand.Rand) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Error(err)
	}
	f, err := os.Create(path)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer f.Close()
	for len(data) > 0 {
		n := min(len(data), 1+rnd.IntN(1+2*len(data)/pieces))
		if pieces--; pieces <= 0 {
			n = len(data)
		}
		if _, err := f.Write(data[:n]); err != nil {
			w.t.Error(err)
			return
		}
		data = data[n:]
		time.Sleep(time.Duration(rnd.IntN(40)) * time.Millisecond)
	}
}

// through has logs grow while watches are killed and started again, and the daemon's worker with them.
func (w *watching) through(logs map[string][]byte) {
	w.t.Helper()
	w.watch()
	var wg sync.WaitGroup
	for i, path := range slices.Sorted(maps.Keys(logs)) {
		wg.Go(func() { w.grow(path, logs[path], 60, rand.New(rand.NewPCG(uint64(i), 5))) })
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for n := 0; ; n++ {
		select {
		case <-done:
			if n < 4 {
				w.t.Errorf("the logs were done after %d kills", n)
			}
			w.end()
			return
		case <-time.After(time.Duration(20+w.rnd.IntN(120)) * time.Millisecond):
		}
		if n%3 == 2 {
			w.killWorker()
			continue
		}
		w.killWatch()
		w.watch()
	}
}

// is tells whether a watched session is what an import of the finished log makes, byte for byte.
func (w *watching) is(format, session, log string) {
	w.t.Helper()
	run(w.t, "import", "--mount", w.point, "--agent", "imported", "--session", format+session, log)
	home := filepath.Dir(w.agent)
	for _, name := range []string{"messages.jsonl", "events.jsonl"} {
		got := read(w.t, filepath.Join(home, format, "session", session, name))
		want := read(w.t, filepath.Join(home, "imported/session", format+session, name))
		if got != want {
			w.t.Errorf("%s of %s: %d lines, and an import has %d: %s", name, session, strings.Count(got, "\n"), strings.Count(want, "\n"), firstOther(got, want))
		}
	}
}

func firstOther(got, want string) string {
	g, w := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is\n%.300s\nwant\n%.300s", i+1, g[i], w[i])
		}
	}
	return "the first lines are the same"
}

// claudeLog makes a log of Claude Code of n turns: a question, an answer of three records, a call and its result.
func claudeLog(seed string, n int) []byte {
	var b bytes.Buffer
	last, id := "null", 0
	line := func(typ, message, more string) {
		id++
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/home/dev","sessionId":"%s","version":"2.1","type":"%s","message":%s,"uuid":"%s-%d","timestamp":"2026-03-14T09:%02d:%02d.000Z"%s}`+"\n",
			last, seed, typ, message, seed, id, id/60%60, id%60, more)
		last = fmt.Sprintf(`"%s-%d"`, seed, id)
	}
	for i := range n {
		line("user", fmt.Sprintf(`{"role":"user","content":"question %d of %s"}`, i, seed), "")
		for _, block := range []string{`{"type":"thinking","thinking":"hm, %d","signature":"c2ln"}`, `{"type":"text","text":"words %d"}`, `{"type":"tool_use","id":"call-%d","name":"Bash","input":{"command":"make"}}`} {
			line("assistant", fmt.Sprintf(`{"id":"m-%d","type":"message","role":"assistant","model":"example","content":[%s],"usage":{"input_tokens":%d,"output_tokens":9}}`, i, fmt.Sprintf(block, i), i), "")
		}
		line("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call-%d","content":"%s"}]}`, i, strings.Repeat("ok ", i)), "")
		fmt.Fprintf(&b, `{"type":"queue-operation","operation":"enqueue","sessionId":"%s","timestamp":"2026-03-14T09:00:00.000Z","content":"later %d"}`+"\n", seed, i)
	}
	return b.Bytes()
}

// Logs that grow by half lines become sessions that have each record once, in order, whatever is killed meanwhile: watches, and
// workers of the mount. A log that is replaced becomes another session.
func TestWatchKilled(t *testing.T) {
	m := newMount(t)
	w := newWatching(m)
	first, second := w.path("claude-code", "one"), w.path("codex", "two")
	w.through(map[string][]byte{first: claudeLog("aaaa", 120), second: []byte(read(t, "../samples/codex.jsonl")), w.path("claude-code", "three"): claudeLog("bbbb", 60)})
	w.is("claude-code", "one", first)
	w.is("claude-code", "three", w.path("claude-code", "three"))
	w.is("codex", "rollout-two", second)

	before := read(t, filepath.Join(filepath.Dir(m.agent), "claude-code/session/one/messages.jsonl"))
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	w.through(map[string][]byte{first: claudeLog("cccc", 50)})
	w.is("claude-code", "one-2", first)
	if read(t, filepath.Join(filepath.Dir(m.agent), "claude-code/session/one/messages.jsonl")) != before {
		t.Error("the session of the log that was there before has changed")
	}
	if got := names(t, filepath.Join(filepath.Dir(m.agent), "claude-code/session")); strings.Join(got, " ") != "index one one-2 three" {
		t.Errorf("sessions of Claude Code: %q", got)
	}
}

// childLog makes the log of a subagent of the session seed, of n turns and an answer.
func childLog(seed, id string, n int) []byte {
	log := strings.ReplaceAll(string(claudeLog(seed, n)), `"isSidechain":false`, fmt.Sprintf(`"isSidechain":true,"agentId":%q`, id))
	log = strings.ReplaceAll(log, `"uuid":"`, `"uuid":"`+id+"-")
	return fmt.Appendf([]byte(log), `{"parentUuid":null,"isSidechain":true,"agentId":%q,"sessionId":%q,"type":"assistant","uuid":%q,"timestamp":"2026-03-14T10:00:00.000Z","message":{"id":%q,"role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"All %d questions are answered."}]}}`+"\n",
		id, seed, id+"-end", id+"-end", n)
}

// Logs of subagents become sessions of their own, which context/child/ of the parent's session links, each once, whatever is killed
// meanwhile. A watch that goes on writes what the log has more into the same places.
func TestWatchSubagents(t *testing.T) {
	m := newMount(t)
	w := newWatching(m)
	log := w.path("claude-code", "one")
	agent := func(id string) string {
		return filepath.Join(strings.TrimSuffix(log, ".jsonl"), "subagents", "agent-"+id+".jsonl")
	}
	w.through(map[string][]byte{log: claudeLog("one", 60), agent("k1"): childLog("one", "k1", 30), agent("k2"): claudeChildOpen("one", "k2", 20)})
	home := filepath.Join(filepath.Dir(m.agent), "claude-code/session")
	if got := names(t, home); strings.Join(got, " ") != "index one one-agent-k1 one-agent-k2" {
		t.Fatalf("sessions: %q", got)
	}
	w.is("claude-code", "one", log)
	child := func(id string, want ...string) {
		t.Helper()
		w.is("claude-code", "one-agent-"+id, agent(id))
		dir := filepath.Join(home, "one/context/child", id)
		var got []string
		for _, name := range names(t, dir) {
			got = append(got, name+"="+strings.TrimSpace(read(t, filepath.Join(dir, name))))
		}
		want = append([]string{"agent=claude-code", "handoff.md=question 0 of one"}, want...)
		if !slices.Equal(got, want) {
			t.Errorf("child %s: %q, want %q", id, got, want)
		}
	}
	child("k1", "result.md=All 30 questions are answered.", "session=one-agent-k1", "status=done")
	child("k2", "session=one-agent-k2", "status=active")
	if pack := read(t, filepath.Join(home, "one/context/pack.md")); !strings.Contains(pack, "## child_result: context/child/k1/result.md (status done)") {
		t.Errorf("the parent's pack:\n%.2000s", pack)
	}
}

// claudeChildOpen is childLog without the answer.
func claudeChildOpen(seed, id string, n int) []byte {
	log := bytes.SplitAfter(childLog(seed, id, n), []byte("\n"))
	return bytes.Join(log[:len(log)-2], nil)
}

// The same over real logs.
func TestWatchRealLogs(t *testing.T) {
	notUnderRace(t)
	testhost.Rare(t)
	root := sharedData(t, "data")
	m := newMount(t)
	w := newWatching(m)
	logs := map[string][]byte{}
	for _, format := range []string{"claude-code", "codex"} {
		list, err := filepath.Glob(filepath.Join(root, format, "*/*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for i, file := range list {
			st, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(logs); st.Size() < 1<<20 && i%3 == 0 && n < 8 {
				data := append(bytes.TrimSuffix([]byte(read(t, file)), []byte("\n")), '\n')
				logs[w.path(format, fmt.Sprint("real", n))] = data
			}
		}
	}
	w.through(logs)
	for path := range logs {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		format := "claude-code"
		if strings.HasPrefix(name, "rollout-") {
			format = "codex"
		}
		w.is(format, name, path)
	}
}

// A watch whose mount goes away waits for it, and makes nothing in the folder below.
func TestWatchWithoutMount(t *testing.T) {
	m := newMount(t)
	w := newWatching(m)
	log := w.path("claude-code", "one")
	data := claudeLog("aaaa", 4)
	w.watch()
	defer func() { w.end(); w.is("claude-code", "one", log) }()
	w.grow(log, data[:1000], 3, w.rnd)
	session := filepath.Join(filepath.Dir(m.agent), "claude-code/session/one/messages.jsonl")
	until(t, "the session is there", func() bool { _, err := os.Stat(session); return err == nil })
	if err := m.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = m.cmd.Wait() // it was killed
	m.free()
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, bytes.NewReader(data[1000:])); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond) // it tries again
	if left := names(t, m.point); len(left) > 0 {
		t.Errorf("where the mount was: %q", left)
	}
	m.start()
	until(t, "it goes on", func() bool { return strings.Contains(read(t, session), "question 3") })
}
