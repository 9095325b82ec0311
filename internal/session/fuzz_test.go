package session

import (
	"bytes"
	"errors"
	"path/filepath"
	"runtime"
	"testing"
)

// controls are the files whose content is checked, but for cwd, which is checked against the host.
func controls() []string {
	return []string{"state", "meta.json", "context/budget", "context/gc.policy", "context/redact", "context/summary.md", "context/facts.jsonl",
		"context/refs.jsonl", Imported, Injections, MissingFile, "context/constraints.jsonl", "context/preferences.jsonl", "context/success.jsonl",
		"context/plan.jsonl", "context/tools.jsonl", "context/policy.json"}
}

// FuzzControl writes anything to each control file, whole and piece by piece: it is refused by a rule, and then nothing has
// changed, or it stands there and could be written again. All that takes memory by the length of what is written.
func FuzzControl(f *testing.F) {
	for i, s := range []string{"active\n", `{"a":[[{}]],"created_by_uid":7}`, "8000\nreserve=9\n", "pack_ttl=3h\nkeep_messages=0\n", "a literal:b\nc [a-z]{5}\n", "# s\n",
		"{\"text\":\"a\"}\n{}\n", "{\"path\":\"p\"}\n\n", `{"manifest.json":"{}","snapshot.json":"[","lifecycle.jsonl":""}`,
		"{\"target\":\"tool\",\"metadata\":{\"a\":[1e400]}}\n", "{\"question\":\"q\",\"missing_id\":\"m\"}\n{\"missing_id\":\"m\",\"status\":\"resolved\"}\n",
		"{\"text\":\"a\",\"applies_to\":[\"b\"]}\n", "{\"text\":\"a\",\"weight\":0.5}\n", "{\"text\":\"a\",\"status\":\"met\"}\n", "{\"id\":\"x\",\"text\":\"a\",\"depends_on\":\"x\"}\n",
		"{\"name\":\"n\",\"capability_class\":\"read\"}\n", `{"rules":[{}]}`} {
		f.Add(i, []byte(s))
	}
	for _, s := range []string{"\x00", "\xef\xbb\xbf{}\n", "{}\r\n", "{\"a\":1,\"a\":2}\n", "{\"a\":\"\\ud800\"}\n", "{\"a\":1e999,\"b\":-0}\n", `{"a":[[[[[[[[[[1,1,1,1,1,1,1,1]]]]]]]]]]}`} {
		f.Add(1, []byte(s))
		f.Add(6, []byte(s))
		f.Add(9, []byte(s))
	}
	store, err := Open(filepath.Join(f.TempDir(), "store"), Options{})
	must(f, err)
	f.Cleanup(func() { must(f, store.Close()) })
	x := create(f, container(f, store, coder), "s")
	add(f, x, Messages, asks("what?"), says("that"))
	must(f, x.WriteControl(Injections, []byte("{}\n"), me)) // tables are made now that stay
	f.Fuzz(func(t *testing.T, which int, data []byte) {
		name := controls()[uint(which)%uint(len(controls()))]
		before := shown(t, x, name)
		err := bounded(t, len(before)+len(data), func() error { return x.WriteControl(name, data, me) })
		now := shown(t, x, name)
		var rule *Error
		switch {
		case err != nil && !errors.As(err, &rule):
			t.Fatalf("%s: %q is refused by no rule: %v", name, data, err)
		case err != nil && now != before:
			t.Fatalf("%s: %q is refused, and changed it: %q, was %q", name, data, now, before)
		case err != nil:
			return
		}
		if name == Injections || name == MissingFile {
			if !bytes.HasPrefix([]byte(now), []byte(before)) {
				t.Fatalf("%s: what stood there is gone: %q, was %q", name, now, before)
			}
			if len(now) > 64<<10 {
				mustRemove(t, x, name)
			}
			return
		}
		if err := x.CheckControl(name, []byte(now), me, true); err != nil {
			t.Errorf("%s: %q stands there, and could not be written again: %v", name, now, err)
		}
		if err := x.WriteControl(name, []byte(now), me); err != nil || shown(t, x, name) != now {
			t.Errorf("%s: %q written again: %v, %q", name, now, err, shown(t, x, name))
		}
		if name != "state" && name != "meta.json" {
			must(t, x.RemoveControl(name))
		}
	})
}

func mustRemove(t *testing.T, x *Session, name string) {
	t.Helper()
	must(t, x.store.dir.Unlink(x.file(name)))
}

// bounded runs do, which may take memory by n bytes of input: 60 times as much, and 4 MiB, in all that it asks for.
func bounded(t *testing.T, n int, do func() error) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := do()
	runtime.ReadMemStats(&after)
	if used, most := after.TotalAlloc-before.TotalAlloc, uint64(4<<20+60*n); used > most {
		t.Errorf("%d bytes of memory for %d bytes", used, n)
	}
	return err
}
