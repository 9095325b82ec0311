package importer

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestObject(t *testing.T) {
	o := parseObject([]byte(` { "a" : "x\n\u00e9" , "b":[1,{"c":"}]"}], "n":12, "t":true , "a":"last", "e":{} } `))
	if len(o) != 6 || o.str("a") != "last" || !o.truth("t") || o.truth("n") || o.str("n") != "" || o.obj("e") == nil || o.obj("b") != nil {
		t.Errorf("%q", o)
	}
	if text(o[0].val) != "x\né" {
		t.Errorf("%q", o[0].val)
	}
	if n, ok := o.number("n"); !ok || n != 12 {
		t.Error(n, ok)
	}
	if l := elements(o.get("b")); len(l) != 2 || string(l[1]) != `{"c":"}]"}` {
		t.Errorf("%q", l)
	}
	if got := string(o.without("a", "b", "e").encode()); got != `{"n":12,"t":true}` {
		t.Error(got)
	}
}

// TestCutObject reads objects that end anywhere: the members before the cut are there, and no more.
func TestCutObject(t *testing.T) {
	whole := `{"type":"user","n":[1,"a]"],"s":"q\"","o":{"x":null}}`
	want := parseObject([]byte(whole))
	for i := range whole {
		got := parseObject([]byte(whole[:i]))
		if len(got) > len(want) {
			t.Fatalf("%d members of %q", len(got), whole[:i])
		}
		for j, m := range got {
			if m.key != want[j].key || string(m.val) != string(want[j].val) {
				t.Errorf("%q: member %d is %s %s", whole[:i], j, m.key, m.val)
			}
		}
	}
}

// FuzzObject compares parseObject with encoding/json on what is valid, and sees that nothing else makes it panic.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":{"b":[1,2,"\"}"]},"a":null}`, `{"a"`, `[[]]`, `{"":" "}`, "{\"a\":\t-1e5 }", `"\`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		o := parseObject(raw)
		elements(raw)
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil || want == nil {
			return
		}
		for k, v := range want {
			if got := o.get(k); strings.TrimSpace(string(v)) != string(got) {
				t.Errorf("%q: %q is %q, want %q", raw, k, got, v)
			}
		}
		if depth(raw) < 1 {
			t.Errorf("%q has no depth", raw)
		}
	})
}
