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
