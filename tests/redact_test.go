package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A secret that stands in the log is in nothing that is made of it, for no target: only where exact bytes are asked for.
func TestRedaction(t *testing.T) {
	m := newMount(t)
	dir := m.session("s")
	secret, own := "ghp"+"_"+strings.Repeat("aB3dE5gH7j", 4)[:36], "project-falcon-42"
	if err := write(dir+"/context/redact", "# ours\nproject project-[a-z]+-[0-9]+\n"); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"user", "assistant", "tool"} {
		add(t, dir+"/messages.jsonl", message(role, "Never print "+secret+" or name "+own+". Decision: keep "+secret+" in the vault."))
	}
	add(t, dir+"/messages.jsonl", `{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"curl -H 'Authorization: token `+secret+`' x"}},{"type":"tool_use","id":"c2","name":"Read","input":{"file_path":"/a/b"}}],"resource_uri":"https://u:`+secret+`@host/"}`+"\n")
	add(t, dir+"/messages.jsonl", message("user", "What about "+own+"?"))
	add(t, dir+"/context/missing.jsonl", `{"question":"Is `+secret+` still valid?"}`+"\n")
	if err := os.WriteFile(dir+"/context/pinned/p.md", []byte("use "+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	traceOf(t, dir)
	for _, name := range []string{"pack@500.md", "pack.tool.md", "pack.reviewer.json", "pack.user.md", "pack?" + own + ".md", "pack#3.json", "recall/" + "what is never printed"} {
		_ = read(t, dir+"/context/"+name) // read, so that it is looked at below as well
	}
	masked := 0
	look := func(path string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{secret, own} {
			if strings.Contains(string(data), s) {
				t.Errorf("%s holds %s", path, s)
			}
		}
		if strings.Contains(string(data), "[redacted:") {
			masked++
		}
	}
	err := filepath.WalkDir(dir+"/context", func(path string, d fs.DirEntry, err error) error {
		switch filepath.Base(path) {
		case "open", "blob", "pinned", "missing.jsonl", "redact": // exact bytes, and what agents wrote themselves
			if d.IsDir() {
				return fs.SkipDir
			}
			if path != dir+"/context/trace/missing.jsonl" {
				return err
			}
		}
		if err == nil && !d.IsDir() {
			look(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pack@500.md", "pack.tool.md", "pack.reviewer.json", "pack.user.md", "pack?keys.md", "pack#3.json", "recall/what is never printed"} {
		look(dir + "/context/" + name)
	}
	if masked < 8 {
		t.Errorf("only %d files say that they mask", masked)
	}
	if got := read(t, dir+"/messages.jsonl"); strings.Count(got, secret) != 8 {
		t.Errorf("the log was changed: %s", got)
	}
	files := traceOf(t, dir)
	for _, want := range []string{`"redaction_method":"rule:github-pat"`, `"redaction_method":"rule:project"`, `"policy_refs":["context/redact"]`} {
		if !strings.Contains(string(files["redactions.jsonl"]), want) {
			t.Errorf("no %s in %s", want, files["redactions.jsonl"])
		}
	}
	wants(t, "a rule that is none", write(dir+"/context/redact", "x ([a-z\n"), syscall.EINVAL)

	// Without the session's own rule its word is shown, and the key still is not.
	if err := write(dir+"/context/redact", "# none\n"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir+"/context/pack.md"); !strings.Contains(got, own) || strings.Contains(got, secret) {
		t.Errorf("without the rule: %s", got)
	}
	stored, err := os.ReadFile(m.store + strings.TrimPrefix(dir, m.point) + "/events.jsonl")
	if err == nil && strings.Contains(string(stored), secret) {
		t.Error("an event holds the secret")
	}
}
