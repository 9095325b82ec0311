package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// logged is a record of a log, as far as these tests look.
type logged struct {
	ID, Role, Run, Status string
	Parent                string `json:"parent_id"`
	ToolCallID            string `json:"tool_call_id"`
	Incomplete            bool
	Content               json.RawMessage
}

func (m *mount) records(session string) (list []logged) {
	m.t.Helper()
	for line := range strings.Lines(m.messages(session)) {
		var r logged
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			m.t.Errorf("%v: %.100q", err, line)
		}
		list = append(list, r)
	}
	return list
}

// serving connects an agent process, of which the test reads the inputs itself.
func (m *mount) serving() *client {
	m.t.Helper()
	a := m.client()
	a.ask("op", "serve")
	if f, _ := a.next(); f.Type != "start" {
		m.t.Fatalf("serve: %+v", f)
	}
	return a
}

// newSystemCoder makes a mount for all users, with an agent that all find.
func newSystemCoder(t *testing.T) *mount {
	t.Helper()
	if os.Getuid() != 0 {
		skip(t, "a system mount needs root")
	}
	m := newCoder(t, "--allow-other")
	openPath(t, filepath.Dir(m.point))
	openPath(t, filepath.Dir(m.store))
	if err := os.MkdirAll(m.point+"/agent/coder.d", 0o755); err != nil {
		t.Fatal(err)
	}
	return m
}

// A tool call is a record with its id, before its result: packs, resumes and another worker know which call a result answers.
func TestSocketToolCallRecord(t *testing.T) {
	m := newCoder(t)
	a, c := m.serving(), m.client()
	c.ask("op", "send", "id", "m1", "input", "list /")
	in, _ := a.next()
	a.raw(`{"op":"tool_call","run":"` + in.Run + `","id":"call_1","name":"ls","input":{"path":"/ <a> & b"}}` + "\n")
	a.ask("op", "message", "run", in.Run, "id", "res-1", "role", "tool", "tool_call_id", "call_1", "content", "bin etc")
	a.ask("op", "tool_call", "run", in.Run, "name", "pwd") // an agent that gives no ids
	a.ask("op", "tool_call", "run", in.Run, "name", "id")
	a.ask("op", "message", "run", in.Run, "role", "tool", "content", "/work")
	a.ask("op", "message", "run", in.Run, "role", "tool", "content", "root")
	a.ask("op", "done", "run", in.Run, "text", "two folders")
	all, _ := c.done()
	if types(all) != "start, tool_call, message, tool_call, tool_call, message, message, message, done ok" || all[1].CallID != "call_1" || all[1].ID != "m1" || all[2].RecordID != "res-1" {
		t.Errorf("the sender: %+v", all)
	}
	list := m.records("default")
	if len(list) != 8 {
		t.Fatalf("%d records: %s", len(list), m.messages("default"))
	}
	if string(list[1].Content) != `[{"type":"tool_use","id":"call_1","name":"ls","input":{"path":"/ <a> & b"}}]` || list[1].Role != "assistant" || list[2].ID != "res-1" || list[2].ToolCallID != "call_1" {
		t.Errorf("the call and its result: %+v", list[1:3])
	}
	ids := map[string]bool{}
	for _, r := range list {
		ids[r.ID] = true
	}
	if ids[""] || len(ids) != 8 {
		t.Errorf("ids: %v", ids)
	}
	for range 2 {
		pack := read(t, m.agent+"/session/default/context/pack.md")
		for _, want := range []string{"[2 assistant, call ls", "[3 tool, result of 2]", "[6 tool, result of 4]", "[7 tool, result of 5]"} {
			if !strings.Contains(pack, want) {
				t.Errorf("the pack has no %q:\n%s", want, pack)
			}
		}
		if strings.Contains(pack, "unknown call") {
			t.Errorf("the pack:\n%s", pack)
		}
		all = m.client().wantTypes("start, message, message, message, message, message, done ok", "op", "resume", "after", "res-1")
		if len(all) > 2 && (all[1].N != 4 || all[1].Content[0].Type != "tool_use" || all[1].Content[0].Name != "pwd") {
			t.Errorf("resume after res-1: %+v", all)
		}
		m.killWorker()
	}
}

// What an agent has said of an answer that does not come is recorded, and marked.
func TestSocketIncomplete(t *testing.T) {
	m := newCoder(t)
	c := m.client()
	for i, end := range []struct {
		name, status, frames string
		do                   func(a *client, run string)
	}{
		{"failed", "error", "start, delta, delta, error EIO, done error", func(a *client, run string) { a.ask("op", "error", "run", run, "code", "EIO", "message", "no") }},
		{"done with an error", "error", "start, delta, delta, error EIO, done error", func(a *client, run string) { a.ask("op", "done", "run", run, "status", "error") }},
		{"left", "error", "start, delta, delta, error EHOSTDOWN, done error", func(a *client, run string) { a.conn.Close() }},
		{"cancelled", "cancelled", "start, delta, delta, done cancelled", func(a *client, run string) {
			m.client().wantTypes("done cancelled", "op", "cancel", "id", "m", "session", "s3")
		}},
	} {
		t.Run(end.name, func(t *testing.T) {
			session := fmt.Sprintf("s%d", i)
			a := m.serving()
			defer a.conn.Close()
			c.ask("op", "send", "id", "m", "session", session, "input", "x")
			in, _ := a.next()
			a.ask("op", "delta", "run", in.Run, "text", "The cause is")
			a.ask("op", "delta", "run", in.Run, "text", " a NUL: \x01é")
			var got []frame
			for range 3 {
				f, _ := c.next()
				got = append(got, f)
			}
			end.do(a, in.Run)
			rest, _ := c.done()
			if got = append(got, rest...); types(got) != end.frames {
				t.Errorf("the sender: %s", types(got))
			}
			list := m.records(session)
			if len(list) != 2 || !list[1].Incomplete || list[1].Status != end.status || list[1].Parent != "m" || list[1].Run != in.Run || string(list[1].Content) != `"The cause is a NUL: \u0001é"` {
				t.Fatalf("the log: %s", m.messages(session))
			}
			if pack := read(t, m.agent+"/session/"+session+"/context/pack.md"); !strings.Contains(pack, "[2 assistant, incomplete]\nThe cause is a NUL") {
				t.Errorf("the pack:\n%s", pack)
			}
			all := m.client().wantTypes("start, message, message, done ok", "op", "resume", "session", session)
			if len(all) == 4 && (all[1].Incomplete || !all[2].Incomplete || all[2].RecordID != in.Run+".1") {
				t.Errorf("resume: %+v", all)
			}
		})
	}
	// A cancelled message stays cancelled, with what was said; a failed one is tried again.
	all := c.wantTypes("start, message, done cancelled", "op", "send", "id", "m", "session", "s3", "input", "x")
	if len(all) == 3 && !all[1].Incomplete {
		t.Errorf("replay: %+v", all)
	}
	m.serveAgent(echo)
	c.wantTypes("start, delta, delta, message, done ok", "op", "send", "id", "m", "session", "s0", "input", "x")
	c.wantTypes("start, message, done ok", "op", "send", "id", "m", "session", "s0", "input", "x")
	if list := m.records("s0"); len(list) != 3 || list[2].Incomplete || list[2].ID == list[1].ID {
		t.Errorf("the log: %s", m.messages("s0"))
	}
	if left, err := filepath.Glob(m.store + "/home/*/.ctxfs/draft/*"); err != nil || len(left) > 0 {
		t.Errorf("drafts are left: %v, %v", left, err)
	}
}

// What an agent has said is in the log after the worker was killed, once, whether or not anybody asks for the session.
func TestSocketIncompleteAfterKill(t *testing.T) {
	m := newCoder(t)
	c := m.client()
	for round := range 3 {
		a := m.serving()
		c.ask("op", "send", "id", "m1", "session", "s", "input", "x")
		c.ask("op", "send", "id", "quiet", "session", "q", "input", "x")
		in, _ := a.next()
		if in.ID != "m1" {
			t.Fatalf("%+v", in)
		}
		a.next()
		text := fmt.Sprintf("words of round %d", round)
		a.ask("op", "delta", "run", in.Run, "text", text[:5])
		a.ask("op", "delta", "run", in.Run, "text", text[5:])
		for n := 0; n < 2; {
			if f, ok := c.next(); !ok {
				t.Fatal("the connection ended")
			} else if f.Type == "delta" {
				n++
			}
		}
		m.killWorker()
		dir := m.agent + "/session/s/"
		if round == 1 { // the session is used at once: the incomplete answer comes before what is asked now
			all, _ := resumed(m, "s")
			if n := len(all); n < 3 || all[n-2].Content[0].Text != text {
				t.Errorf("resume: %+v", all)
			}
		}
		for range 1000 {
			if read(t, dir+"state") == "error\n" && read(t, m.agent+"/session/q/state") == "error\n" {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		list := m.records("s")
		last := list[len(list)-1]
		if len(list) != 2+round || !last.Incomplete || last.Status != "error" || string(last.Content) != `"`+text+`"` || last.ID != fmt.Sprintf("%s.%d", in.Run, round+1) {
			t.Errorf("round %d: %s", round, m.messages("s"))
		}
		if events := read(t, dir+"events.jsonl"); strings.Count(events, `"ctxfs.run.ended"`) != round+1 || strings.Count(events, `"EHOSTDOWN"`) != round+1 {
			t.Errorf("round %d: %s", round, events)
		}
		if n := len(m.records("q")); n != 1 {
			t.Errorf("%d records of a run without a word: %s", n, m.messages("q"))
		}
		c = m.client()
	}
	m.serveAgent(echo)
	c.wantTypes("start, delta, delta, message, done ok", "op", "send", "id", "m1", "session", "s", "input", "x")
	m.killWorker()
	time.Sleep(200 * time.Millisecond)
	if list := m.records("s"); len(list) != 5 || list[4].Incomplete {
		t.Errorf("the log: %s", m.messages("s"))
	}
	if left, err := filepath.Glob(m.store + "/home/*/.ctxfs/draft/*"); err != nil || len(left) > 0 {
		t.Errorf("drafts are left: %v, %v", left, err)
	}
}

func resumed(m *mount, session string) ([]frame, frame) {
	c := m.client()
	c.ask("op", "resume", "session", session)
	return c.done()
}

// A cancel by a run's id needs no session, and does nothing to others' runs.
func TestSocketCancelByRun(t *testing.T) {
	m := newSystemCoder(t)
	a, c := m.serving(), m.client()
	for _, scope := range []string{"private", "temp"} {
		c.ask("op", "send", "id", "m-"+scope, "session", "s", "scope", scope, "input", "long work")
		in, _ := a.next()
		if said := m.framesAs(64001, "coder", `{"op":"cancel","id":"`+in.Run+`"}`+"\n"); !strings.Contains(said, "ENOENT") {
			t.Errorf("another user: %s", said)
		}
		other := m.client()
		other.wantTypes("error ENOENT, done error", "op", "cancel", "id", in.Run, "session", "elsewhere")
		other.wantTypes("error ENOENT, done error", "op", "cancel", "id", "m-"+scope) // a send's id is the session's
		if all := other.wantTypes("done cancelled", "op", "cancel", "id", in.Run); all[0].ID != in.Run || all[0].Run != in.Run {
			t.Errorf("%+v", all)
		}
		if all, _ := c.done(); types(all) != "start, done cancelled" {
			t.Errorf("the sender: %s", types(all))
		}
		if f, _ := a.next(); f.Type != "cancel" || f.Run != in.Run {
			t.Errorf("the agent: %+v", f)
		}
		other.wantTypes("error ENOENT, done error", "op", "cancel", "id", in.Run)
	}
}

// A resume without a session is of the session default, whichever is current; after takes a record's id, also that of a record
// that was written as a file, and also after the worker was killed.
func TestSocketResumeAfterID(t *testing.T) {
	m := newCoder(t)
	m.serveAgent(echo)
	c := m.client()
	c.wantTypes("start, delta, delta, message, done ok", "op", "send", "id", "m1", "input", "one")
	add(t, m.agent+"/session/default/messages.jsonl", `{"id":"by-hand-\u00e9","role":"user","content":"two"}`+"\n"+`{"uuid":"77","role":"user","content":"by-hand"}`+"\n")
	time.Sleep(50 * time.Millisecond) // a worker that starts goes by the times of files
	add(t, m.session("newer")+"/messages.jsonl", message("user", "elsewhere"))
	if now := read(t, m.agent+"/session/index/current"); now != "newer\n" {
		t.Fatalf("current: %q", now)
	}
	for range 2 {
		c = m.client()
		all := c.wantTypes("start, message, message, message, message, done ok", "op", "resume")
		if all[0].Session != "default" {
			t.Errorf("%+v", all[0])
		}
		c.wantTypes("start, message, message, message, done ok", "op", "resume", "after", "m1")
		c.wantTypes("start, message, message, done ok", "op", "resume", "after", all[2].RecordID)
		c.wantTypes("start, message, done ok", "op", "resume", "after", "by-hand-é")
		c.wantTypes("start, done ok", "op", "resume", "after", "77")
		c.wantTypes("start, message, message, message, done ok", "op", "resume", "after", "1") // a number is a number first
		c.wantTypes("error EINVAL, done error", "op", "resume", "after", "by-hand")
		m.killWorker()
	}
	if out := run(t, "resume", "coder", "--mount", m.point); !strings.Contains(out, "elsewhere") { // the command reads the index
		t.Errorf("ctxfs resume: %s", out)
	}
}

// The scope shared needs no share where it is clear which one: the share default, or the only one that lets the user in.
func TestSocketShareUnnamed(t *testing.T) {
	m := newSystemCoder(t)
	share := func(name, group string) { run(t, "share", "create", name, "--group", group, "--mount", m.point) }
	c := m.client()
	c.wantTypes("error ENOENT, done error", "op", "send", "id", "m1", "scope", "shared", "input", "x")
	share("team", "64100")
	send := []any{"op", "send", "id", "m1", "scope", "shared", "input", "x"}
	all := c.wantTypes("start, error EHOSTDOWN, done error", send...)
	if got := read(t, m.point+"/shared/team/agent/coder/session/default/messages.jsonl"); all[0].Scope != "shared" || !strings.Contains(got, `"content":"x"`) {
		t.Errorf("%+v, %s", all[0], got)
	}
	c.wantTypes("start, message, done ok", "op", "resume", "scope", "shared")
	if said := m.framesAs(64001, "coder", `{"op":"send","id":"m2","scope":"shared","input":"x"}`+"\n"); !strings.Contains(said, `"code":"ENOENT"`) || strings.Contains(said, "team") {
		t.Errorf("a user whom no share lets in: %s", said)
	}
	share("tools", "64100")
	if all := c.wantTypes("error EINVAL, done error", send...); !strings.Contains(all[0].Message, "team, tools") {
		t.Errorf("several shares: %+v", all[0])
	}
	share("default", "64100")
	c.wantTypes("start, error EHOSTDOWN, done error", send...)
	if got := read(t, m.point+"/shared/default/agent/coder/session/default/messages.jsonl"); !strings.Contains(got, `"content":"x"`) {
		t.Errorf("%s", got)
	}
}

// An op that is not known, and ids that could be paths, are EINVAL.
func TestSocketRefusals(t *testing.T) {
	m := newCoder(t)
	c := m.client()
	for _, ask := range [][]any{
		{"op", "sing"},
		{"op", "send", "id", "bad/id", "input", "x"},
		{"op", "cancel", "id", "bad/id"},
		{"op", "resume", "id", "bad/id"},
	} {
		c.wantTypes("error EINVAL, done error", ask...)
	}
	if list, err := os.ReadDir(m.agent + "/session"); err != nil || slices.ContainsFunc(list, func(e os.DirEntry) bool { return e.Name() != "index" }) {
		t.Errorf("a refused frame made %v, %v", list, err)
	}
}
