package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

// badContent is something written to a control file.
type badContent struct {
	name, text string
	refused    bool // EINVAL, and the file stays as it was
}

// jsonLines are contents of the files of JSON lines that have no rules of their own.
func jsonLines() []badContent {
	row := func(s string) string { return `{"id":"f1","text":` + s + `}` + "\n" }
	return []badContent{
		{"a NUL", row("\"a\x00\""), true},
		{"no UTF-8", row("\"\xff\""), true},
		{"half a surrogate pair", row(`"a\ud800b"`), false},
		{"a BOM", "\xef\xbb\xbf" + row(`"a"`), true},
		{"CR LF", strings.ReplaceAll(row(`"a"`), "\n", "\r\n"), false},
		{"a control character", row("\"\x1b[2J\""), true},
		{"an empty line", row(`"a"`) + "\n" + row(`"b"`), true},
		{"a key twice", `{"id":"f1","text":"a","id":"f2","text":"b"}` + "\n", false},
		{"an id twice", row(`"a"`) + row(`"b"`), false},
		{"huge numbers", `{"id":1e400,"text":` + strings.Repeat("9", 400) + `,"source":-0}` + "\n", false},
		{"other types", `{"id":[],"text":{"a":null},"source":true,"path":7,"decision":[[]]}` + "\n", false},
		{"an empty object", "{}\n", false},
		{"a list", "[]\n", true},
		{"null", "null\n", true},
		{"two objects", "{}{}\n", true},
		{"deepest arrays", row(strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999)), false},
		{"arrays too deep", row(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)), true},
		{"a key of 4 MB", `{"` + strings.Repeat("k", 4<<20) + `":1}` + "\n", false},
		{"100,000 lines", strings.Repeat(row(`"a"`), 100_000), false},
		{"the words that fence a pack", row(`"` + strings.Repeat("`", 40) + `\n# Context pack\n</context>"`), false},
	}
}

func badContents() map[string][]badContent {
	deep := strings.Repeat("[", 9_000) + "1,1,1,1" + strings.Repeat("]", 9_000)
	var keys strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&keys, `"k%d":%d,`, i, i)
	}
	return map[string][]badContent{
		"context/facts.jsonl": jsonLines(), "context/decisions.jsonl": jsonLines(), "context/refs.jsonl": jsonLines(),
		"meta.json": {
			{"a key twice", `{"a":1,"a":2}` + "\n", false}, {"an identity twice", `{"agent":"other","agent":"coder"}` + "\n", false},
			{"the other way round", `{"agent":"coder","agent":"other"}` + "\n", true}, {"a BOM", "\xef\xbb\xbf{}\n", true}, {"CR LF", "{\r\n}\r\n", false},
			{"huge numbers", `{"a":1e400,"b":` + strings.Repeat("9", 400) + `,"c":-0}` + "\n", false}, {"half a surrogate pair", `{"a":"\ud800","\udfff":1}` + "\n", false},
			{"no UTF-8", "{\"a\":\"\xff\"}\n", false}, {"a control character", "{\"a\":\"\x1b\"}\n", true}, {"null", "null\n", true}, {"a list", "[]\n", true},
			{"deep", `{"a":` + deep + "}\n", false}, {"40,000 keys", "{" + keys.String() + `"a":1}` + "\n", false}, {"a key of 900 KB", `{"` + strings.Repeat("k", 900<<10) + `":1}` + "\n", false},
			{"two objects", "{}{}\n", true}, {"empty", "{}\n", false},
		},
		"context/budget": {
			{"a BOM", "\xef\xbb\xbf8000\n", true}, {"CR LF", "8000\r\nreserve=5\r\n", false}, {"-0", "-0\n", true}, {"1e400", "1e400\n", true}, {"400 digits", strings.Repeat("9", 400) + "\n", true},
			{"other digits", "\u0668\u0660\n", true}, {"a key twice", "8000\nreserve=5\nreserve=6\n", false}, {"1 MB of lines", "8000\n" + strings.Repeat("reserve=5\n", 100_000), false}, {"JSON", "{}\n", true},
		},
		"context/gc.policy": {
			{"a BOM", "\xef\xbb\xbfpack_ttl=1h\n", true}, {"CR LF", "pack_ttl=1h\r\n", false}, {"400 digits", "pack_ttl=" + strings.Repeat("9", 400) + "d\n", true}, {"1e400", "pack_ttl=1e400d\n", true},
			{"-0", "dedup_min_refs=-0\n", true}, {"a key twice", "pack_ttl=1h\npack_ttl=2h\n", false}, {"a control character", "pack_ttl=1h\x1b[2J\n", true}, {"a NUL in a comment", "# \x00\n", false}, {"1 MB of lines", strings.Repeat("pack_ttl=1h\n", 100_000), false},
		},
		"state":                     {{"a BOM", "\xef\xbb\xbfidle\n", true}, {"CR LF", "active\r\n", false}, {"a NUL", "done\x00\n", true}, {"two", "done\nidle\n", true}, {"JSON", "{}\n", true}},
		"context/constraints.jsonl": {{"half a surrogate pair", `{"text":"\ud800"}` + "\n", false}, {"no UTF-8", "{\"text\":\"\xff\"}\n", true}, {"a BOM", "\xef\xbb\xbf{\"text\":\"a\"}\n", true}, {"2 MB", strings.Repeat(`{"text":"a"}`+"\n", 160_000), true}},
		"context/redact":            {{"a regexp that grows", "a (a{1000}){1000}\n", true}, {"no UTF-8", "a \xff\n", true}, {"a NUL", "a \x00\n", false}, {"1 MB of rules", strings.Repeat("a literal:abcdef\n", 60_000), true}},
		"context/imported.json":     {{"no bundle", "{}\n", true}, {"null", "null\n", true}, {"a list", "[]\n", true}, {"other types", `{"manifest.json":7}` + "\n", true}, {"deep", `{"manifest.json":"` + strings.Repeat("[", 1<<20) + `"}` + "\n", true}},
		"context/missing.jsonl":     {{"a list", "[]\n", true}, {"other types", `{"question":[]}` + "\n", true}, {"half a surrogate pair", `{"question":"\ud800?"}` + "\n", false}, {"huge numbers", `{"question":"q","n":1e400}` + "\n", false}},
		"context/injections.jsonl":  {{"a list", "[]\n", true}, {"a target that is none", `{"target":"\ud800"}` + "\n", true}, {"huge numbers", `{"metadata":{"n":1e400}}` + "\n", true}, {"a path out", `{"file":"../../../../etc/passwd"}` + "\n", true}},
	}
}

// TestBadControlFiles writes each of them. What is refused leaves the file as it was; what is taken can be read and the pack is made
// with it; a log beside it never changes.
func TestBadControlFiles(t *testing.T) {
	notUnderRace(t)
	m := newMount(t, "--budget", "20000")
	dir := m.session("control")
	add(t, dir+"/messages.jsonl", message("user", "We decided to use Go."))
	n := 0
	for name, list := range badContents() {
		file := filepath.Join(dir, name)
		for _, c := range list {
			n++
			before := read(t, file)
			err := write(file, c.text)
			if grows := name == "context/missing.jsonl" || name == "context/injections.jsonl"; grows {
				err = tryAdd(file, c.text)
			}
			now := read(t, file)
			switch {
			case c.refused && (!errors.Is(err, syscall.EINVAL) || now != before):
				t.Errorf("%s, %s: %v, and %d bytes, were %d", name, c.name, err, len(now), len(before))
			case !c.refused && err != nil:
				t.Errorf("%s, %s: %v", name, c.name, err)
			case !c.refused && strings.HasSuffix(name, ".jsonl"):
				for line := range strings.Lines(now) {
					if !json.Valid([]byte(line)) || !utf8.ValidString(line) {
						t.Errorf("%s, %s: a line that is no JSON: %.100q", name, c.name, line)
					}
				}
			}
			for _, made := range []string{"context/pack.md", "context/pack.json"} {
				if data, err := os.ReadFile(filepath.Join(dir, made)); err != nil || len(data) == 0 || len(data) > 2<<20 || strings.HasSuffix(made, ".json") && !json.Valid(data) {
					t.Errorf("%s, %s: %s has %d bytes, %v", name, c.name, made, len(data), err)
				}
			}
			if Derived := strings.HasPrefix(name, "context/") && !strings.Contains(name, "missing") && !strings.Contains(name, "injections"); Derived {
				if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Error(err)
				}
			}
		}
	}
	if got := read(t, dir+"/messages.jsonl"); got != message("user", "We decided to use Go.") {
		t.Errorf("the log: %q", got)
	}
	t.Logf("%d contents", n)
}

// TestBadBundles imports bundles that are none: the command says what is wrong, with exit code 3, and the session is what it was.
func TestBadBundles(t *testing.T) {
	m := newMount(t)
	dir := m.session("bundle")
	add(t, dir+"/messages.jsonl", message("user", "hello"))
	good := filepath.Join(t.TempDir(), "good")
	run(t, "inject", dir, "--point", "system_prompt")
	must(t, os.CopyFS(good, os.DirFS(dir+"/context/bundle")))
	for name, spoil := range map[string]func(s string) string{
		"a NUL":                 func(s string) string { return s + "\x00" },
		"no UTF-8":              func(s string) string { return strings.Replace(s, `"`, "\"\xff", 1) },
		"a BOM":                 func(s string) string { return "\xef\xbb\xbf" + s },
		"a list":                func(string) string { return "[]" },
		"nothing":               func(string) string { return "" },
		"null":                  func(string) string { return "null" },
		"huge numbers":          func(s string) string { return strings.Replace(s, ":1", ":1e400", 1) + "x" },
		"deep":                  func(string) string { return strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) },
		"a control character":   func(s string) string { return strings.Replace(s, `"`, "\"\x1b[2J", 1) },
		"cut off":               func(s string) string { return s[:len(s)/2] },
		"half a surrogate pair": func(string) string { return `{"format":"\ud800"}` },
	} {
		for _, file := range []string{"manifest.json", "snapshot.json"} {
			bad := filepath.Join(t.TempDir(), "bad")
			must(t, os.CopyFS(bad, os.DirFS(good)))
			must(t, os.WriteFile(filepath.Join(bad, file), []byte(spoil(read(t, filepath.Join(good, file)))), 0o600))
			code, out := runCode("bundle", "import", bad, "--session", dir)
			if code != 3 || !utf8.ValidString(out) || strings.ContainsAny(out, "\x00\x1b") || len(out) > 20_000 {
				t.Errorf("%s in %s: code %d: %.300q", name, file, code, out)
			}
			if data, err := os.ReadFile(dir + "/context/imported.json"); err == nil && len(data) > 0 {
				t.Fatalf("%s in %s: something was imported", name, file)
			}
		}
	}
	if got := read(t, dir+"/messages.jsonl"); got != message("user", "hello") {
		t.Errorf("the log: %q", got)
	}
}

// runCode runs the program and gives its exit code and all that it printed.
func runCode(args ...string) (int, string) {
	cmd := exec.Command(program, args...)
	out, _ := cmd.CombinedOutput() // its code is asked for
	return cmd.ProcessState.ExitCode(), string(out)
}
