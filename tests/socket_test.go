package tests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A message is in the log before it is answered, with an agent or without.
func TestSocketSend(t *testing.T) {
	m := newCoder(t)
	st, err := os.Stat(m.point + "/agent/coder.sock")
	if err != nil || st.Mode()&os.ModeSocket == 0 || st.Mode().Perm() != 0o666 {
		t.Fatalf("coder.sock: %v, %v", st, err)
	}
	c := m.client()
	c.wantTypes("pong", "op", "ping")
	if status, err := os.ReadFile(m.point + "/status"); err != nil || !strings.Contains(string(status), "\nconnections: 1\n") {
		t.Errorf("status: %s, %v", status, err)
	}
	c.ask("op", "send", "id", "m1", "input", "anybody?")
	if f, _ := c.next(); f.Type != "start" || f.N != 1 || f.Run == "" || f.ID != "m1" || f.Session != "default" {
		t.Errorf("start: %+v", f)
	}
	if log := m.messages("default"); !strings.Contains(log, `"id":"m1","role":"user","content":"anybody?"`) {
		t.Errorf("the message is not in the log: %s", log)
	}
	if all, _ := c.done(); types(all) != "error EHOSTDOWN, done error" {
		t.Errorf("no agent: %s", types(all))
	}

	m.serveAgent(echo)
	all := c.wantTypes("start, delta, delta, message, done ok", "op", "send", "id", "m2", "input", "<hello> & \"you\"\n")
	if all[3].Content[0].Text != "you said: <hello> & \"you\"\n" || all[3].N != 3 || all[4].Cursor != all[3].Cursor {
		t.Errorf("answer: %+v", all[3:])
	}
	latest, err := os.ReadFile(m.agent + "/session/default/latest.md")
	if err != nil || !strings.Contains(string(latest), "you said: <hello> & \"you\"") {
		t.Errorf("latest.md: %q, %v", latest, err)
	}
	// Asked again, a message that nobody answered is answered now, and recorded once.
	all = c.wantTypes("start, delta, delta, message, done ok", "op", "send", "id", "m1", "input", "anybody?")
	if !all[0].Replay || strings.Count(m.messages("default"), `"m1","role":"user"`) != 1 {
		t.Errorf("replay: %+v\n%s", all[0], m.messages("default"))
	}
	all = c.wantTypes("start, message, done ok", "op", "send", "id", "m2", "input", "<hello> & \"you\"\n")
	if !all[0].Replay || !strings.HasPrefix(all[1].Content[0].Text, "you said: <hello>") {
		t.Errorf("replay: %+v", all)
	}
	c.wantTypes("error EINVAL, done error", "op", "send", "id", "m2", "input", "something else")
	c.wantTypes("error EINVAL, done error", "op", "send", "id", "m2", "input", "<hello> & \"you\"\n", "cwd", "/")
	if n := strings.Count(m.messages("default"), "\n"); n != 4 {
		t.Errorf("%d records, want 4: %s", n, m.messages("default"))
	}
	if s, _ := os.ReadFile(m.agent + "/session/default/state"); string(s) != "idle\n" {
		t.Errorf("state: %q", s)
	}
}

// Ids, answers and cursors outlive the daemon, also one that is killed.
func TestSocketRestart(t *testing.T) {
	m := newCoder(t)
	m.serveAgent(echo)
	c := m.client()
	c.wantTypes("start, delta, delta, message, done ok", "op", "send", "id", "m1", "input", "one")
	all := c.wantTypes("start, delta, delta, message, done ok", "op", "send", "id", "m2", "input", "two")
	cursor := all[len(all)-1].Cursor
	for range 3 {
		if err := m.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = m.cmd.Wait()
		_ = syscall.Unmount(m.point, syscall.MNT_DETACH)
		if _, ok := c.next(); ok {
			t.Error("a connection outlived its daemon")
		}
		m.start()
		m.serveAgent(echo)
		c = m.client()
		all = c.wantTypes("start, message, done ok", "op", "send", "id", "m1", "input", "one")
		if all[1].Content[0].Text != "you said: one" {
			t.Errorf("replay: %+v", all)
		}
		c.wantTypes("error EINVAL, done error", "op", "send", "id", "m2", "input", "three")
	}
	if n := strings.Count(m.messages("default"), "\n"); n != 4 {
		t.Errorf("%d records, want 4: %s", n, m.messages("default"))
	}
	c.wantTypes("start, done ok", "op", "resume", "after", cursor)
	all = c.wantTypes("start, message, message, message, done ok", "op", "resume", "after", 1)
	if all[1].N != 2 || all[1].Role != "assistant" || all[3].Cursor != cursor {
		t.Errorf("resume: %+v", all)
	}
	c.wantTypes("start, message, done ok", "op", "resume", "after", all[2].Cursor)
	for _, bad := range []string{"x", "-1", "9", "1:3", "3:99999", "0:5", "5:0", ":", "1:"} {
		c.wantTypes("error EINVAL, done error", "op", "resume", "after", bad)
	}
	c.wantTypes("error ENOENT, done error", "op", "resume", "session", "nope")
}

// Clients at the same time, several on one session: every message and answer is whole, in the log once, and goes to
// whom it is for.
func TestSocketManyClients(t *testing.T) {
	m := newCoder(t)
	m.serveAgent(echo)
	const clients, each = 8, 12
	var wg sync.WaitGroup
	for i := range clients {
		c := m.client()
		wg.Go(func() {
			for k := range each {
				text := fmt.Sprintf("client %d message %d %s", i, k, strings.Repeat("x", 1000*k))
				all := c.wantTypes("start, delta, delta, message, done ok", "op", "send", "id", fmt.Sprintf("c%d-%d", i, k), "session", fmt.Sprintf("s%d", i%3), "input", text)
				if got := all[3].Content[0].Text; got != "you said: "+text {
					t.Errorf("client %d got %.60q for %.60q", i, got, text)
				}
			}
		})
	}
	wg.Wait()
	users := 0
	for _, s := range []string{"s0", "s1", "s2"} {
		for i, line := range strings.Split(strings.TrimSuffix(m.messages(s), "\n"), "\n") {
			var r struct{ Role, ID string }
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Errorf("%s line %d: %v", s, i+1, err)
			}
			if r.Role == "user" {
				users++
			}
		}
	}
	if users != clients*each {
		t.Errorf("%d user records, want %d", users, clients*each)
	}
}

// The same id on several connections at the same time is one message and one run.
func TestSocketSameIDAtOnce(t *testing.T) {
	m := newCoder(t)
	var mu sync.Mutex
	inputs := 0
	m.serveAgent(func(in frame) string {
		mu.Lock()
		defer mu.Unlock()
		inputs++
		time.Sleep(50 * time.Millisecond)
		return "once"
	})
	var wg sync.WaitGroup
	for range 8 {
		c := m.client()
		wg.Go(func() {
			c.ask("op", "send", "id", "same", "input", "x")
			all, last := c.done()
			text := ""
			for _, f := range all {
				text += f.Text
			}
			if last.Status != "ok" || text != "once" && text != "" || all[len(all)-2].Content[0].Text != "once" {
				t.Errorf("%s: %q", types(all), text)
			}
		})
	}
	wg.Wait()
	if inputs != 1 || strings.Count(m.messages("default"), "\n") != 2 {
		t.Errorf("%d inputs, log: %s", inputs, m.messages("default"))
	}
}

// A run is cancelled by whoever may use its session; its agent is told, and what it still says is passed over.
func TestSocketCancel(t *testing.T) {
	m := newCoder(t)
	a := m.client()
	a.ask("op", "serve")
	a.next()
	c, other := m.client(), m.client()
	c.ask("op", "send", "id", "m1", "session", "s", "input", "long work")
	in, _ := a.next()
	if in.Type != "input" || in.Input != "long work" || in.Session != "s" || *in.UID != uint32(os.Getuid()) || in.CWD != "/" {
		t.Errorf("input: %+v", in)
	}
	if s, _ := os.ReadFile(m.agent + "/session/s/state"); string(s) != "active\n" {
		t.Errorf("state: %q", s)
	}
	a.ask("op", "delta", "run", in.Run, "text", "so far")
	other.wantTypes("error ENOENT, done error", "op", "cancel", "id", "m1") // of the session default
	other.wantTypes("done cancelled", "op", "cancel", "id", "m1", "session", "s")
	if all, _ := c.done(); types(all) != "start, delta, done cancelled" {
		t.Errorf("the sender: %s", types(all))
	}
	if f, _ := a.next(); f.Type != "cancel" || f.Run != in.Run {
		t.Errorf("the agent: %+v", f)
	}
	a.ask("op", "delta", "run", in.Run, "text", "late")
	a.ask("op", "done", "run", in.Run, "text", "too late")
	a.wantTypes("pong", "op", "ping")
	a.ask("op", "delta", "run", "run-of-nobody", "text", "x")
	if f, _ := a.next(); f.Type != "error" || f.Code != "ENOENT" {
		t.Errorf("a run of nobody's: %+v", f)
	}
	c.wantTypes("start, message, done cancelled", "op", "send", "id", "m1", "session", "s", "input", "long work")
	if log := m.messages("s"); strings.Count(log, "\n") != 2 || strings.Contains(log, "late") {
		t.Errorf("log: %s", log)
	}
	// An agent that goes away ends its runs.
	c.ask("op", "send", "id", "m2", "session", "s", "input", "more")
	a.next()
	a.conn.Close()
	if all, _ := c.done(); types(all) != "start, error EHOSTDOWN, done error" {
		t.Errorf("without the agent: %s", types(all))
	}
}

// Who follows sees records of the socket and of plain appends, and what runs say, in order.
func TestSocketFollow(t *testing.T) {
	m := newCoder(t)
	dir := m.agent + "/session/s"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f := m.client()
	f.ask("op", "follow", "id", "f", "session", "s")
	if s, _ := f.next(); s.Type != "start" || s.ID != "f" {
		t.Errorf("start: %+v", s)
	}
	if err := writeTo(dir+"/messages.jsonl", `{"role":"user","content":"by hand"}`+"\n", os.O_WRONLY|os.O_APPEND); err != nil {
		t.Fatal(err)
	}
	if r, _ := f.next(); r.Type != "message" || r.N != 1 || r.Content[0].Text != "by hand" {
		t.Errorf("by hand: %+v", r)
	}
	m.serveAgent(echo, "session", "s")
	m.client().wantTypes("start, delta, delta, message, done ok", "op", "send", "id", "m1", "session", "s", "input", "x")
	var all []frame
	for len(all) == 0 || all[len(all)-1].Type != "done" {
		r, ok := f.next()
		if !ok {
			break
		}
		all = append(all, r)
	}
	count := map[string]int{}
	for _, r := range all {
		count[r.Type+" "+r.Role]++
	}
	if n := len(all); n != 5 || count["message user"] != 1 || count["message assistant"] != 1 || count["delta "] != 2 || all[n-1].Type != "done" || all[n-1].Cursor == "" {
		t.Errorf("follow: %s", types(all)) // where the user's record stands among the deltas is not fixed
	}
	m.client().wantTypes("start, error EHOSTDOWN, done error", "op", "send", "id", "d", "input", "the agent serves s only")
}

// What agents say beside words is passed on, and kept.
func TestSocketAgentFrames(t *testing.T) {
	m := newCoder(t)
	a, c := m.client(), m.client()
	a.ask("op", "serve", "id", "sv")
	a.next()
	a.wantTypes("error EINVAL, done error", "op", "serve")
	c.ask("op", "send", "id", "m1", "input", "x")
	in, _ := a.next()
	a.ask("op", "tool_call", "run", in.Run, "name", "ls", "input", map[string]any{"path": "/"})
	a.ask("op", "message", "run", in.Run, "role", "tool", "content", "bin etc")
	a.ask("op", "usage", "run", in.Run, "input_tokens", 7, "output_tokens", 8)
	a.ask("op", "done", "run", in.Run, "text", "two folders")
	all, _ := c.done()
	if got := types(all); got != "start, tool_call, message, usage, message, done ok" {
		t.Errorf("got %s", got)
	}
	c.ask("op", "send", "id", "m2", "input", "y")
	in, _ = a.next()
	a.ask("op", "error", "run", in.Run, "code", "EACCES", "message", "not allowed")
	if all, _ := c.done(); types(all) != "start, error EACCES, done error" || all[1].Message != "not allowed" {
		t.Errorf("got %+v", all)
	}
	events, err := os.ReadFile(m.agent + "/session/default/events.jsonl")
	for _, want := range []string{`"ctxfs.run.tool_call"`, `"path":"/"`, `"output_tokens":8`, `"code":"EACCES"`} {
		if err != nil || !strings.Contains(string(events), want) {
			t.Errorf("events.jsonl has no %s: %v", want, err)
		}
	}
	if s, _ := os.ReadFile(m.agent + "/session/default/state"); string(s) != "error\n" {
		t.Errorf("state: %q", s)
	}
	if latest, _ := os.ReadFile(m.agent + "/session/default/latest.md"); !strings.Contains(string(latest), "two folders") {
		t.Errorf("latest.md: %q", latest)
	}
}

// A temporary session is in nobody's files, and ends with the connection that made it.
func TestSocketTemp(t *testing.T) {
	m := newCoder(t)
	m.serveAgent(echo)
	c, other := m.client(), m.client()
	c.wantTypes("start, delta, delta, message, done ok", "op", "send", "id", "m1", "scope", "temp", "session", "t", "input", "secret")
	c.wantTypes("start, message, done ok", "op", "send", "id", "m1", "scope", "temp", "session", "t", "input", "secret")
	other.wantTypes("start, message, message, done ok", "op", "resume", "scope", "temp", "session", "t")
	other.wantTypes("error ENOENT, done error", "op", "resume", "session", "t")
	other.ask("op", "follow", "scope", "temp", "session", "t")
	for range 3 {
		other.next()
	}
	if out, err := command("grep", "-rl", "secret", m.store); err == nil {
		t.Errorf("a temporary session is in the store: %s", out)
	}
	if list, _ := os.ReadFile(m.agent + "/session/index/list"); strings.Contains(string(list), "t") {
		t.Errorf("a temporary session is in the index: %s", list)
	}
	c.conn.Close()
	if f, _ := other.next(); f.Type != "done" || f.Status != "cancelled" {
		t.Errorf("the follower: %+v", f)
	}
	other.wantTypes("error ENOENT, done error", "op", "resume", "scope", "temp", "session", "t")
}

// cwd is held to the agent's root before anything is made, and defaults to what the agent's control folder says.
func TestSocketCWD(t *testing.T) {
	m := newCoder(t)
	c := m.client()
	if err := os.MkdirAll(m.agent+"/root/work/deep", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", m.agent+"/root/out"); err != nil {
		t.Fatal(err)
	}
	for cwd, want := range map[string]string{"/nope": "ENOENT", "/etc": "EACCES", "/../etc": "EACCES", "/work/../../..": "EACCES", "/out": "ENOENT", "/work/file": "ENOENT"} {
		c.wantTypes("error "+want+", done error", "op", "send", "id", "m", "session", "new", "cwd", cwd, "input", "x")
	}
	if _, err := os.Stat(m.agent + "/session/new"); err == nil {
		t.Error("a refused send made its session")
	}
	c.wantTypes("start, error EHOSTDOWN, done error", "op", "send", "id", "m", "session", "new", "cwd", "/work/./deep", "input", "x")
	if got, _ := os.ReadFile(m.agent + "/session/new/cwd"); string(got) != "/work/deep\n" {
		t.Errorf("cwd: %q", got)
	}
	if err := os.MkdirAll(m.point+"/agent/coder.d", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.point+"/agent/coder.d/cwd", []byte("/work\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c.wantTypes("start, error EHOSTDOWN, done error", "op", "send", "id", "m", "session", "newer", "input", "x")
	if got, _ := os.ReadFile(m.agent + "/session/newer/cwd"); string(got) != "/work\n" {
		t.Errorf("default cwd: %q", got)
	}
}

// Models have sockets as agents do.
func TestSocketOfModel(t *testing.T) {
	m := newMount(t)
	dir := fmt.Sprintf("%s/home/%d/model/gpt-x.d", m.point, os.Getuid())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	conn, err := dial(m.point+"/model", "gpt-x")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := &client{t: t, conn: conn, in: bufio.NewReader(conn)}
	c.wantTypes("start, error EHOSTDOWN, done error", "op", "send", "id", "m", "input", "x")
	if data, err := os.ReadFile(dir + "/session/default/messages.jsonl"); err != nil || !strings.Contains(string(data), `"content":"x"`) {
		t.Errorf("%s, %v", data, err)
	}
	if out, _ := command("ls", m.point+"/model"); out != "gpt-x.sock\n" {
		t.Errorf("ls: %q", out)
	}
	if _, err := dial(m.point+"/agent", "gpt-x"); err == nil {
		t.Error("the model is found as an agent")
	}
}

// A session that is renamed, deleted or archived while sockets use it: ids are known where the log is.
func TestSocketSessionMoves(t *testing.T) {
	m := newCoder(t)
	m.serveAgent(echo)
	c := m.client()
	send := func(s, want string) {
		t.Helper()
		c.wantTypes(want, "op", "send", "id", "m1", "session", s, "input", "x")
	}
	const fresh, known = "start, delta, delta, message, done ok", "start, message, done ok"
	at := m.agent + "/session/"
	send("a", fresh)
	if err := os.Rename(at+"a", at+"b"); err != nil {
		t.Fatal(err)
	}
	send("b", known)
	send("a", fresh)
	run(t, "session", "archive", at+"b")
	send("b", known)
	c.wantTypes(fresh, "op", "send", "id", "m2", "session", "b", "input", "more")
	all := c.wantTypes("start, message, message, message, message, done ok", "op", "resume", "session", "b")
	if all[3].N != 3 || all[3].Content[0].Text != "more" {
		t.Errorf("after the archive: %+v", all)
	}
	run(t, "session", "delete", "--yes", at+"a")
	c.wantTypes("error ENOENT, done error", "op", "resume", "session", "a")
	send("a", fresh)
}
