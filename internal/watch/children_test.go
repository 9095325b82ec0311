package watch

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/importer"
)

// side is a record of the subagent "k1", parent one of the session that started it.
func side(uuid, typ, message string) string {
	return fmt.Sprintf(`{"parentUuid":null,"isSidechain":true,"agentId":"k1","type":%q,"uuid":%q,"sessionId":"s1","timestamp":"2026-11-22T10:00:01Z","message":%s}`+"\n", typ, uuid, message)
}

func parent(uuid, typ, message, more string) string {
	return fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"type":%q,"uuid":%q,"sessionId":"s1","timestamp":"2026-11-22T10:00:00Z","message":%s%s}`+"\n", typ, uuid, message, more)
}

// childLog is the log of a subagent; done says whether its turn ended.
func childLog(done bool) string {
	log := side("k-1", "user", `{"role":"user","content":"Count the files."}`) +
		side("k-2", "assistant", `{"id":"m1","role":"assistant","stop_reason":"tool_use","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}`)
	if done {
		log += side("k-3", "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a b"}]}`) +
			side("k-4", "assistant", `{"id":"m2","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"Two files."}]}`)
	}
	return log
}

// parentLog is the log of a session that starts the subagent; status is what it says of its end.
func parentLog(status string) string {
	log := parent("p-1", "user", `{"role":"user","content":"How many files?"}`, "") +
		parent("p-2", "assistant", `{"id":"m0","role":"assistant","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t0","name":"Agent","input":{"prompt":"Count the files."}}]}`, "")
	switch status {
	case "completed":
		log += parent("p-3", "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t0","content":"Two files."}]}`, `,"toolUseResult":{"agentId":"k1","status":"completed"}`)
	case "killed":
		log += parent("p-3", "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t0","content":"launched"}]}`, `,"toolUseResult":{"agentId":"k1","status":"async_launched"}`) +
			parent("p-4", "user", `{"role":"user","content":"<task-notification>\n<task-id>k1</task-id>\n<status>killed</status>\n</task-notification>"}`, "")
	}
	return log + parent("p-5", "assistant", `{"id":"m9","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"Two."}]}`, "")
}

// claudeFolder is where Claude Code keeps its logs: the sources of ctxfs watch.
func (w *world) claudeFolder() *Watcher {
	x := w.watcher()
	x.cfg.Sources = []Source{{Root: filepath.Join(w.dir, "logs"), Format: importer.ClaudeCode, Depth: 2, Below: Subagents}}
	return x
}

const theParent, theChild = "p/s1.jsonl", "p/s1/subagents/agent-k1.jsonl"

// childFiles returns what the parent's session holds of the subagent.
func (w *world) childFiles() string {
	s := w.store.sessions["claude-code/s1"]
	if s == nil {
		return "no parent"
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.child["k1"])) {
		list = append(list, name+"="+strings.TrimSuffix(s.child["k1"][name], "\n"))
	}
	return strings.Join(list, " ")
}

func linked(status string, result bool) string {
	text := "agent=claude-code handoff.md=Count the files. "
	if result {
		text += "result.md=Two files. "
	}
	return text + "session=agent-k1 status=" + status
}

// TestSubagent follows a subagent's log into a session of its own, which the parent's session links: whichever comes first,
// whatever is restarted, and whichever of both logs says that it ended.
func TestSubagent(t *testing.T) {
	for _, c := range []struct {
		done   bool
		status string
		want   string
	}{
		{true, "completed", linked("done", true)}, {true, "", linked("done", true)}, {true, "killed", linked("done", true)},
		{false, "completed", linked("done", false)}, {false, "killed", linked("error", false)}, {false, "", linked("active", false)},
	} {
		logs := map[string]string{theParent: parentLog(c.status), theChild: childLog(c.done)}
		for _, order := range [][]string{{theParent, theChild}, {theChild, theParent}} {
			for _, how := range []string{"one watch", "a watch each", "a watch each, without its state", "both at once"} {
				w := newWorld(t)
				w.fresh = how == "a watch each, without its state"
				x := w.claudeFolder()
				for i, name := range order {
					w.write(name, logs[name])
					if i == 0 && how == "both at once" {
						continue
					}
					if how != "one watch" {
						x = w.claudeFolder()
					}
					if err := x.Once(); err != nil {
						t.Fatal(err)
					}
				}
				if got := w.childFiles(); got != c.want {
					t.Errorf("%v, %s, first %s: %s, want %s", how, c.status, order[0], got, c.want)
				}
				for session, log := range map[string]string{"s1": logs[theParent], "agent-k1": logs[theChild]} {
					want := imported(t, []byte(log), importer.ClaudeCode)
					for _, name := range []string{Messages, Events} {
						if got := w.log("claude-code/"+session, name); got != want.logs[name].String() {
							t.Errorf("%s: %s of %s is not what an import makes: %s", how, name, session, got)
						}
					}
				}
			}
		}
	}
}

// TestSubagentKilled kills a watch at each of its writes, those of the link too, and starts another.
func TestSubagentKilled(t *testing.T) {
	for kill := 1; ; kill++ {
		w := newWorld(t)
		w.write(theParent, parentLog("completed"))
		w.write(theChild, childLog(false))
		w.store.fail = kill
		killed := w.claudeFolder().Once() != nil
		w.write(theChild, childLog(true))
		killed = w.claudeFolder().Once() != nil || killed
		w.store.fail = 0
		if err := w.claudeFolder().Once(); err != nil {
			t.Fatal(err)
		}
		if got := w.childFiles(); got != linked("done", true) {
			t.Fatalf("killed at write %d: %s", kill, got)
		}
		if p, c := strings.Count(w.log("claude-code/s1", Messages), "\n"), strings.Count(w.log("claude-code/agent-k1", Messages), "\n"); p != 4 || c != 4 {
			t.Fatalf("killed at write %d: %d messages of the parent, %d of the child", kill, p, c)
		}
		if !killed {
			if kill < 8 {
				t.Errorf("there were only %d writes", kill-1)
			}
			return
		}
	}
}

// TestSubagentRun has a subagent begin and end while its parent's log is followed: folders come, and the status follows.
func TestSubagentRun(t *testing.T) {
	w := newWorld(t)
	w.quiet = time.Hour
	x := w.claudeFolder()
	x.cfg.Poll = time.Hour
	store := locked{make(chan struct{}, 1), w.store}
	x.store = store
	start := strings.SplitAfter(parentLog("completed"), "\n")
	w.write(theParent, strings.Join(start[:2], ""))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	is := func(want string) {
		t.Helper()
		within(t, want, func() bool {
			store.turn <- struct{}{}
			defer func() { <-store.turn }()
			return w.childFiles() == want
		})
	}
	is("")
	w.write(theChild, childLog(false))
	add(t, filepath.Join(w.dir, "logs", theChild), side("k-3", "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a b"}]}`))
	is(linked("active", false))
	add(t, filepath.Join(w.dir, "logs", theParent), strings.Join(start[2:], ""))
	is(linked("done", false))
	w.write(theChild, childLog(true))
	is(linked("done", true))
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestSubagentOrphan leaves a subagent alone whose parent's log is not there, or has an id that is no name, and reads its log again only
// when the parent's session comes.
func TestSubagentOrphan(t *testing.T) {
	w := newWorld(t)
	w.fresh = false
	w.write(theChild, childLog(true))
	for range 2 {
		x := w.claudeFolder()
		if err := x.Once(); err != nil {
			t.Fatal(err)
		}
	}
	x := w.claudeFolder()
	if !x.same(found{filepath.Join(w.dir, "logs", theChild), importer.ClaudeCode}) {
		t.Error("the log of an orphan is read again")
	}
	w.write("p/s1/subagents/more/agent-bad.jsonl", strings.ReplaceAll(childLog(true), `"k1"`, `"../k1"`))
	w.write(theParent, parentLog("completed"))
	for range 2 {
		if err := w.claudeFolder().Once(); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.childFiles(); got != linked("done", true) || len(w.store.sessions["claude-code/s1"].child) != 1 || len(w.store.sessions) != 3 {
		t.Errorf("%s; %v", got, w.store.sessions)
	}
	delete(w.store.sessions, "claude-code/s1")
	w.write(theParent, parentLog("completed")+parent("p-9", "user", `{"role":"user","content":"more"}`, ""))
	for range 2 {
		if err := w.claudeFolder().Once(); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.childFiles(); got != linked("done", true) {
		t.Errorf("the parent's session was made again: %s", got)
	}
}

// TestSubagentSource sees which files of Claude Code's folder are logs.
func TestSubagentSource(t *testing.T) {
	s := Source{Root: "/r", Depth: 2, Below: Subagents}
	for path, want := range map[string]bool{
		"/r/p/s.jsonl": true, "/r/p/agent-1.jsonl": true, "/r/s.jsonl": false, "/r/p/s/x.jsonl": false, "/r/p/s/agent-1.jsonl": false,
		"/r/p/s/subagents/agent-1.jsonl": true, "/r/p/s/subagents/w/wf/agent-1.jsonl": true, "/r/p/s/subagents/x.jsonl": false,
		"/r/p/s/subagents/agent-1.meta.json": false, "/r/p/s/tool-results/agent-1.jsonl": false, "/r/p/subagents/agent-1.jsonl": false,
	} {
		if s.has(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
		if s.Below = ""; s.has(path) && !(want && strings.Count(path, "/") == 3) {
			t.Errorf("%s is a log without the folder of subagents", path)
		}
		s.Below = Subagents
	}
}

// TestSubagentReal follows the logs of Claude Code 2.1.330.
func TestSubagentReal(t *testing.T) {
	root := "../../../shared/data/cli-2026-11/claude-code-2.1.330"
	if _, err := os.Stat(root); err != nil {
		t.Skip("SKIP: ../shared/data/cli-2026-11 is not here")
	}
	list, err := filepath.Glob(filepath.Join(root, "*/*/subagents/agent-*.jsonl"))
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	w := newWorld(t)
	x := w.claudeFolder()
	x.cfg.Sources[0].Root = root
	if err := x.Once(); err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		parent, _ := SessionOf(path)
		id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "agent-"), ".jsonl")
		got := w.store.sessions["claude-code/"+strings.TrimSuffix(filepath.Base(parent), ".jsonl")].child[id]
		if got["status"] != "done\n" || got["session"] != "agent-"+id+"\n" || got["handoff.md"] == "" || got["result.md"] == "" {
			t.Errorf("%s: %q", id, got)
		}
		data, format := readLog(t, path)
		if log := w.log("claude-code/agent-"+id, Messages); log != imported(t, data, format).logs[Messages].String() {
			t.Errorf("%s: the session is not what an import makes", id)
		}
	}
}
