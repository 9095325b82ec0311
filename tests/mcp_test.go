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
	"testing"
	"time"

	"ctxfs/tests/testhost"
)

// npmModules installs what a folder's package-lock.json names from npm, and gives a folder to run its script in.
func npmModules(t *testing.T, from, script string) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		skip(t, "no npm here: %v", err)
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", script} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	return dir
}

// The protocol's own TypeScript client uses every part of the server, over standard input and output and over HTTP.
func TestMCP(t *testing.T) {
	testhost.Rare(t)
	notUnderRace(t)
	m := newMount(t)
	modules := npmModules(t, "testdata/mcp", "client.mjs")
	log := m.session("decimal") + "/messages.jsonl"
	add(t, log, conversation(40))
	add(t, log, message("user", "why does the EXPORT-BUG happen?"))
	long := m.session("long") + "/messages.jsonl"
	for i := range 200 {
		add(t, long, message("user", fmt.Sprintf("part %d of the export bug: %s", i, strings.Repeat("a number with a comma ", 60))))
	}
	token := filepath.Join(t.TempDir(), "token")
	server := exec.Command(program, "mcp", "--mount", m.point, "--http", "127.0.0.1:0", "--token-file", token)
	var said lockedBuilder
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(os.Interrupt)
		if err := server.Wait(); err != nil {
			t.Errorf("the server ended with %v: %s", err, said.String())
		}
	}()
	var url string
	for range 500 {
		if _, err := fmt.Sscanf(said.String(), "listening at %s", &url); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	url = strings.TrimSuffix(url, ",")
	for _, way := range [][]string{
		{"stdio", program, "mcp", "--mount", m.point},
		{"http", url, strings.TrimSpace(read(t, token))},
	} {
		t.Run(way[0], func(t *testing.T) {
			c := exec.Command("node", append([]string{"client.mjs", log, fmt.Sprint(os.Getuid())}, way...)...)
			c.Dir = modules
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
	if n := strings.Count(read(t, log), "said by way of mcp"); n != 2 {
		t.Errorf("%d records were added, not 2", n)
	}
	if st, err := os.Stat(token); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v, %v", st, err)
	}
}

// A server for an editor is no reason that the mount cannot be ended, and goes on in the next one.
func TestMCPRemount(t *testing.T) {
	m := newMount(t)
	log := m.session("s") + "/messages.jsonl"
	add(t, log, message("user", "before"))
	ask := askMCP(t, exec.Command(program, "mcp", "--mount", m.point))
	history := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"history","arguments":{"session":"coder/s"}}}`
	create := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"append","arguments":{"session":"coder/new","create":true,"records":[{"role":"user","content":"after"}]}}}`
	if got := ask(history); !strings.Contains(got, "before") {
		t.Errorf("before: %s", got)
	}
	run(t, "umount", m.point)
	_ = m.cmd.Wait()
	for _, request := range []string{history, create} {
		if got := ask(request); !strings.Contains(got, "(mount one with: ctxfs mount "+m.point) || !strings.Contains(got, `"isError":true`) {
			t.Errorf("without a mount: %s", got)
		}
	}
	if list, err := os.ReadDir(m.point); err != nil || len(list) > 0 {
		t.Errorf("the mountpoint has %v, %v", list, err)
	}
	m.start()
	if got := ask(history); !strings.Contains(got, "before") {
		t.Errorf("after: %s", got)
	}
	if got := ask(create); !strings.Contains(got, "1 records were added to coder/new") {
		t.Errorf("after: %s", got)
	}
}

// askMCP starts a server and shakes hands with it. The function sends a request and returns the answer, a line each; the
// server's end, at the end of its input, is waited for.
func askMCP(t *testing.T, server *exec.Cmd) func(request string) string {
	t.Helper()
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), server.Wait()); err != nil {
			t.Error(err)
		}
	})
	said := bufio.NewReader(out)
	ask := func(request string) string {
		t.Helper()
		if _, err := io.WriteString(in, request+"\n"); err != nil {
			t.Fatal(err)
		}
		line, err := said.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	if got := ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`); !strings.Contains(got, `"serverInfo"`) {
		t.Fatalf("the handshake: %s", got)
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	return ask
}

const listTools, listSessions = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"sessions","arguments":{}}}`

// A client may start its servers before there is a mount: they answer, say what to do to whoever calls a tool, and work once there
// is one.
func TestMCPBeforeMount(t *testing.T) {
	needFUSE(t)
	point := filepath.Join(t.TempDir(), "ctx")
	if err := os.Mkdir(point, 0o755); err != nil {
		t.Fatal(err)
	}
	m := &mount{t: t, point: point, store: filepath.Join(t.TempDir(), "store"), agent: filepath.Join(point, "home", fmt.Sprint(os.Getuid()), "agent", "coder")}
	ask := askMCP(t, exec.Command(program, "mcp", "--mount", point))
	if got := ask(listTools); !strings.Contains(got, `"name":"recall"`) {
		t.Errorf("tools: %s", got)
	}
	if got := ask(`{"jsonrpc":"2.0","id":2,"method":"resources/list"}`); !strings.Contains(got, "ctxfs:///sessions") {
		t.Errorf("resources: %s", got)
	}
	if got := ask(listSessions); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "mount one with: ctxfs mount "+point) {
		t.Errorf("before: %s", got)
	}
	m.start()
	t.Cleanup(m.finish)
	m.session("first")
	if got := ask(listSessions); !strings.Contains(got, "coder/first") {
		t.Errorf("after: %s", got)
	}
}

// A server that does not know which of several mounts is meant answers too, and lists them.
func TestMCPSeveralMounts(t *testing.T) {
	if list, _ := command("findmnt", "-n", "-o", "FSTYPE", "/ctx"); strings.Contains(list, "ctxfs") {
		skip(t, "a ctxfs is mounted at /ctx, which is preferred")
	}
	a, b := newMount(t), newMount(t)
	server := exec.Command(program, "mcp")
	server.Dir, server.Env = t.TempDir(), slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CTXFS_MOUNT=") })
	ask := askMCP(t, server)
	if got := ask(listTools); !strings.Contains(got, `"name":"recall"`) {
		t.Errorf("tools: %s", got)
	}
	if got := ask(listSessions); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, a.point) || !strings.Contains(got, b.point) || !strings.Contains(got, "ctxfs mcp --mount DIR") {
		t.Errorf("several: %s", got)
	}
}

// lockedBuilder takes what a process prints while it runs.
type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
