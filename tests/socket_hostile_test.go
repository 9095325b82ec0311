package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Frames that are wrong are told so, and the connection goes on.
func TestSocketGarbage(t *testing.T) {
	m := newCoder(t)
	c := m.client()
	big := strings.Repeat("x", 1<<20)
	for _, bad := range []struct{ frame, code string }{
		{"", "EINVAL"}, {"hello", "EINVAL"}, {"\x00\x00", "EINVAL"}, {"{", "EINVAL"}, {"[]", "EINVAL"}, {`{"op":"sing"}`, "EINVAL"}, {"\xff\xfe", "EINVAL"},
		{"\xef\xbb\xbf{\"op\":\"ping\"}", "EINVAL"}, {"{\"op\":\"ping\",\"x\":\"\x1b\"}", "EINVAL"}, {"{\"op\":\"send\",\"id\":\"a\",\"input\":\"\xff\"}", "EINVAL"},
		{`{"op":"ping","op":"sing"}`, "EINVAL"}, {`{"op":["ping"]}`, "EINVAL"}, {`{"op":"send","id":"a","input":1e400}`, "EINVAL"}, {`{"op":"send","id":"a\ud800","input":7}`, "EINVAL"},
		{`{"op":"send","id":"a","input":"` + big + `"}`, "EMSGSIZE"}, {big + big + big, "EMSGSIZE"}, {strings.Repeat("[", 1<<20), "EINVAL"},
		{`{"op":"send","id":"a","input":` + strings.Repeat("[", 1<<19) + strings.Repeat("]", 1<<19-50) + `}`, "EINVAL"},
		{`{"op":"send","id":"a","input":"x\u0000"}`, "EINVAL"}, {`{"op":"send","id":"a","session":"../../x","input":"x"}`, "EINVAL"},
		{`{"op":"send","id":"a","scope":"shared","share":"..","input":"x"}`, "EINVAL"}, {`{"op":"send","id":"a","scope":"shared","share":"nope","input":"x"}`, "ENOENT"},
	} {
		c.raw(bad.frame + "\n")
		all, _ := c.done()
		if types(all) != "error "+bad.code+", done error" || all[0].ID == "" {
			t.Errorf("%.40q: %s %+v", bad.frame, types(all), all)
		}
	}
	for _, odd := range []string{"{\"op\":\"ping\"}\r", ` {"op":"sing","op":"ping"} `, `{"op":"ping","n":-1e400,"m":` + strings.Repeat("9", 400) + `}`, `{` + strings.Repeat(`"k":{},`, 100_000) + `"op":"ping"}`} {
		c.raw(odd + "\n")
		if all, _ := c.done(); types(all) != "pong" {
			t.Errorf("%.40q: %s %+v", odd, types(all), all)
		}
	}
	c.raw(`{"op":"send","id":"half","input":"half\ud800\u2028\u001b[2J"}` + "\n")
	all, _ := c.done()
	if log := strings.TrimSpace(read(t, m.agent+"/session/"+all[0].Session+"/messages.jsonl")); !json.Valid([]byte(log)) || strings.Count(log, "\n") > 0 || !strings.Contains(log, "half\ufffd") && !strings.Contains(log, `half\ud800`) {
		t.Errorf("%s: %q", types(all), log)
	}
	// A frame of the largest size is taken, and comes back cut, with the way to the whole.
	most := strings.Repeat("y", 1<<20-60)
	c.wantTypes("start, error EHOSTDOWN, done error", "op", "send", "id", "big", "input", most)
	all = c.wantTypes("start, message, message, done ok", "op", "resume")
	all = all[1:]
	if !all[1].Truncated || all[1].Path == "" {
		t.Fatalf("the message is not cut: %d bytes", len(all[1].Content[0].Text))
	}
	if whole, err := os.ReadFile(filepath.Join(m.point, all[1].Path)); err != nil || !strings.Contains(string(whole), most) {
		t.Errorf("%s: %v, %d bytes", all[1].Path, err, len(whole))
	}
	// A frame without end ends the connection.
	for range 40 {
		if _, err := io.WriteString(c.conn, big); err != nil {
			break
		}
	}
	if f, ok := c.next(); ok && f.Code != "EMSGSIZE" {
		t.Errorf("a frame without end: %+v", f)
	}
}

// A client that says its last word still gets its answer, and the last line needs no '\n'.
func TestSocketHalfOpen(t *testing.T) {
	m := newCoder(t)
	m.serveAgent(func(in frame) string { time.Sleep(100 * time.Millisecond); return "patience" })
	c := m.client()
	c.raw(`{"op":"send","id":"m1","input":"x"}`)
	if err := c.conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if all, _ := c.done(); types(all) != "start, delta, delta, message, done ok" {
		t.Errorf("got %s", types(all))
	}
	if f, ok := c.next(); ok {
		t.Errorf("after the end: %+v", f)
	}
	// Followers that went away without a word are noticed.
	for range 20 {
		f := m.client()
		f.ask("op", "follow")
		f.next()
		_ = f.conn.CloseWrite()
		f.conn.Close()
	}
}

// A client that never reads delays nobody, and is told why it was dropped.
func TestSocketStalledClient(t *testing.T) {
	m := newCoder(t)
	chunk := strings.Repeat("z", 100<<10)
	m.serveAgent(func(in frame) string { return chunk })
	c := m.client()
	c.wantTypes("start, delta, delta, message, done ok", "op", "send", "id", "m0", "input", "x")
	stalled, flooded := m.client(), m.client()
	stalled.ask("op", "follow")
	wrote := make(chan bool)
	go func() { // asks and never reads: its own writes stop, nobody else's
		defer close(wrote)
		_ = flooded.conn.SetWriteDeadline(time.Now().Add(3 * time.Second))
		for range 1 << 20 {
			if _, err := io.WriteString(flooded.conn, `{"op":"resume"}`+"\n"); err != nil {
				return
			}
		}
	}()
	slowest := time.Duration(0)
	for i := range 60 {
		start := time.Now()
		c.wantTypes("start, delta, delta, message, done ok", "op", "send", "id", fmt.Sprintf("m%d", i+1), "input", "x")
		slowest = max(slowest, time.Since(start))
	}
	t.Logf("the slowest of 60 sends beside two clients that do not read: %v", slowest)
	<-wrote
	var last frame
	for {
		f, ok := stalled.next()
		if !ok {
			break
		}
		last = f
	}
	if last.Type != "error" || last.Code != "EAGAIN" {
		t.Errorf("the stalled client's last frame: %s %s %s", last.Type, last.Code, last.Message)
	}
}

// One user's connections are limited, and are free again when they end.
func TestSocketConnectionLimit(t *testing.T) {
	m := newCoder(t)
	var open []*client
	refused := 0
	for range 80 {
		c := m.client()
		_, _ = io.WriteString(c.conn, `{"op":"ping"}`+"\n") // one that is refused may be gone already
		f, _ := c.next()
		switch {
		case f.Type == "pong":
			open = append(open, c)
		case f.Code == "EAGAIN":
			refused++
		default:
			t.Errorf("got %+v", f)
		}
	}
	if len(open) != 64 || refused != 16 {
		t.Errorf("%d connections, %d refused", len(open), refused)
	}
	for _, c := range open {
		c.conn.Close()
	}
	for range 100 {
		c := m.client()
		_, _ = io.WriteString(c.conn, `{"op":"ping"}`+"\n")
		if f, _ := c.next(); f.Type == "pong" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("connections that ended are not free again")
}

// Nothing but the daemon makes sockets in the tree, and its sockets cannot be taken away.
func TestSocketNodes(t *testing.T) {
	m := newCoder(t)
	for _, dir := range []string{"agent", "model", "home/" + fmt.Sprint(os.Getuid()), "agent/coder.d", ".ctxfs-sockets"} {
		if dir == "agent/coder.d" {
			if err := os.Mkdir(filepath.Join(m.point, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Mknod(filepath.Join(m.point, dir, "evil.sock"), syscall.S_IFSOCK|0o666, 0); err == nil {
			t.Errorf("mknod in %s works", dir)
		}
	}
	sock := m.point + "/agent/coder.sock"
	if err := os.Remove(sock); err == nil {
		t.Error("a socket can be unlinked")
	}
	if err := os.Rename(sock, m.point+"/agent/other.sock"); err == nil {
		t.Error("a socket can be renamed")
	}
	if _, err := os.ReadFile(sock); err == nil {
		t.Error("a socket can be read")
	}
	if _, err := os.Lstat(m.point + "/.ctxfs-sockets"); err == nil {
		t.Error("the folder of sockets can be found")
	}
	for _, name := range []string{"nobody.sock", ".sock", "..sock", "coder.sock.sock", strings.Repeat("x", 80) + ".sock"} {
		if _, err := os.Lstat(m.point + "/agent/" + name); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	if out, err := command("ls", m.point+"/agent"); err != nil || out != "coder.d\ncoder.sock\n" {
		t.Errorf("ls: %q, %v", out, err)
	}
	m.client().wantTypes("pong", "op", "ping")
}

// The daemon is killed while it binds a socket in its own mount: it dies, and the mount can be freed.
func TestSocketKilledWhileBinding(t *testing.T) {
	m := newCoder(t)
	const names = 40
	for i := range names {
		if err := os.MkdirAll(fmt.Sprintf("%s/home/%d/agent/a%d/session", m.point, os.Getuid(), i), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 5 {
		var wg sync.WaitGroup
		for i := range names {
			wg.Go(func() { _, _ = os.Lstat(fmt.Sprintf("%s/agent/a%d.sock", m.point, i)) })
		}
		time.Sleep(time.Duration(round) * time.Millisecond)
		if err := m.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		gone := make(chan error, 1)
		go func() { gone <- m.cmd.Wait() }()
		select {
		case <-gone:
		case <-time.After(20 * time.Second):
			t.Fatal("the daemon cannot be killed")
		}
		wg.Wait()
		_ = syscall.Unmount(m.point, syscall.MNT_DETACH)
		m.start()
	}
}

// A mount with connections is busy for umount(2); `ctxfs umount` lets go of them.
func TestSocketUmount(t *testing.T) {
	if os.Getuid() != 0 {
		skip(t, "umount(2) needs root")
	}
	m := newCoder(t)
	c := m.client()
	c.wantTypes("pong", "op", "ping")
	wants(t, "umount with a connection", syscall.Unmount(m.point, 0), syscall.EBUSY)
	c.wantTypes("pong", "op", "ping")
	run(t, "umount", m.point)
	if _, ok := c.next(); ok {
		t.Error("the connection outlived the mount")
	}
	if err := m.cmd.Wait(); err != nil {
		t.Errorf("the daemon: %v %s", err, m.log)
	}
	m.start()
	// Without connections it is free a moment after the last lookup.
	if _, err := os.Stat(m.point + "/agent/coder.sock"); err != nil {
		t.Fatal(err)
	}
	var err error
	for range 300 {
		if err = syscall.Unmount(m.point, 0); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Errorf("umount of an idle socket's mount: %v", err)
	}
	_ = m.cmd.Wait()
	m.start()
}

// Who a peer is, the kernel says: users use their own sessions, and no field of a frame changes that.
func TestSocketUsers(t *testing.T) {
	if os.Getuid() != 0 {
		skip(t, "a system mount needs root")
	}
	m := newMount(t, "--allow-other")
	openPath(t, filepath.Dir(m.point))
	openPath(t, filepath.Dir(m.store))
	const alice, bob = 64001, 64002
	if err := os.MkdirAll(m.point+"/agent/coder.d", 0o755); err != nil { // registered: everybody finds its socket
		t.Fatal(err)
	}
	send := func(id string) string {
		return `{"op":"send","id":"` + id + `","session":"s","input":"secret of ` + id + `","uid":64001,"gid":0,"pid":1,"user":"alice"}` + "\n"
	}
	if out := m.framesAs(alice, "coder", send("alice")); !strings.Contains(out, `"n":1,`) {
		t.Errorf("alice: %s", out)
	}
	st, err := os.Stat(m.store + "/home/64001/agent/coder/session/s/messages.jsonl")
	if err != nil || st.Sys().(*syscall.Stat_t).Uid != alice || st.Mode().Perm() != 0o600 {
		t.Errorf("alice's log: %v, %v", st, err)
	}
	for _, q := range []string{`{"op":"resume","session":"s"}`, `{"op":"resume","session":"s","uid":64001}`, `{"op":"follow","session":"s","scope":"temp"}`,
		`{"op":"cancel","id":"alice","session":"s"}`, `{"op":"resume"}`, `{"op":"resume","scope":"shared","share":"64001","session":"s"}`} {
		if out := m.framesAs(bob, "coder", q+"\n"); strings.Contains(out, "secret") || !strings.Contains(out, "ENOENT") {
			t.Errorf("bob asked %s: %s", q, out)
		}
	}
	if out := m.framesAs(bob, "coder", send("bob")); !strings.Contains(out, `"n":1,`) {
		t.Errorf("bob's own: %s", out)
	}
	if st, err := os.Stat(m.store + "/home/64002/agent/coder/session/s/messages.jsonl"); err != nil || st.Sys().(*syscall.Stat_t).Uid != bob {
		t.Errorf("bob's log: %v", err)
	}
	// bob's agent gets nothing of alice's; root's serves her.
	stop := make(chan bool)
	eve := asUser(bob, filepath.Join(filepath.Dir(program), "tests"))
	eve.Env = []string{"CTXFS_TEST_CONNECT=" + m.point + "/agent/coder.sock"}
	in, err := eve.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var heard strings.Builder
	eve.Stdout = &heard
	if err := eve.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, `{"op":"serve","uid":0}`)
	go func() { defer close(stop); _ = eve.Wait() }()
	time.Sleep(300 * time.Millisecond)
	if out := m.framesAs(alice, "coder", send("alice2")); !strings.Contains(out, "EHOSTDOWN") {
		t.Errorf("alice's message found an agent: %s", out)
	}
	m.serveAgent(func(in frame) string { return fmt.Sprintf("root's agent for %d", *in.UID) })
	if out := m.framesAs(alice, "coder", send("alice3")); !strings.Contains(out, "root's agent for 64001") {
		t.Errorf("alice and root's agent: %s", out)
	}
	in.Close()
	_ = eve.Process.Kill()
	<-stop
	if strings.Contains(heard.String(), "secret") {
		t.Errorf("bob's agent heard: %s", heard.String())
	}
	// An agent in alice's home only has a socket for her only.
	if out, err := asUser(alice, "mkdir", "-p", m.point+"/home/64001/agent/mine/session").CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	if out := m.framesAs(alice, "mine", `{"op":"ping"}`+"\n"); !strings.Contains(out, "pong") {
		t.Errorf("alice's own agent: %s", out)
	}
	if out := m.framesAs(bob, "mine", `{"op":"ping"}`+"\n"); !strings.Contains(out, "no such file") {
		t.Errorf("bob finds alice's agent: %s", out)
	}
	if out, _ := asUser(bob, "ls", m.point+"/agent").CombinedOutput(); strings.Contains(string(out), "mine") {
		t.Errorf("bob lists alice's agent: %s", out)
	}
}

// A share's sessions are for its group, by the kernel's own rules.
func TestSocketShare(t *testing.T) {
	if os.Getuid() != 0 {
		skip(t, "a share of two users needs root")
	}
	m := newMount(t, "--allow-other")
	openPath(t, filepath.Dir(m.point))
	const group = 64100
	share := m.point + "/shared/team"
	for _, cmd := range [][]string{{"mkdir", share}, {"chgrp", fmt.Sprint(group), share}, {"chmod", "2770", share}, {"mkdir", m.point + "/agent/coder.d"}} {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", cmd, out)
		}
	}
	m.framesAs(64001, "coder", `{"op":"ping"}`+"\n") // makes the helper
	as := func(uid uint32, groups []uint32, lines string) string {
		c := asUser(uid, filepath.Join(filepath.Dir(program), "tests"))
		c.SysProcAttr.Credential.Groups = groups
		return m.connectWith(c, "coder", lines+"\n")
	}
	send := `{"op":"send","id":"m1","scope":"shared","share":"team","session":"s","input":"for us"}`
	if out := as(64002, nil, send); !strings.Contains(out, "EACCES") {
		t.Errorf("a stranger sends: %s", out)
	}
	if _, err := os.Stat(m.store + "/shared/team/agent"); err == nil {
		t.Error("a refused send made something")
	}
	if out := as(64001, []uint32{group}, send); !strings.Contains(out, `"n":1,`) {
		t.Errorf("a member sends: %s", out)
	}
	st, err := os.Stat(m.store + "/shared/team/agent/coder/session/s/messages.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if own := st.Sys().(*syscall.Stat_t); own.Uid != 64001 || own.Gid != group || st.Mode().Perm() != 0o660 {
		t.Errorf("the log: uid %d gid %d %v", own.Uid, own.Gid, st.Mode())
	}
	resume := `{"op":"resume","scope":"shared","share":"team","session":"s"}`
	if out := as(64003, []uint32{group}, resume); !strings.Contains(out, "for us") {
		t.Errorf("another member resumes: %s", out)
	}
	if out := as(64003, []uint32{group}, strings.Replace(send, "m1", "m2", 1)); !strings.Contains(out, `"n":2,`) {
		t.Errorf("another member sends: %s", out)
	}
	if out := as(64003, []uint32{group}, send); !strings.Contains(out, "EINVAL") {
		t.Errorf("another member's id is taken: %s", out)
	}
	for _, q := range []string{resume, `{"op":"follow","scope":"shared","share":"team"}`, `{"op":"cancel","id":"m1","scope":"shared","share":"team","session":"s"}`} {
		if out := as(64002, nil, q); !strings.Contains(out, "EACCES") || strings.Contains(out, "for us") {
			t.Errorf("a stranger asks %s: %s", q, out)
		}
	}
	if err := os.Chmod(share+"/agent/coder/session/s", 0o2750); err == nil {
		if out := as(64003, []uint32{group}, strings.Replace(send, "m1", "m3", 1)); !strings.Contains(out, "EACCES") {
			t.Errorf("a session that the group may not write: %s", out)
		}
	} else {
		t.Logf("chmod of a session: %v", err)
	}
}

// A daemon that has no descriptor left goes on when there are some again.
func TestSocketDescriptorsRunOut(t *testing.T) {
	m := newCoder(t)
	c := m.client()
	c.wantTypes("start, error EHOSTDOWN, done error", "op", "send", "id", "m1", "input", "x")
	pid := m.worker()
	var old unix.Rlimit
	few := unix.Rlimit{Cur: uint64(m.fds() + 12), Max: 1 << 16}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		t.Fatal(err)
	}
	few.Max = old.Max
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &few, nil); err != nil {
		t.Fatal(err)
	}
	var open []net.Conn
	for range 40 {
		if conn, err := dial(m.point+"/agent", "coder"); err == nil {
			open = append(open, conn)
		}
	}
	c.wantTypes("pong", "op", "ping") // who is connected is served
	for _, conn := range open {
		conn.Close()
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &old, nil); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if conn, err := dial(m.point+"/agent", "coder"); err == nil {
			conn.Close()
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	m.client().wantTypes("start, error EHOSTDOWN, done error", "op", "send", "id", "m2", "input", "y")
	if n := strings.Count(m.messages("default"), "\n"); n != 2 {
		t.Errorf("%d records", n)
	}
}
