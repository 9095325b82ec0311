package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestControlFiles writes each control file well and badly: what is refused changes nothing.
func TestControlFiles(t *testing.T) {
	x := newSession(t)
	root := filepath.Join(x.store.Path(), coder, "root")
	must(t, os.MkdirAll(filepath.Join(root, "work", "src"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o644))
	must(t, os.Symlink("/work/src", filepath.Join(root, "link")))
	must(t, os.Symlink("../../../../../../../../usr", filepath.Join(root, "out")))
	for _, c := range []struct {
		name, first string
		good        map[string]string // what is written, and what then stands there
		bad         map[string]error  // Kinds as *Error, others as they are
	}{
		{"state", "idle\n", map[string]string{"active": "active\n", "done\n": "done\n", " error \n": "error\n"},
			map[string]error{"": k(Invalid), "Active": k(Invalid), "active idle": k(Invalid), "idle\nactive\n": k(Invalid)}},
		{"cwd", "/\n", map[string]string{"/": "/\n", "/work\n": "/work\n", "/work/src/": "/work/src\n", "/work/../work/./src": "/work/src\n", "/link": "/link\n"},
			map[string]error{"": k(Invalid), "work": k(Invalid), "/work\n/work": k(Invalid), "/wo\x00rk": k(Invalid), "/" + strings.Repeat("a", 5000): k(Invalid),
				"/none": fs.ErrNotExist, "/work/none": fs.ErrNotExist, "/file": unix.ENOTDIR, "/file/x": unix.ENOTDIR,
				"/usr": k(Denied), "/..": k(Denied), "/work/../../x": k(Denied), x.store.Path(): deniedOrGone(x)}},
		{"context/budget", "", map[string]string{"8000": "8000", "": "", "8000\nreserve=10\n": "8000\nreserve=10\n"}, map[string]error{"x": k(Invalid), "1\n2": k(Invalid)}},
		{"context/gc.policy", "", map[string]string{"pack_ttl=1d\n": "pack_ttl=1d\n", "": ""}, map[string]error{"x": k(Invalid)}},
		{"context/facts.jsonl", "", map[string]string{"{}": "{}\n", "{\"a\":1}\n{}\n": "{\"a\":1}\n{}\n", "": ""},
			map[string]error{"x": k(Invalid), "{}\n\n{}": k(Invalid), "[]": k(Invalid), "null": k(Invalid), "\n": k(Invalid), "{}{}": k(Invalid)}},
		{"context/decisions.jsonl", "", map[string]string{"{}": "{}\n"}, map[string]error{"{}\nx\n": k(Invalid)}},
		{"context/refs.jsonl", "", map[string]string{"{}": "{}\n"}, map[string]error{"1": k(Invalid)}},
		{"context/todo.md", "", map[string]string{"- a\n": "- a\n", "x": "x", "\xff\x00": "\xff\x00", "": ""}, nil},
		{"context/none", "", nil, map[string]error{"x": k(NotFound)}},
		{"messages.jsonl", "", nil, map[string]error{"{}\n": k(NotFound)}},
		{"../t/state", "", nil, map[string]error{"idle": k(NotFound)}},
	} {
		if len(c.good) > 0 && (shown(t, x, c.name) != c.first || x.Written(c.name)) {
			t.Errorf("%s is at first %q", c.name, shown(t, x, c.name))
		}
		for data, want := range c.good {
			if err := x.WriteControl(c.name, []byte(data), me); err != nil {
				t.Errorf("%s = %q: %v", c.name, data, err)
			}
			if got := shown(t, x, c.name); got != want || !x.Written(c.name) {
				t.Errorf("%s = %q reads %q, want %q", c.name, data, got, want)
			}
		}
		before, _ := x.ReadControl(c.name) // no such file: nothing
		for data, want := range c.bad {
			if err := x.WriteControl(c.name, []byte(data), me); !same(err, want) {
				t.Errorf("%s = %.40q: %v, want %v", c.name, data, err, want)
			}
			if after, _ := x.ReadControl(c.name); string(after) != string(before) {
				t.Errorf("%s = %.40q was refused, and is now %q", c.name, data, after)
			}
		}
	}
}

func k(kind Kind) error { return &Error{Kind: kind} }

// same tells whether err is of want's Kind, or wraps it.
func same(err, want error) bool {
	if w := kind(want); w != 0 {
		return kind(err) == w
	}
	return err != nil && errors.Is(err, want)
}

// deniedOrGone is what the store's own path is as a cwd: a user who may not look into it is not told that it is there.
func deniedOrGone(x *Session) error {
	if x.store.visible(x.store.Path(), me) {
		return k(Denied)
	}
	return fs.ErrNotExist
}

func TestControlTooLarge(t *testing.T) {
	x := newSession(t)
	big := make([]byte, MaxControl+1)
	if err := x.WriteControl("context/todo.md", big, me); kind(err) != TooLarge {
		t.Errorf("WriteControl: %v", err)
	}
	if err := x.CheckControl("context/todo.md", big, me, false); kind(err) != TooLarge {
		t.Errorf("CheckControl: %v", err)
	}
	must(t, x.WriteControl("context/todo.md", big[1:], me))
	if err := x.AppendControl("context/todo.md", []byte("x"), me); kind(err) != TooLarge {
		t.Errorf("AppendControl: %v", err)
	}
	if got := shown(t, x, "context/todo.md"); len(got) != MaxControl {
		t.Errorf("%d bytes are left", len(got))
	}
}

// TestCheckControl: a write that is not at its end is not judged, one that ends a line is.
func TestCheckControl(t *testing.T) {
	x := newSession(t)
	for _, c := range []struct {
		name, data string
		done       bool
		want       Kind
	}{
		{"state", "act", false, 0}, {"state", "act", true, Invalid}, {"state", "act\n", false, Invalid}, {"state", "active\n", false, 0},
		{"context/budget", "9x", false, 0}, {"context/budget", "9x\n", false, Invalid}, {"context/facts.jsonl", "{}\n{", false, 0}, {"context/facts.jsonl", "{}\n{\n", false, Invalid},
		{"context/facts.jsonl", "{", true, Invalid}, {"context/summary.md", "x", true, 0}, {"none", "x", false, NotFound},
	} {
		if err := x.CheckControl(c.name, []byte(c.data), me, c.done); kind(err) != c.want {
			t.Errorf("%s %q done=%v: %v, want kind %d", c.name, c.data, c.done, err, c.want)
		}
	}
	if !x.Complete("state", []byte("idle\n")) || x.Complete("state", []byte("idle")) || x.Complete("context/todo.md", []byte("x\n")) || x.Complete("none", []byte("\n")) {
		t.Error("Complete")
	}
}

// TestMeta: identity fields are shown whatever stands in the file, and cannot be changed; other fields are the writer's.
func TestMeta(t *testing.T) {
	x := newSession(t)
	first := object(t, shown(t, x, "meta.json"))
	for key, want := range map[string]any{"agent": "coder", "session": "s", "scope": "private", "created_by_uid": float64(me.UID)} {
		if first[key] != want {
			t.Errorf("%s is %v, want %v", key, first[key], want)
		}
	}
	if id, _ := first["id"].(string); len(id) != 32 || first["created_at"] == nil {
		t.Errorf("id and created_at are %v, %v", first["id"], first["created_at"])
	}
	must(t, x.WriteControl("meta.json", []byte(`{"title":"a <b>","n":12345678901234567890,"session":"s","created_by_uid": `+fmt.Sprint(me.UID)+`}`), me))
	now := object(t, shown(t, x, "meta.json"))
	if now["title"] != "a <b>" || now["id"] != first["id"] || now["created_at"] != first["created_at"] || !strings.Contains(shown(t, x, "meta.json"), "12345678901234567890") {
		t.Errorf("after a write: %v", now)
	}
	before := shown(t, x, "meta.json")
	for _, bad := range []string{`{"session":"t"}`, `{"scope":"shared"}`, `{"agent":"x"}`, `{"id":"x"}`, `{"id":null}`, `{"created_at":"2020-01-01T00:00:00Z"}`, `{"created_by_uid":0}`,
		`[]`, `null`, ``, `{`, `{} {}`, `"x"`} {
		if err := x.WriteControl("meta.json", []byte(bad), me); kind(err) != Invalid {
			t.Errorf("meta.json = %s: %v, want Invalid", bad, err)
		}
	}
	if after := shown(t, x, "meta.json"); after != before {
		t.Errorf("it is now %s", after)
	}
	must(t, x.c.Rename("s", "t"))
	if got := object(t, shown(t, x, "meta.json")); got["session"] != "t" || got["id"] != first["id"] {
		t.Errorf("after a rename: %v", got)
	}
}

func object(t testing.TB, data string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(data), &m); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return m
}

// TestMetaOfModels names the model, and the share's scope.
func TestMetaOfModels(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	got := object(t, shown(t, create(t, container(t, s, "shared/team/model/big.d"), "s"), "meta.json"))
	if got["model"] != "big" || got["scope"] != "shared" || got["agent"] != nil {
		t.Errorf("%v", got)
	}
}

// TestDamagedMeta: a meta.json that was damaged past ctxfs is an error, never a panic.
func TestDamagedMeta(t *testing.T) {
	for _, data := range []string{"", "null", "[]", "{", "{} x", "1", "\xff"} {
		x := newSession(t)
		plant(t, x, "meta.json", data)
		if got, err := x.ReadControl("meta.json"); err == nil {
			t.Errorf("%q reads as %q", data, got)
		}
		if _, err := x.View("created_at"); err != nil {
			t.Errorf("%q: created_at: %v", data, err)
		}
		_ = look(t, x, "context/pack.md")
	}
}

// TestStateEvents: a change of state is an event, writing the same again is none.
func TestStateEvents(t *testing.T) {
	x := newSession(t)
	for _, s := range []string{"active", "active\n", "done", "idle"} {
		must(t, x.WriteControl("state", []byte(s), me))
	}
	var got []string
	for _, line := range eventLines(t, x) {
		e := object(t, line)
		data, _ := e["data"].(map[string]any)
		got = append(got, fmt.Sprintf("%v %v>%v", e["type"], data["from"], data["to"]))
		if e["specversion"] != "1.0" || e["id"] == "" || e["source"] != "ctxfs" || e["time"] == "" {
			t.Errorf("no CloudEvents envelope: %s", line)
		}
	}
	want := "ctxfs.session.state idle>active|ctxfs.session.state active>done|ctxfs.session.state done>idle"
	if strings.Join(got, "|") != want {
		t.Errorf("events %q", got)
	}
}

// TestAppendControl lets several append to an agent's facts at a time: all get in, bad lines do not.
func TestAppendControl(t *testing.T) {
	x := newSession(t)
	must(t, x.WriteControl("context/facts.jsonl", []byte(`{"n":"first"}`), me))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := x.AppendControl("context/facts.jsonl", fmt.Appendf(nil, "{\"n\":%d}\n", i), me); err != nil {
				t.Error(err)
			}
			if err := x.AppendControl("context/facts.jsonl", []byte("bad\n"), me); kind(err) != Invalid {
				t.Errorf("a bad line: %v", err)
			}
		})
	}
	wg.Wait()
	got := shown(t, x, "context/facts.jsonl")
	if strings.Count(got, "\n") != 21 || !strings.HasPrefix(got, `{"n":"first"}`+"\n") {
		t.Errorf("%q", got)
	}
	if err := x.AppendControl("none", nil, me); kind(err) != NotFound {
		t.Errorf("no such file: %v", err)
	}
}

// TestRemoveControl: what an agent wrote wins until it is removed; what every session has stays.
func TestRemoveControl(t *testing.T) {
	x := newSession(t)
	add(t, x, Messages, asks("Fix the parser."), says("I will."))
	derived := shown(t, x, "context/summary.md")
	must(t, x.WriteControl("context/summary.md", []byte("Mine.\n"), me))
	if got := shown(t, x, "context/summary.md"); got != "Mine.\n" {
		t.Errorf("written: %q", got)
	}
	must(t, x.RemoveControl("context/summary.md"))
	if got := shown(t, x, "context/summary.md"); got != derived || x.Written("context/summary.md") {
		t.Errorf("removed: %q, derived was %q", got, derived)
	}
	must(t, x.RemoveControl("context/summary.md")) // there is nothing more to remove
	for _, name := range []string{"state", "cwd", "meta.json"} {
		if err := x.RemoveControl(name); kind(err) != NotPermitted {
			t.Errorf("%s: %v, want NotPermitted", name, err)
		}
	}
}

// TestDeepMeta: what is nested is not set in, which would make megabytes of kilobytes.
func TestDeepMeta(t *testing.T) {
	x := newSession(t)
	deep := `{"a":` + strings.Repeat("[", 9000) + strings.Repeat("1,", 10_000) + "1" + strings.Repeat("]", 9000) + `,"b":"<>&\u2028","<":{}}`
	must(t, x.WriteControl("meta.json", []byte(deep), me))
	if got := shown(t, x, "meta.json"); len(got) > len(deep)+1000 || !strings.Contains(got, "\n  \"b\": \"<>&\\u2028\",\n") || !strings.Contains(got, "\n  \"<\": {},\n") {
		t.Errorf("%d bytes of %d: %.300q", len(got), len(deep), got)
	}
	if err := x.WriteControl("meta.json", []byte(`{"a":"`+strings.Repeat("x", MaxControl-8)+`"}`), me); kind(err) != TooLarge {
		t.Errorf("one that can be read no more: %v", err)
	}
}
