package tests

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// temp makes a temporary session by a message, and gives its folder in the mount.
func (c *client) temp(m *mount, name, input string) string {
	c.t.Helper()
	c.ask("op", "send", "id", "first-"+name, "scope", "temp", "session", name, "input", input)
	if all, last := c.done(); len(all) == 0 || all[0].Type != "start" || last.Type != "done" {
		c.t.Fatalf("send: %+v", all)
	}
	return filepath.Join(m.agent, "temp", name)
}

// gone waits until a path is not there.
func gone(t *testing.T, name string) {
	t.Helper()
	for range 400 {
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%s is still there", name)
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// The whole life of a temporary session: it is a folder as any other session's while its connection lasts, and then nothing.
func TestTemp(t *testing.T) {
	m := newCoder(t)
	if got := names(t, m.agent); !slices.Equal(got, []string{"root", "session"}) {
		t.Errorf("before: %v", got)
	}
	var input frame
	m.serveAgent(func(in frame) string { input = in; return "you said: " + in.Input })
	c := m.client()
	dir := c.temp(m, "t", "secret")
	if want := strings.TrimPrefix(dir, m.point+"/"); input.Path != want || input.CWD != "/" {
		t.Errorf("the agent got path %q and cwd %q, want %q", input.Path, input.CWD, want)
	}
	if got := names(t, m.agent); !slices.Equal(got, []string{"root", "session", "temp"}) {
		t.Errorf("its agent's folder: %v", got)
	}
	if got := names(t, filepath.Dir(dir)); !slices.Equal(got, []string{"t"}) {
		t.Errorf("temp: %v", got)
	}
	if got := names(t, dir); !slices.Equal(got, names(t, m.session("other"))) {
		t.Errorf("it has not what a session has: %v", got)
	}
	for file, want := range map[string]string{"messages.jsonl": `"content":"secret"`, "context/pack.md": "secret", "latest.md": "you said: secret",
		"meta.json": `"scope": "temp"`, "events.jsonl": "ctxfs.run.ended", "state": "idle\n", "cwd": "/\n", "context/recall/secret": "secret"} {
		if got := read(t, filepath.Join(dir, file)); !strings.Contains(got, want) {
			t.Errorf("%s: %q", file, got)
		}
	}
	if out, err := exec.Command(program, "pack", dir).CombinedOutput(); err != nil || !strings.Contains(string(out), "secret") {
		t.Errorf("ctxfs pack: %v %s", err, out)
	}
	for _, args := range [][]string{{"sessions", "coder", "--temp"}, {"history", "coder", "--temp", "--session", "t"}, {"latest", "coder", "--temp", "--session", "t"}} {
		if out := run(t, append(args, "--mount", m.point)...); !strings.Contains(out, "secret") && !strings.Contains(out, "/    t\n") {
			t.Errorf("%v: %s", args, out)
		}
	}
	m.hidden(t, "secret")
	if status := read(t, m.point+"/status"); !strings.Contains(status, "temp_sessions: 1\n") {
		t.Errorf("status: %s", status)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-r", dir, copied).CombinedOutput(); err != nil || read(t, copied+"/messages.jsonl") != read(t, dir+"/messages.jsonl") {
		t.Errorf("cp -r: %v %s", err, out)
	}

	c.conn.Close()
	gone(t, dir)
	if got := names(t, m.agent); !slices.Equal(got, []string{"root", "session"}) {
		t.Errorf("after: %v", got)
	}
	m.hidden(t, "secret")
}

// hidden fails the test when text is in a file of the store, or a temporary session in an index.
func (m *mount) hidden(t *testing.T, text string) {
	t.Helper()
	if out, err := command("grep", "-rl", text, m.store); err == nil {
		t.Errorf("a temporary session is in the store: %s", out)
	}
	if out, err := command("find", m.store, "-name", "temp"); err != nil || out != "" {
		t.Errorf("in the store: %s, %v", out, err)
	}
	for _, list := range []string{read(t, m.agent+"/session/index/list"), run(t, "sessions", "coder", "--mount", m.point), run(t, "session", "list", "--store", m.store)} {
		if slices.Contains(strings.Fields(list), "t") {
			t.Errorf("a temporary session is in a list: %s", list)
		}
	}
}

// Files write into a temporary session as into any other, and who follows it sees that.
func TestTempFiles(t *testing.T) {
	m := newCoder(t)
	c, other := m.client(), m.client()
	dir := c.temp(m, "t", "hello")
	other.ask("op", "follow", "scope", "temp", "session", "t")
	for range 2 {
		other.next()
	}
	add(t, dir+"/messages.jsonl", message("assistant", "by hand"))
	if f, _ := other.next(); f.N != 2 || f.Role != "assistant" || len(f.Content) != 1 || f.Content[0].Text != "by hand" {
		t.Errorf("the follower got %+v", f)
	}
	ctx := dir + "/context"
	for i, err := range []error{
		write(ctx+"/budget", "2000\n"), write(dir+"/state", "done\n"), os.Mkdir(ctx+"/child/rev-1", 0o700),
		os.WriteFile(ctx+"/pinned/rules.md", []byte("keep the rules"), 0o600), os.Rename(ctx+"/pinned/rules.md", ctx+"/pinned/r.md"),
		os.WriteFile(ctx+"/todo.md~", []byte("- one thing\n"), 0o600), os.Rename(ctx+"/todo.md~", ctx+"/todo.md"), // as editors do
		os.WriteFile(ctx+"/child/rev-1/result.md", []byte("all is well"), 0o600), os.Chmod(ctx+"/pinned/r.md", 0o644), os.Truncate(ctx+"/pinned/r.md", 8),
		os.WriteFile(ctx+"/pinned/gone", nil, 0o600), os.Remove(ctx + "/pinned/gone"),
	} {
		if err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
	pack := read(t, ctx+"/pack.md")
	for _, want := range []string{"by hand", "- one thing", "keep the"} {
		if !strings.Contains(pack, want) {
			t.Errorf("the pack has no %q: %s", want, pack)
		}
	}
	if got := names(t, ctx+"/pinned"); !slices.Equal(got, []string{"r.md"}) {
		t.Errorf("pinned: %v", got)
	}
	wants(t, "a line that is no object", tryAdd(dir+"/messages.jsonl", "junk\n"), syscall.EINVAL)
	wants(t, "write without O_APPEND", write(dir+"/messages.jsonl", "{}\n"), syscall.EPERM)
	temps := filepath.Dir(dir)
	wants(t, "mkdir in temp", os.Mkdir(temps+"/mine", 0o700), syscall.EPERM)
	wants(t, "rmdir", os.Remove(dir), syscall.EPERM)
	wants(t, "rename", os.Rename(dir, temps+"/u"), syscall.EPERM)
	wants(t, "rename into sessions", os.Rename(dir, m.agent+"/session/u"), syscall.EPERM)
	wants(t, "rmdir of temp", os.Remove(temps), syscall.EPERM)
	wants(t, "mkdir of temp elsewhere", os.Mkdir(m.agent+"/temp2", 0o700), syscall.EPERM)
	for _, order := range []string{"delete", "archive"} {
		wants(t, order, unix.Setxattr(dir, "user.ctxfs.do", []byte(order), 0), syscall.EPERM)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || os.Getuid() == 0 && st.Blocks*uint64(st.Bsize) != 256<<20 {
		t.Errorf("statfs: %+v, %v", st, err)
	}
	if out, err := command("bash", "-c", "cd "+dir+" && echo '{}' >> messages.jsonl && getfattr -n user.ctxfs.tokens --only-values messages.jsonl"); err != nil || out == "0" {
		t.Errorf("tokens: %s, %v", out, err)
	}
}

// Names are a scope's own, and a name is free when its session has ended.
func TestTempNames(t *testing.T) {
	m := newCoder(t)
	private := m.session("t")
	add(t, private+"/messages.jsonl", message("user", "for ever"))
	for round := range 30 {
		c := m.client()
		dir := c.temp(m, "t", fmt.Sprintf("round %d", round))
		if log := read(t, dir+"/messages.jsonl"); strings.Count(log, "\n") != 1 || !strings.Contains(log, fmt.Sprintf(`"round %d"`, round)) {
			t.Fatalf("round %d: %s", round, log)
		}
		if pack := read(t, dir+"/context/pack.md"); !strings.Contains(pack, fmt.Sprintf("round %d\n", round)) {
			t.Errorf("round %d: %s", round, pack)
		}
		if err := os.WriteFile(dir+"/context/pinned/p", []byte("x"), 0o600); err != nil {
			t.Error(err)
		}
		c.conn.Close()
		gone(t, dir)
	}
	if log := read(t, private+"/messages.jsonl"); log != message("user", "for ever") {
		t.Errorf("the private session of that name: %s", log)
	}
	// A model's.
	if err := os.MkdirAll(m.point+"/model/gpt.d", 0o700); err != nil {
		t.Fatal(err)
	}
	conn, err := dial(m.point+"/model", "gpt")
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, conn: conn, in: bufio.NewReader(conn)}
	c.temp(m, "t", "to a model")
	dir := fmt.Sprintf("%s/home/%d/model/gpt.d", m.point, os.Getuid())
	if log := read(t, dir+"/temp/t/messages.jsonl"); !strings.Contains(log, "to a model") {
		t.Errorf("a model's: %s", log)
	}
	conn.Close()
	gone(t, dir)
}

// A temporary session is its owner's: no second user sees it, and of an agent that a user has no folder of, it is there too.
func TestTempOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		skip(t, "two users need root")
	}
	m := newCoder(t, "--allow-other")
	openPath(t, filepath.Dir(m.point))
	if err := os.Mkdir(m.point+"/agent/coder.d", 0o755); err != nil {
		t.Fatal(err)
	}
	m.serveAgent(func(in frame) string { // root's, which serves all
		pack, err := os.ReadFile(filepath.Join(m.point, in.Path, "context/pack.md"))
		return fmt.Sprint("the pack has it: ", err == nil && strings.Contains(string(pack), in.Input))
	})
	home := fmt.Sprintf("%s/home/%d", m.point, alice)
	dir := home + "/agent/coder/temp/t"
	a := m.holdAs(alice, "coder")
	if out := a.say(`{"op":"send","id":"m1","scope":"temp","session":"t","input":"only mine"}`); !strings.Contains(out, `"type":"start"`) {
		t.Fatal(out)
	}
	sh := func(uid uint32, cmd string) string {
		out, err := asUser(uid, "bash", "-c", cmd).CombinedOutput()
		return fmt.Sprint(string(out), err)
	}
	for range 400 { // the answer is on its way
		if strings.Contains(sh(alice, "cat "+dir+"/latest.md"), "the pack has it") {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	for cmd, want := range map[string]string{
		"cat " + dir + "/context/pack.md": "only mine", "cat " + dir + "/latest.md": "the pack has it: true",
		"ls " + home + "/agent": "coder\n", "ls " + home + "/agent/coder": "root\nsession\ntemp\n", "ls " + filepath.Dir(dir): "t\n",
		"echo '{}' >> " + dir + "/messages.jsonl && wc -l < " + dir + "/messages.jsonl": "3\n", "stat -c %u:%a " + dir: "64001:700",
	} {
		if got := sh(alice, cmd); !strings.HasPrefix(got, want) && !strings.Contains(got, want) || !strings.HasSuffix(got, "<nil>") {
			t.Errorf("the owner: %s: %s", cmd, got)
		}
	}
	for _, cmd := range []string{"cat " + dir + "/messages.jsonl", "ls " + filepath.Dir(dir), "ls " + home, "echo '{}' >> " + dir + "/messages.jsonl", "stat " + dir} {
		if got := sh(bob, cmd); strings.HasSuffix(got, "<nil>") || strings.Contains(got, "only mine") {
			t.Errorf("a second user: %s: %s", cmd, got)
		}
	}
	if out := m.framesAs(bob, "coder", `{"op":"resume","scope":"temp","session":"t"}`+"\n"); !strings.Contains(out, "ENOENT") {
		t.Errorf("a second user resumes: %s", out)
	}
	a.end()
	gone(t, dir)
	if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the user's home stays: %v", err)
	}
	m.hidden(t, "only mine")
}
