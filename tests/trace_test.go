package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ctxfs/internal/context/trace"
)

// traceOf reads a session's trace and walks its references: between records, and to files of the mount.
func traceOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir + "/context/trace")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		files[e.Name()] = []byte(read(t, dir+"/context/trace/"+e.Name()))
	}
	for _, p := range trace.Check(files, func(path string) bool { _, err := os.Stat(filepath.Join(dir, path)); return err == nil }) {
		t.Errorf("%s: %s: %s", dir, p.File, p.Text)
	}
	return files
}

// types lists the event classes of a trace.
func eventTypes(t *testing.T, files map[string][]byte) []string {
	t.Helper()
	var out []string
	for dec := json.NewDecoder(strings.NewReader(string(files["events.jsonl"]))); dec.More(); {
		var e struct{ Type string }
		if err := dec.Decode(&e); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(out, e.Type) {
			out = append(out, e.Type)
		}
	}
	return out
}

func envelope(t *testing.T, files map[string][]byte) trace.Envelope {
	t.Helper()
	var e trace.Envelope
	if err := json.Unmarshal(files["envelope.json"], &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// A context is declared shown, what was shown is kept byte for byte, and what enters and leaves after it is told.
func TestInjections(t *testing.T) {
	m := newMount(t)
	run(t, "import", "../samples/claude-code.jsonl", "--agent", "coder", "--session", "s", "--mount", m.point)
	dir := m.agent + "/session/s"
	files := traceOf(t, dir)
	first := envelope(t, files)
	if first.Lifecycle != "assembled" || first.Scope != "turn" {
		t.Errorf("%+v", first)
	}
	again := traceOf(t, dir)
	for name, data := range files {
		if string(again[name]) != string(data) {
			t.Errorf("%s differs when it is read again", name)
		}
	}
	shown := read(t, dir+"/context/pack.md")
	add(t, dir+"/context/injections.jsonl", `{"injection_point":"system_prompt","native_id":"resp_1"}`+"\n")
	var inj trace.Injection
	if err := json.Unmarshal([]byte(read(t, dir+"/context/injections.jsonl")), &inj); err != nil {
		t.Fatal(err)
	}
	if inj.ContextID != first.ContextID || inj.Target != "model" || inj.NativeID != "resp_1" || inj.CreatedAt == "" {
		t.Errorf("%+v", inj)
	}
	if e := envelope(t, traceOf(t, dir)); e.Lifecycle != "injected" || !slices.Equal(e.InjectionRefs, []string{inj.InjectionID}) || e.ContextID != first.ContextID {
		t.Errorf("%+v", e)
	}
	add(t, dir+"/context/injections.jsonl", `{"target":"tool","injection_point":"tool_visible_resource","file":"context/todo.md"}`+"\n")
	traceOf(t, dir)

	add(t, dir+"/messages.jsonl", message("user", "go on"))
	if err := write(dir+"/context/budget", "1000\n"); err != nil {
		t.Fatal(err)
	}
	files = traceOf(t, dir)
	for _, want := range []string{"context.surface.updated", "context.item.added", "context.item.removed"} {
		if !slices.Contains(eventTypes(t, files), want) {
			t.Errorf("no %s in %s", want, eventTypes(t, files))
		}
	}
	if got := read(t, dir+"/context/dedup/blob/"+inj.Hash); got != shown {
		t.Errorf("what was shown is now %.200q", got)
	}
	for _, bad := range []string{`{"target":"nobody"}`, `{"injection_point":"x"}`, `{"file":"messages.jsonl"}`, `{"file":"../../../x"}`, `{"file":"/etc/passwd"}`, `[]`, `no`} {
		wants(t, bad, tryAdd(dir+"/context/injections.jsonl", bad+"\n"), syscall.EINVAL)
	}
	wants(t, "to write over injections", write(dir+"/context/injections.jsonl", "{}\n"), syscall.EINVAL)
	wants(t, "to remove injections", os.Remove(dir+"/context/injections.jsonl"), syscall.EPERM)
	if n := strings.Count(read(t, dir+"/context/injections.jsonl"), "\n"); n != 2 {
		t.Errorf("%d injections", n)
	}
}

// What is missing is told: by agents, with what became of it, and by pins that lead nowhere.
func TestMissing(t *testing.T) {
	m := newMount(t)
	dir := m.session("s")
	add(t, dir+"/messages.jsonl", message("user", "check the contract"))
	add(t, dir+"/messages.jsonl", `{"role":"assistant","content":"The contract says so.","evidence_refs":["messages:1","messages:99","child:nobody"]}`+"\n")
	add(t, dir+"/context/missing.jsonl", `{"missing_id":"pdf","question":"Where is the PDF?","severity":"blocking","requested_from":"user","status":"requested","blocked_actions":["final_answer"]}`+"\n")
	if err := os.WriteFile(dir+"/context/pinned/x.ref", []byte("messages:12-13\nchild:nobody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	for dec := json.NewDecoder(strings.NewReader(string(traceOf(t, dir)["missing.jsonl"]))); dec.More(); {
		var x trace.Missing
		if err := dec.Decode(&x); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s: %s", x.Severity, x.Status, x.Question))
	}
	want := []string{"blocking requested: Where is the PDF?", `high open: context/pinned/x.ref names "messages:12-13", which is not there`,
		`high open: context/pinned/x.ref names "child:nobody", which is not there`,
		"medium open: record 2 cites messages:99, which no source of this session holds", "medium open: record 2 cites child:nobody, which no source of this session holds"}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if types := eventTypes(t, traceOf(t, dir)); !slices.Contains(types, "context.missing.requested") {
		t.Errorf("%s", types)
	}
	add(t, dir+"/context/missing.jsonl", `{"missing_id":"pdf","status":"resolved","resolution_refs":["messages:1"]}`+"\n")
	if types := eventTypes(t, traceOf(t, dir)); !slices.Contains(types, "context.missing.resolved") || slices.Contains(types, "context.missing.requested") {
		t.Errorf("%s", types)
	}
	for _, bad := range []string{`{"severity":"high"}`, `{"question":"x","severity":"dire"}`, `{"question":"x","status":"gone"}`, `{"missing_id":"pdf","status":"gone"}`, `{"question":7}`} {
		wants(t, bad, tryAdd(dir+"/context/missing.jsonl", bad+"\n"), syscall.EINVAL)
	}
}

// References of real sessions' traces lead somewhere in a mount.
func TestRealTraces(t *testing.T) {
	data := sharedData(t, "data")
	files, err := filepath.Glob(data + "/claude-code/*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no logs")
	}
	m := newMount(t)
	for i := 0; i < len(files); i += 12 {
		out, err := exec.Command(program, "import", files[i], "--agent", "coder", "--session", fmt.Sprint("s", i), "--mount", m.point).CombinedOutput()
		if err != nil && !strings.Contains(string(out), "bad") {
			t.Fatalf("%v %s", err, out)
		}
		traceOf(t, m.agent+"/session/"+fmt.Sprint("s", i))
	}
}
