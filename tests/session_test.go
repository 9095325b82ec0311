package tests

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A session ends by explicit policy only; one that is open stays, and its name can be used again.
func TestDeleteSession(t *testing.T) {
	m := newMount(t)
	dir := m.session("gone")
	add(t, dir+"/messages.jsonl", message("user", "old"))
	open, err := os.Open(dir + "/messages.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	fails := func(want string, args ...string) {
		t.Helper()
		out, err := exec.Command(program, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, %s", args, err, out)
		}
	}
	fails("--yes", "session", "delete", dir)
	fails("is open", "session", "delete", dir, "--yes")
	fails("another ctxfs holds this store", "session", "delete", m.store+strings.TrimPrefix(dir, m.point), "--yes")
	open.Close()
	run(t, "session", "delete", dir, "--yes")
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after delete: %v", err)
	}
	if got := read(t, m.agent+"/session/index/list"); got != "" {
		t.Errorf("index: %q", got)
	}
	m.session("gone")
	add(t, dir+"/messages.jsonl", message("user", "new"))
	if got := read(t, dir+"/messages.jsonl"); got != message("user", "new") {
		t.Errorf("a new session of that name: %q", got)
	}
	if out := run(t, "session", "list", "--store", m.store); !strings.Contains(out, "agent/coder/session/gone") {
		t.Errorf("list: %s", out)
	}
}

// An exported session, restored, has the same history and blobs; what agents wrote comes along.
func TestExportAndRestore(t *testing.T) {
	m := newMount(t)
	run(t, "import", "--mount", m.point, "--agent", "coder", "--session", "sample", "../samples/claude-code.jsonl")
	dir := m.agent + "/session/sample"
	if err := write(dir+"/context/summary.md", "by hand\n"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/context/pinned/a.md", []byte("pinned\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shown := read(t, dir+"/context/pack.md")
	run(t, "inject", dir)
	add(t, dir+"/context/missing.jsonl", `{"missing_id":"x","question":"where?"}`+"\n")
	add(t, dir+"/context/missing.jsonl", `{"missing_id":"x","status":"resolved"}`+"\n")
	file := t.TempDir() + "/sample.tar"
	run(t, "session", "export", dir, "-o", file, "--no-event")
	run(t, "session", "restore", "--from", file, m.agent+"/session/again")
	for _, name := range []string{"messages.jsonl", "events.jsonl", "context/summary.md", "context/pinned/a.md", "context/injections.jsonl", "context/missing.jsonl"} {
		if read(t, dir+"/"+name) != read(t, m.agent+"/session/again/"+name) {
			t.Errorf("%s differs after export and restore", name)
		}
	}
	if list := strings.Fields(run(t, "replay", "--session", m.agent+"/session/again")); len(list) < 2 || run(t, "replay", list[1], "--session", m.agent+"/session/again") != shown {
		t.Errorf("what was shown is not to be had after a restore: %v", list)
	}
	out, err := command("tar", "-tf", file)
	if err != nil || !strings.Contains(out, "blob/blake3-") {
		t.Errorf("the picture is not in the export: %v\n%s", err, out)
	}
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(read(t, dir+"/context/trace/events.jsonl"), "context.exported") {
		t.Error("the trace tells of an export that was not recorded")
	}
	run(t, "session", "export", dir, "-o", file)
	if !strings.Contains(read(t, dir+"/context/trace/events.jsonl"), "context.exported") {
		t.Error("the trace does not tell of the export")
	}
	if !strings.Contains(read(t, dir+"/events.jsonl"), "context.exported") {
		t.Error("no event tells of the export")
	}
	if second, err := os.ReadFile(file); err != nil || string(second) != string(first) {
		t.Error("the same session exports to other bytes")
	}
}
