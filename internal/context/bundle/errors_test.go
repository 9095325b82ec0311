package bundle

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// edit gives the rich bundle with one text of one file replaced.
func edit(t testing.TB, file, old, now string) map[string][]byte {
	t.Helper()
	files := rich(t)
	if !bytes.Contains(files[file], []byte(old)) {
		t.Fatalf("%s has no %q", file, old)
	}
	files[file] = bytes.Replace(files[file], []byte(old), []byte(now), 1)
	return files
}

// Each error says where, what, and what to do; and it is the only one.
func TestProblems(t *testing.T) {
	const m, s, l = ManifestFile, SnapshotFile, LifecycleFile
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	for _, c := range []struct{ file, old, now, want string }{
		{m, `artesian.working-context`, `open.memory`, `manifest.json: format is "open.memory"; this reads artesian.working-context only; convert it with the program that wrote it`},
		{m, `0.7.2`, `1.0`, `manifest.json: version 1.0 has another major number than 0.1; write it again as version 0.x, or read it with a newer program`},
		{m, `0.7.2`, `0.x`, `version "0.x" is no version; write it as 0.1`},
		{m, `"0.7.2"`, `0.7`, `version is "0.7", not a string`},
		{m, `"version": "0.7.2",`, ``, `manifest.json: has no version; add version`},
		{m, `2026-06-21t10:30:00.25+02:00`, `2026-06-21 10:30`, `created_at "2026-06-21 10:30" is not a time of RFC 3339; write it as 2026-06-21T08:30:00Z`},
		{m, `"unit_source": "pam"`, `"unit_source": ""`, `unit_source is empty`},
		{m, `"agent_id": "coder/fix"`, `"agent_id": 7`, `agent_id is "7", not a string`},
		{m, `"format"`, `"version": "0.1", "format"`, `manifest.json, line 4: has the name "version" twice in one object; mend the JSON there`},
		{m, `"alg":"none"`, `"alg":"none","alg":1`, `manifest.json, line 2: has the name "alg" twice`},
		{m, `"unit_source": "pam"`, `"unit_source": "pam",`, `manifest.json, line 10: is not JSON: invalid character '}'`},
		{m, "\"pam\"\n}\n", "\"pam\"\n", `manifest.json, line 9: is not JSON: unexpected end`},
		{m, `"<&>"`, deep, `manifest.json, line 6: has more than 64 objects or lists`},
		{m, `<&>`, "<\xff>", `manifest.json, line 6: is not valid UTF-8`},
		{m, `<&>`, "<\x00>", `manifest.json, line 6: has a NUL byte`},
		{m, `coder/fix`, `a\u0000b`, `agent_id holds a NUL character`},
		{m, `coder/fix`, `a\nb`, `agent_id "a\nb" holds a control character`},
		{m, `coder/fix`, `a\ud800b`, `agent_id holds half of a surrogate pair`},
		{s, `"token_count": 23`, `"token_count": 24`, `snapshot.json: token_count is 24, but the tokens of the entries sum to 23; set token_count to 23`},
		{s, `"budget_tokens": 30`, `"budget_tokens": 22`, `snapshot.json: the entries take 23 tokens of a budget of 22; evict`},
		{s, `"budget_tokens": 30`, `"budget_tokens": -1`, `budget_tokens is "-1"; write a whole number from 0`},
		{s, `"tokens": 5`, `"tokens": 5.0`, `snapshot.json, entry "d1": tokens is "5.0"; write a whole number`},
		{s, `"slot": "decision"`, `"slot": "opinion"`, `snapshot.json, entry "d1": slot "opinion" is not in schema (decision, task-state, véto); add it`},
		{s, `["decision",`, `["decision", "decision",`, `schema names "decision" twice`},
		{s, `["decision",`, `["decision", 3,`, `schema[1] is "3"; write the name of a slot in quotes`},
		{s, `["decision",`, `["decision", "",`, `schema[1] is empty`},
		{s, `["decision", "task-state", "véto"]`, `"decision"`, `schema is "\"decision\"", not a list`},
		{s, `"id": "d2"`, `"id": "d1"`, `snapshot.json, entry "d1": entries[1] has the id of another entry; give each entry an id of its own`},
		{s, `"id": "h"`, `"id": ""`, `snapshot.json, entry "entries[4]": id is empty`},
		{s, `"id": "h"`, `"id": "` + strings.Repeat("h", 257) + `"`, `entry "entries[4]": id has 257 bytes; keep it within 256`},
		{s, `"resolution": "compressed"`, `"resolution": "summary"`, `entry "no/../force": unknown resolution "summary"; use one of full, compressed, pointer`},
		{s, `"resolution": "pointer"`, `"resolution": "full"`, `entry "t": content is empty with resolution full; give the content`},
		{s, `"score": 0.1`, `"score": "0.1"`, `entry "d1": score is "\"0.1\"", not a number`},
		{s, `"score": 0.1`, `"score": 1e999`, `entry "d1": score is "1e999", not a number`},
		{s, `2026-06-21T08:10:00Z`, `2026-13-21T08:10:00Z`, `entry "d2": committed_at "2026-13-21T08:10:00Z" is not a time`},
		{s, ` "committed_at": "2026-06-21T08:10:00Z",`, ``, `entry "d2": has no committed_at`},
		{s, `{"x-saturation": 0.10,`, `[{`, `snapshot.json, line 8: is not JSON`},
		{l, `"entry_id":"h"`, `"entry_id":"nobody"`, `lifecycle.jsonl, line 6, entry "nobody": names no entry: by the log it is in force, but it is not in snapshot.json; add the entry there, or the line that evicts it here`},
		{l, `"entry_id":"gone","decision":"evict"`, `"entry_id":"nobody","decision":"evict"`, `lifecycle.jsonl, line 4, entry "nobody": names no entry: it is not in snapshot.json, and no line before commits it; mend entry_id`},
		{l, `"supersedes":"d1"`, `"supersedes":"d0"`, `line 5, entry "d2": supersedes "d0", which is no entry of snapshot.json and was never committed`},
		{l, `"supersedes":"d1"`, `"supersedes":"d2"`, `line 5, entry "d2": supersedes itself`},
		{l, `"supersedes":"d1",`, ``, `line 5, entry "d2": decision supersede without supersedes`},
		{l, `"decision":"evict"`, `"decision":"forget"`, `line 4, entry "gone": unknown decision "forget"; use one of commit, evict, supersede, deprecate`},
		{l, `"status":"validated"`, `"status":"sure"`, `line 5, entry "d2": unknown status "sure"; use one of hypothesis, active, validated, deprecated, superseded`},
		{l, `9e-1`, `1.01`, `line 5, entry "d2": relevance is 1.01; write a number from 0 to 1`},
		{l, `"reason":{}`, `"reason":[]`, `line 4, entry "gone": reason is "[]", not an object`},
		{l, `{"ts":"2026-06-21T08:20:00Z"`, `{"ts":1750494000`, `line 6, entry "h": ts is "1750494000", not a string`},
		{l, `"status":"hypothesis"}`, `"status":"hypothesis"`, `lifecycle.jsonl, line 6: is not JSON`},
		{l, "\n\n", "\nnull\n", `lifecycle.jsonl, line 3: is not a JSON object`},
	} {
		found := Validate(edit(t, c.file, c.old, c.now))
		if len(found) == 0 || !strings.Contains(found[0].String(), c.want) {
			t.Errorf("%s, %q -> %.60q: got %v\nwant %s", c.file, c.old, c.now, found, c.want)
			continue
		}
		for _, more := range found[1:] { // an id that changes may leave a line without its entry
			if more.File == found[0].File && !strings.Contains(more.Text, "names no entry") {
				t.Errorf("%s, %q -> %.60q: also %v", c.file, c.old, c.now, more)
			}
		}
		if found[0].Next == "" {
			t.Errorf("%v says no next step", found[0])
		}
	}
}

func TestMissingAndLargeFiles(t *testing.T) {
	for _, name := range []string{ManifestFile, SnapshotFile} {
		files := tiny()
		delete(files, name)
		if found := Validate(files); len(found) != 1 || found[0].String() != name+": is missing; a bundle needs manifest.json and snapshot.json" {
			t.Errorf("without %s: %v", name, found)
		}
	}
	for _, name := range []string{ManifestFile, SnapshotFile, LifecycleFile, MirrorFile} {
		files := tiny()
		files[name] = append(files[name], bytes.Repeat([]byte{'\n'}, MaxFile+1)...)
		if found := Validate(files); len(found) == 0 || !strings.HasPrefix(found[0].String(), fmt.Sprintf("%s: has %d bytes; a file of a bundle has at most %d", name, len(files[name]), MaxFile)) {
			t.Errorf("large %s: %v", name, found)
		}
	}
	files := tiny()
	delete(files, LifecycleFile)
	if found := Validate(files); len(found) != 0 {
		t.Errorf("without the optional files: %v", found)
	}
	files[MirrorFile] = []byte("# a\nb\x00")
	if found := Validate(files); len(found) != 1 || found[0].String() != "snapshot.md, line 2: has a NUL byte; write it again, or remove it: it is optional" {
		t.Errorf("NUL in the mirror: %v", found)
	}
	files = tiny()
	files[SnapshotFile] = []byte(`{"schema":[],"budget_tokens":0,"token_count":0,"entries":[` + strings.Repeat("0,", MaxEntries) + "0]}")
	if found := Validate(files); len(found) == 0 || len(found) > maxFound+1 || !strings.Contains(found[0].Text, "entries has 10001 values") {
		t.Errorf("too many entries: %d problems, %v", len(found), found[0])
	}
}

// What a log may name: see the package comment.
func TestLogs(t *testing.T) {
	line := func(id, decision, status, old string) string {
		return fmt.Sprintf(`{"ts":"2026-06-21T08:30:00Z","entry_id":%q,"decision":%q,"status":%q,"supersedes":%q}`+"\n", id, decision, status, old)
	}
	for _, c := range []struct {
		name, log string
		good      bool
		status    string // of a, the one entry of the snapshot
	}{
		{"nothing", "", true, Active},
		{"what left was there", line("x", Commit, Active, "") + line("x", Evict, Active, ""), true, Active},
		{"and came back, and left", line("x", Commit, Active, "") + line("x", Evict, Active, "") + line("x", Commit, Active, "") + line("x", Deprecate, Deprecated, ""), true, Active},
		{"replaced by a", line("x", Commit, Active, "") + line("a", Supersede, Validated, "x"), true, Validated},
		{"replaced by what left", line("x", Supersede, Active, "a") + line("x", Evict, Active, ""), true, Superseded},
		{"marked itself", line("a", Commit, Active, "") + line("a", Supersede, Superseded, ""), true, Superseded},
		{"deprecated, whatever it says", line("a", Deprecate, Active, ""), true, Deprecated},
		{"evicted and still there", line("a", Evict, Hypothesis, ""), true, Hypothesis},
		{"came after it was replaced", line("a", Commit, Active, "") + line("x", Supersede, Active, "a") + line("a", Supersede, Active, "x"), true, Active},
		{"left before it came", line("x", Evict, Active, "") + line("x", Commit, Active, "") + line("x", Evict, Active, ""), false, ""},
		{"still in force", line("x", Commit, Active, ""), false, ""},
		{"evicted, never committed", line("x", Evict, Active, ""), false, ""},
		{"deprecated, never committed", line("x", Deprecate, Deprecated, ""), false, ""},
		{"replaces nothing that was", line("a", Supersede, Active, "x"), false, ""},
		{"replaces what comes later", line("a", Supersede, Active, "x") + line("x", Commit, Active, "") + line("x", Evict, Active, ""), false, ""},
	} {
		files := tiny()
		files[LifecycleFile] = []byte(c.log)
		b, err := Parse(files)
		if (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		} else if c.good && b.Statuses()["a"] != c.status {
			t.Errorf("%s: a is %s, not %s", c.name, b.Statuses()["a"], c.status)
		}
	}
}
