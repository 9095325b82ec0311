package tests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	if out, err := exec.Command(program, "pack", dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "read its context/pack.md") {
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

// It ends with the connection that made it, and with no other.
func TestTempOfTwoConnections(t *testing.T) {
	m := newCoder(t)
	a, b := m.client(), m.client()
	dir := a.temp(m, "t", "one")
	b.ask("op", "send", "id", "m2", "scope", "temp", "session", "t", "input", "two")
	b.done()
	b.conn.Close()
	time.Sleep(50 * time.Millisecond)
	if log := read(t, dir+"/messages.jsonl"); strings.Count(log, "\n") != 2 {
		t.Errorf("got %s", log)
	}
	a.conn.Close()
	gone(t, dir)
}

// Files that are open when it ends give what they have, and take nothing more.
func TestTempOpenFiles(t *testing.T) {
	m := newCoder(t)
	c := m.client()
	dir := c.temp(m, "t", "hello")
	if err := os.WriteFile(dir+"/context/pinned/p", []byte("pinned"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(name string, flags int) *os.File {
		f, err := os.OpenFile(filepath.Join(dir, name), flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	log, pack, pin := open("messages.jsonl", os.O_RDONLY), open("context/pack.md", os.O_RDONLY), open("context/pinned/p", os.O_RDWR)
	writer, state, folder := open("events.jsonl", os.O_WRONLY|os.O_APPEND), open("state", os.O_WRONLY), open(".", os.O_RDONLY)
	whole := read(t, dir+"/messages.jsonl")
	sleeper := exec.Command("sleep", "60")
	sleeper.Dir = dir
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()

	c.conn.Close()
	gone(t, dir)
	buf := make([]byte, len(whole))
	if _, err := log.ReadAt(buf, 0); err != nil || string(buf) != whole {
		t.Errorf("the log: %q, %v", buf, err)
	}
	if n, err := pack.ReadAt(buf, 0); n == 0 || err != nil && err != io.EOF {
		t.Errorf("the pack: %d, %v", n, err)
	}
	if n, err := pin.ReadAt(buf[:6], 0); n != 6 || string(buf[:6]) != "pinned" {
		t.Errorf("a plain file: %q, %v", buf[:6], err)
	}
	_, err := writer.WriteString("{}\n")
	wants(t, "append", err, syscall.ESTALE)
	_, err = state.WriteString("done\n")
	wants(t, "a control file", err, syscall.ENOENT)
	_, err = unix.Openat(int(folder.Fd()), "messages.jsonl", unix.O_RDONLY, 0)
	wants(t, "open from inside", err, syscall.ENOENT, syscall.ESTALE)
	_, err = unix.Openat(int(folder.Fd()), "context/pinned/new", unix.O_RDWR|unix.O_CREAT, 0o600)
	wants(t, "create from inside", err, syscall.ENOENT, syscall.ESTALE)
	_, err = os.Stat(fmt.Sprintf("/proc/%d/cwd/messages.jsonl", sleeper.Process.Pid))
	wants(t, "stat from a process inside", err, syscall.ENOENT, syscall.ESTALE)
	again := m.client()
	again.temp(m, "t", "another")
	_, err = unix.Openat(int(folder.Fd()), "messages.jsonl", unix.O_RDONLY, 0)
	wants(t, "open from inside the old one", err, syscall.ENOENT, syscall.ESTALE)
}

// A user has 64, of all agents together; another connection may have others of them.
func TestTempLimit(t *testing.T) {
	m := newCoder(t)
	c, other := m.client(), m.client()
	for i := range 64 {
		c.temp(m, fmt.Sprint("t", i), "x")
	}
	other.wantTypes("error EAGAIN, done error", "op", "send", "id", "m", "scope", "temp", "session", "more", "input", "x")
	if got := names(t, m.agent+"/temp"); len(got) != 64 {
		t.Errorf("%d", len(got))
	}
	c.conn.Close()
	gone(t, m.agent+"/temp")
	other.temp(m, "more", "x")
}

// One user fills the memory that there is for them: it is ENOSPC for them, by files and by sockets, and nothing to others.
func TestTempFull(t *testing.T) {
	if os.Getuid() != 0 {
		skip(t, "two users need root")
	}
	m := newCoder(t, "--allow-other")
	openPath(t, filepath.Dir(m.point))
	for _, dir := range []string{m.point + "/agent/coder.d"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := m.client()
	dir := c.temp(m, "t", "x")
	other := c.temp(m, "u", "x")
	big := message("user", strings.Repeat("x", 1<<20-100))
	var err error
	lines := 0
	for ; err == nil && lines < 300; lines++ {
		err = tryAdd(dir+"/messages.jsonl", big)
	}
	wants(t, "a file that fills the memory", err, syscall.ENOSPC)
	if lines < 200 {
		t.Errorf("it was full after %d MB", lines)
	}
	if st, err := os.Stat(dir + "/messages.jsonl"); err != nil || st.Size()%int64(len(big)) > 1000 {
		t.Errorf("half a line is in the log: %v, %v", st.Size(), err)
	}
	for err = nil; err == nil; { // the rest, in small pieces
		err = tryAdd(dir+"/messages.jsonl", big[:20]+big[len(big)-3:])
	}
	wants(t, "the last bytes", err, syscall.ENOSPC)
	c.wantTypes("error ENOSPC, done error", "op", "send", "id", "m", "scope", "temp", "session", "u", "input", strings.Repeat("y", 10000))
	wants(t, "a pinned file", os.WriteFile(other+"/context/pinned/p", make([]byte, 1<<20), 0o600), syscall.ENOSPC)

	eve := m.holdAs(bob, "coder")
	if out := eve.say(`{"op":"send","id":"m","scope":"temp","session":"t","input":"has room"}`); !strings.Contains(out, `"n":1`) {
		t.Errorf("another user: %s", out)
	}
	add(t, m.session("private")+"/messages.jsonl", message("user", "has room too"))
	eve.end()
	c.conn.Close()
	gone(t, dir)
	again := m.client().temp(m, "t", "x") + "/messages.jsonl"
	for range 400 { // what was open is closed by now
		if err = tryAdd(again, big); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("there is no room again: %v", err)
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

// storm works in temporary sessions, while others make and end them, until stop is called.
func (m *mount) storm() (stop func()) {
	end := make(chan bool)
	var wg sync.WaitGroup
	for i := range 4 {
		dir := fmt.Sprintf("%s/temp/s%d", m.agent, i%2)
		wg.Go(func() {
			for k := 0; ; k++ {
				select {
				case <-end:
					return
				default:
				}
				// Each can find that the session has ended.
				_ = tryAdd(dir+"/messages.jsonl", message("user", "by a file"))
				_, _ = os.ReadFile(dir + "/context/pack.md")
				_ = os.WriteFile(fmt.Sprintf("%s/context/pinned/p%d", dir, k%50), []byte("x"), 0o600)
				_ = os.Rename(fmt.Sprintf("%s/context/pinned/p%d", dir, k%50), dir+"/context/pinned/q")
				_ = os.MkdirAll(dir+"/context/child/c", 0o700)
				_, _ = os.ReadDir(dir + "/context/pinned")
				_, _ = os.ReadFile(dir + "/context/recall/file")
				_ = write(dir+"/context/budget", "900\n")
				_, _ = os.ReadDir(m.agent)
			}
		})
	}
	return func() { close(end); wg.Wait() }
}

// Sessions come and end while programs work in them: no request waits for ever, and nothing is left.
func TestTempStorm(t *testing.T) {
	m := newCoder(t)
	first := m.client()
	used, files := inUse(t, first.temp(m, "alone", "x"))
	first.conn.Close()
	stop := m.storm()
	for round := range 60 {
		c := m.client()
		c.temp(m, fmt.Sprint("s", round%2), "x")
		if round%4 == 0 {
			time.Sleep(20 * time.Millisecond)
		}
		c.conn.Close()
	}
	stop()
	gone(t, m.agent+"/temp")
	c := m.client()
	defer c.conn.Close()
	dir := c.temp(m, "alone", "x")
	for range 200 {
		if now, n := inUse(t, dir); now <= used && n <= files {
			return
		}
		time.Sleep(10 * time.Millisecond) // what was open is closed by now
	}
	now, n := inUse(t, dir)
	t.Errorf("with one session there were %d bytes in %d files, and now %d in %d", used, files, now, n)
}

// inUse tells how much of the memory for temporary sessions is used, in bytes and files, where it is theirs alone.
func inUse(t *testing.T, dir string) (bytes, files uint64) {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		return 0, 0
	}
	return (st.Blocks - st.Bfree) * uint64(st.Bsize), st.Files - st.Ffree
}

// The daemon can be killed at any time in that, and nothing is left.
func TestTempKilledInAStorm(t *testing.T) {
	m := newCoder(t)
	for round := range 5 {
		stop := m.storm()
		ended := make(chan bool)
		go func() {
			defer close(ended)
			for k := 0; ; k++ {
				conn, err := dial(m.point+"/agent", "coder")
				if err != nil {
					return
				}
				fmt.Fprintf(conn, `{"op":"send","id":"m","scope":"temp","session":"s%d","input":"x"}`+"\n", k%2)
				_, err = bufio.NewReader(conn).ReadBytes('\n')
				conn.Close()
				if err != nil {
					return
				}
			}
		}()
		time.Sleep(time.Duration(100+53*round) * time.Millisecond)
		if err := m.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = m.cmd.Wait()
		<-ended
		stop()
		_ = syscall.Unmount(m.point, syscall.MNT_DETACH)
		m.start()
		if got := names(t, m.agent); slices.Contains(got, "temp") {
			t.Errorf("round %d: %v", round, got)
		}
	}
}

// After a SIGKILL nothing is left, in memory or on disk, also while somebody has a file open.
func TestTempKilled(t *testing.T) {
	m := newCoder(t)
	c := m.client()
	dir := c.temp(m, "t", "secret")
	add(t, dir+"/messages.jsonl", strings.Repeat(message("user", strings.Repeat("x", 1<<20)), 64))
	used := shmem(t)
	f, err := os.Open(dir + "/messages.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = m.cmd.Wait()
	f.Close()
	_ = syscall.Unmount(m.point, syscall.MNT_DETACH)
	m.start()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	m.hidden(t, "secret")
	for range 1000 { // other programs of the host use some too
		if shmem(t) < used-40<<10 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("file systems have %d KiB of memory, and %d before the daemon was killed", shmem(t), used)
}

// shmem is how much of the host's memory file systems have, in KiB.
func shmem(t *testing.T) (n int) {
	t.Helper()
	for line := range strings.Lines(read(t, "/proc/meminfo")) {
		if _, err := fmt.Sscanf(line, "Shmem: %d kB", &n); err == nil {
			return n
		}
	}
	t.Fatal("no Shmem in /proc/meminfo")
	return 0
}
