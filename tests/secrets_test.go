package tests

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/context/redact"

	"github.com/klauspost/compress/zstd"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"
)

// needle is how many bytes of a secret must not be seen in one piece.
const needle = 12

// spill finds pieces of secrets.
type spill struct {
	rules  *redact.Rules
	pieces map[string]string // a piece, and the name of its secret
	starts [1 << 16]bool     // the first two bytes of the pieces
}

// hide notes the pieces of secret, which stands in text. It reports whether the rules find all of it there: what they take for
// no secret is none.
func (l *spill) hide(name, secret, text string) bool {
	masked, _ := l.rules.Mask(text)
	found := map[string]bool{}
	for i := 0; i+needle <= len(secret); i++ {
		piece := secret[i : i+needle]
		switch {
		case strings.ContainsAny(piece, "\n\\"): // the lines of a key stand by themselves
		case strings.Contains(masked, piece):
			return false
		default:
			found[piece] = true
		}
	}
	for piece := range found {
		l.pieces[piece] = name
		l.starts[uint16(piece[0])<<8|uint16(piece[1])] = true
	}
	return len(found) > 0
}

// in returns the names of the secrets of which data has a piece.
func (l *spill) in(data []byte) (names []string) {
	for i := 0; i+needle <= len(data); i++ {
		if !l.starts[uint16(data[i])<<8|uint16(data[i+1])] {
			continue
		}
		if name, ok := l.pieces[string(data[i:i+needle])]; ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// madeUp returns a secret of each kind, and a text in which the rules find it. Most come from the examples of the rules' own sources.
func madeUp(t *testing.T) map[string][2]string {
	t.Helper()
	packed, err := os.ReadFile("../internal/context/redact/testdata/gitleaks.jsonl.zst")
	if err != nil {
		t.Fatal(err)
	}
	dec, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	any := strings.Repeat("zQ3vN8kP1xT6mB4w", 3)
	out := map[string][2]string{
		"url-password":         {any, "postgres://app:" + any + "@db:5432/x"},
		"authorization-header": {any, "> Authorization: Basic " + any},
		"bearer-token":         {any, "-H 'X: Bearer " + any + "'"},
		"password":             {"hun!ter7hun!ter7", `password: "hun!ter7hun!ter7"`},
		"password-argument":    {"hun!ter8hun!ter8", "PASSWORD=hun!ter8hun!ter8"},
		"url-parameter":        {any, "https://host/x?api_key=" + any + "&y=1"},
		"private-key":          {key(), key()},
		"project":              {"project-falcon-4242424242", "project-falcon-4242424242"},
	}
	lines := bufio.NewScanner(dec)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var k struct {
			Text string      `json:"t"`
			Find [][2]string `json:"f"`
		}
		if err := json.Unmarshal(lines.Bytes(), &k); err != nil {
			t.Fatal(err)
		}
		if len(k.Find) != 1 || len(k.Text) > 4000 || len(k.Find[0][1]) < needle {
			continue
		}
		if _, ok := out[k.Find[0][0]]; !ok {
			out[k.Find[0][0]] = [2]string{k.Find[0][1], k.Text}
		}
	}
	return out
}

// key is a key of many lines, made of nothing.
func key() string {
	var b strings.Builder
	for i := range 22 {
		fmt.Fprintf(&b, "%02dQ7zXv%02dKp9Lm%02dRt4Ws%02dYb6Nc%02dHd8Jf%02dGq3Te%02dUa5Zo%02d\n", i, i*3, i*5%97, i*7%89, i*11%83, i*13%79, i*17%73, i*19%71)
	}
	return "-----BEGIN RSA " + "PRIVATE KEY-----\n" + b.String() + "-----END RSA " + "PRIVATE KEY-----"
}

func line(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data) + "\n"
}

type obj = map[string]any

// everywhere puts a text into all that a log says.
func everywhere(t *testing.T, id, text string) string {
	t.Helper()
	quoted := line(t, text)
	return line(t, obj{"role": "user", "content": "Never forget what follows.\n" + text}) +
		line(t, obj{"role": "assistant", "content": []obj{{"type": "thinking", "thinking": text}, {"type": "text", "text": "Decision: what follows stays.\n" + text},
			{"type": "tool_use", "id": id, "name": "Bash", "input": obj{"command": text}},
			{"type": "tool_use", "id": id + "q", "name": "AskUserQuestion", "input": obj{"questions": []obj{{"question": text}}}},
			{"type": "tool_use", "id": id + "t", "name": "TodoWrite", "input": obj{"todos": []obj{{"content": text, "status": "pending"}}}}}}) +
		line(t, obj{"role": "tool", "content": []obj{{"type": "tool_result", "tool_use_id": id, "is_error": true, "content": text},
			{"type": "tool_result", "tool_use_id": id + "q", "content": strings.TrimSpace(quoted) + `="` + text + `".`}}}) +
		line(t, obj{"type": "note", "data": text})
}

// mayBeRaw lists what of a session holds the bytes that somebody wrote: docs/security.md says so.
func mayBeRaw(rel string) bool {
	switch rel {
	case "messages.jsonl", "events.jsonl", "meta.json", "context/imported.json", "context/injections.jsonl", "context/missing.jsonl", "context/redact",
		"context/constraints.jsonl", "context/preferences.jsonl", "context/success.jsonl", "context/plan.jsonl", "context/tools.jsonl", "context/policy.json":
		return true
	}
	for _, dir := range []string{"context/pinned/", "context/child/", "context/swap/open/", "context/dedup/blob/"} {
		if strings.HasPrefix(rel, dir) {
			return true
		}
	}
	return false
}

// clean fails the test for each generated file of the session at dir, and each name in it, that has a piece of a secret.
func (l *spill) clean(t *testing.T, dir string, more ...string) {
	t.Helper()
	looked := 0
	look := func(rel string) {
		if mayBeRaw(rel) {
			return
		}
		data, err := os.ReadFile(filepath.Join(dir, rel))
		if err != nil {
			t.Fatal(err)
		}
		looked++
		for _, name := range l.in(data) {
			t.Errorf("%s shows a %s", rel, name)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			look(rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, rel := range more {
		look(rel)
	}
	if looked < 40 {
		t.Errorf("only %d files were read", looked)
	}
}

// packsOf are the names of packs that are found by name, and other such files.
func packsOf(query string) (names []string) {
	for _, p := range []string{"pack@300", "pack@2000", "pack@100000", "pack.tool", "pack.user", "pack.reviewer", "pack?what must not be shown", "pack#2"} {
		names = append(names, "context/"+p+".md", "context/"+p+".json")
	}
	return append(names, "context/recall/what follows stays", "context/recall/"+query)
}

// said fails the test when what a command prints, in the folder of a session, has a piece of a secret.
func (l *spill) said(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command(program, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("ctxfs %s: %v\n%.500s", strings.Join(args, " "), err, out)
	}
	for _, name := range l.in(out) {
		t.Errorf("ctxfs %s shows a %s", strings.Join(args[:min(2, len(args))], " "), name)
	}
}

// Secrets of every kind that the rules know are in nothing that is made of a session: in no generated file, in no answer of a command or of
// the MCP server.
func TestSecretsOfEveryKind(t *testing.T) {
	notUnderRace(t)
	mt := newMount(t, "--budget", "30000")
	l := newLeaks(t)
	dir := mt.session("kinds")
	if err := write(dir+"/context/redact", "project project-[a-z]+-[0-9]+\n"); err != nil {
		t.Fatal(err)
	}
	kinds, put := madeUp(t), 0
	var log strings.Builder
	for i, name := range slices.Sorted(maps.Keys(kinds)) {
		secret, text := kinds[name][0], kinds[name][1]
		// Only what the rules find in each of these forms is put there.
		if l.hide(name, secret, "Never forget what follows.\n"+text) && l.hide(name, secret, line(t, obj{"command": text})) && l.hide(name, secret, text) &&
			l.hide(name, secret, line(t, obj{"type": "note", "data": text})) && l.hide(name, secret, line(t, obj{"questions": []obj{{"question": text}}})) {
			put++
			log.WriteString(everywhere(t, fmt.Sprint("c", i), text))
		}
	}
	if put < 200 {
		t.Fatalf("%d kinds of secrets only", put)
	}
	add(t, dir+"/messages.jsonl", log.String())
	add(t, dir+"/messages.jsonl", message("user", "What must not be shown?"))
	l.clean(t, dir, packsOf("key")...)
	for _, args := range [][]string{{"pack", "."}, {"pack", ".", "--json"}, {"pack", ".", "--explain"}, {"report", ".", "--steps", "5"}, {"latest", "coder"}, {"inject", "."}, {"replay", "--list"}} {
		l.said(t, dir, args...)
	}
	l.clean(t, dir)
}

func newLeaks(t *testing.T) *spill {
	t.Helper()
	rules, err := redact.Default()
	if err != nil {
		t.Fatal(err)
	}
	own, err := redact.ParseOwn([]byte("project project-[a-z]+-[0-9]+\n"))
	if err != nil {
		t.Fatal(err)
	}
	return &spill{rules: rules.With(own), pieces: map[string]string{}}
}

// cuts returns the places at which ctxfs cuts texts, in bytes, by session. The first of a session is also its last: summaries quote
// the first request and the last ones.
func cuts() [][]int {
	return [][]int{{1200, 60, 64, 100, 120, 1200}, {400, 160, 200, 240, 266, 400}, {3000, 300, 800, 1312, 3000}, {2112, 4096, 8192, 12288, 2112}}
}

// A secret that stands where a text is cut, or that has lines as sentences do, does not show a part of itself.
func TestSecretsAtCuts(t *testing.T) {
	notUnderRace(t)
	mt := newMount(t, "--budget", "30000")
	l := newLeaks(t)
	word := strings.Repeat("aB3dE5gH7j", 4)[:36]
	secrets := map[string]string{"token": "ghp" + "_" + word, "url": strings.Repeat("zQ3vN8kP1xT6mB4w", 4), "key": key()}
	around := map[string]string{"token": "%s", "url": "https://app:%s@db/x", "key": "\n%s\n"}
	for i, list := range cuts() {
		dir := mt.session(fmt.Sprint("cuts-", i))
		var log strings.Builder
		for _, cut := range list {
			for _, name := range slices.Sorted(maps.Keys(secrets)) {
				secret := secrets[name]
				fill := "Never show what " + strings.Repeat("ab ", max(0, cut-min(len(secret)/2, 20)-16)/3)
				text := fill + fmt.Sprintf(around[name], secret) + " is here."
				if !l.hide(name, secret, text) || !l.hide(name, secret, line(t, obj{"command": text})) {
					t.Fatalf("at %d no rule finds the %s", cut, name)
				}
				log.WriteString(everywhere(t, fmt.Sprint(name, cut), text))
				log.WriteString(line(t, obj{"role": "user", "type": "compaction", "content": text}))
				log.WriteString(line(t, obj{"role": "tool", "tool_call_id": name, "content": text + strings.Repeat(" more of it\n", 300)}))
			}
		}
		log.WriteString(message("assistant", "It works now.\n"+key()+"\nAll tests pass with it.")) // each line is a claim
		add(t, dir+"/messages.jsonl", log.String())
		l.clean(t, dir, packsOf("more of it")...)
		l.said(t, dir, "report", ".", "--steps", "4")
	}
}

// What stands beside the log has secrets too: in gaps, events, notes, what was imported and what is written for the compiler.
func TestSecretsBesideTheLog(t *testing.T) {
	notUnderRace(t)
	mt := newMount(t, "--budget", "30000")
	l := newLeaks(t)
	dir := mt.session("beside")
	s := "ghp" + "_" + strings.Repeat("aB3dE5gH7j", 4)[:36]
	pw := "hun!ter7hun!ter7"
	both := func(v obj) string {
		v["password"] = pw
		text := line(t, v)
		if !l.hide("token", s, text) || !l.hide("password", pw, text) {
			t.Fatalf("no rule finds them in %s", text)
		}
		return text
	}
	add(t, dir+"/messages.jsonl", line(t, obj{"id": s, "role": "user", "name": s, "session_id": s, "turn_id": s, "model": s, "trace_id": s, "requestId": s,
		"evidence_refs": []string{s, "messages:999"}, "content": []obj{{"type": "text", "text": "Go on."}, {"type": "image_url", "image_url": obj{"url": "https://host/?token=" + s}}}}))
	add(t, dir+"/messages.jsonl", line(t, obj{"role": "assistant", "content": []obj{{"type": "tool_use", "id": s, "name": s, "input": obj{"file_path": "/x/" + s + "/y.go"}}}}))
	add(t, dir+"/messages.jsonl", line(t, obj{"role": "tool", "tool_call_id": s, "name": s, "content": "no such file"}))
	add(t, dir+"/messages.jsonl", line(t, obj{"role": s, "type": s, "note": s}))
	add(t, dir+"/context/missing.jsonl", both(obj{"question": "Is " + s + " valid?", "needed_for": s, "requested_from": s, "candidate_sources": []obj{{"kind": "file", "hint": s}}, "blocked_actions": []string{s}, "resolution_refs": []string{s}}))
	add(t, dir+"/context/injections.jsonl", both(obj{"target": "model", "injection_point": "system_prompt", "native_id": s, "metadata": obj{"note": s, "password": pw}}))
	add(t, dir+"/events.jsonl", both(obj{"id": s, "type": "ctxfs.run.started", "time": "2026-01-01T00:00:00Z", "data": obj{"run": s, "password": pw}})+
		both(obj{"id": "e2", "type": "compaction", "created_at": "2026-01-01T00:00:00Z", "data": obj{"compactMetadata": obj{"trigger": s, "preTokens": 5}}})+
		both(obj{"id": "e3", "type": "ctxfs.context.compaction", "data": obj{"compaction_id": "compact-1", "method": "custom", "trigger": s, "source_item_refs": []string{"messages:1"},
			"summary_ref": "context/summary.md", "loss_notes": []string{s}, "metadata": obj{"password": pw}}})+
		both(obj{"id": "e4", "type": "context.exported", "time": "2026-01-01T00:00:00Z", "data": obj{"to": s, "password": pw}}))
	for _, name := range []string{"constraints", "preferences", "success", "plan"} {
		add(t, dir+"/context/"+name+".jsonl", both(obj{"id": "i-" + name, "text": "Keep " + s + " out.", "note": s}))
	}
	add(t, dir+"/context/tools.jsonl", both(obj{"name": "deploy", "description": "with " + s, "capability_class": "act", "risk_level": "write_external", "approval_mode": "network"}))
	if err := write(dir+"/context/policy.json", both(obj{"rules": []obj{{"id": "r1", "effect": "deny", "applies_to": "deploy", "reason": s}}, "tone": obj{"secret": s}})); err != nil {
		t.Fatal(err)
	}
	pin := map[string]string{"a.md": "use " + s + "\n", "b.ref": strings.Repeat("x", 100) + s + "\nmessages:900\n"}
	for name, text := range pin {
		if err := os.WriteFile(dir+"/context/pinned/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir+"/context/child/rev", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"status": "done with " + s, "result.md": "the key is " + s + "\n"} {
		if err := os.WriteFile(dir+"/context/child/rev/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(dir+"/meta.json", line(t, obj{"title": "Rotate " + s})); err != nil {
		t.Fatal(err)
	}
	wc := importable(t, s)
	run(t, "bundle", "import", wc, "--session", dir)
	l.clean(t, dir, packsOf("keep out "+s)...)
	out := t.TempDir()
	for _, args := range [][]string{{"pack", "."}, {"pack", ".", "--json"}, {"pack", ".", "--explain", "--query", "what of " + s}, {"report", "."}, {"top", "--once"},
		{"top", "--once", "--json"}, {"sessions", "coder"}, {"inject", "."}, {"replay", "--list"},
		{"report", strings.Replace(dir, mt.point, mt.store, 1), "-o", out + "/page.html"}, {"status", mt.point}} {
		l.said(t, dir, args...)
	}
	glance := make([]byte, 1<<16)
	n, err := unix.Getxattr(dir, "user.ctxfs.glance", glance)
	if err != nil || len(l.in(glance[:n])) > 0 {
		t.Errorf("user.ctxfs.glance: %s, %v", glance[:max(0, n)], err)
	}
	for _, name := range l.in([]byte(read(t, out+"/page.html"))) {
		t.Errorf("the report on a store shows a %s", name)
	}
	l.overMCP(t, mt.point, dir)
	l.clean(t, dir)
}

// importable writes a bundle of another runtime that holds s.
func importable(t *testing.T, s string) string {
	t.Helper()
	dir := t.TempDir()
	for name, v := range map[string]obj{
		"manifest.json": {"format": "artesian.working-context", "version": "0.1", "agent_id": "other", "created_at": "2026-01-01T00:00:00Z", "unit_source": "inline", "note": s},
		"snapshot.json": {"schema": []string{"fact"}, "budget_tokens": 100, "token_count": 5, "entries": []obj{{"id": "e1", "slot": "fact", "content": "the key is " + s, "tokens": 5, "score": 1,
			"resolution": "full", "committed_at": "2026-01-01T00:00:00Z"}}},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(line(t, v)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// overMCP asks the MCP server for all that is made of a session.
func (l *spill) overMCP(t *testing.T, point, dir string) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	c, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: exec.Command(program, "mcp", "--mount", point)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	look := func(what string, answer any, err error) {
		data, jerr := json.Marshal(answer)
		if err != nil || jerr != nil || len(data) < 50 {
			t.Errorf("%s: %v, %v, %s", what, err, jerr, data)
		}
		for _, name := range l.in(data) {
			t.Errorf("%s of MCP shows a %s", what, name)
		}
	}
	session := "coder/" + filepath.Base(dir)
	for name, args := range map[string]obj{"sessions": {}, "pack": {"session": session}, "recall": {"session": session, "question": "which key"}} {
		answer, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
		look(name, answer, err)
	}
	list, err := c.ListResources(context.Background(), nil)
	look("the list of resources", list, err)
	for _, file := range []string{"context/pack.md", "context/summary.md", "context/trace/items.jsonl"} {
		answer, err := c.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "ctxfs:///" + strings.TrimPrefix(dir, point+"/") + "/" + file})
		look(file, answer, err)
	}
	prompt, err := c.GetPrompt(context.Background(), &mcp.GetPromptParams{Name: "continue", Arguments: map[string]string{"session": session}})
	look("a prompt", prompt, err)
}
