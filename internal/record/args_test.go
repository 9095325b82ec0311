package record

import (
	"encoding/json"
	"testing"
)

func TestArgs(t *testing.T) {
	var a Args
	if !a.Read(` {"path":"a\u0062","n":[1, 2],"path":"last","Content":null} `) {
		t.Fatal("an object is not read")
	}
	if s, ok := a.Text("path"); !ok || s != "last" {
		t.Errorf("path %q %v", s, ok)
	}
	if s, ok := a.Text("n"); ok {
		t.Errorf("a list is the text %q", s)
	}
	if s := a.Raw("n"); s != "[1, 2]" || a.Raw("none") != "" {
		t.Errorf("n %q", s)
	}
	found := ""
	a.Like("content", func(raw string) { found += raw })
	if found != "null" {
		t.Errorf("like content: %q", found)
	}
	if a.Read("[]") || a.Read(`{"a":1`) || a.Read("") {
		t.Error("what is no object was read")
	}
}

func FuzzArgs(f *testing.F) {
	for _, s := range []string{`{"path":"x"}`, `{"path":1}`, `{"a":{"path":"x"},"path":null}`, "{", "null", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var a Args
		var want map[string]json.RawMessage
		ok := a.Read(s)
		if err := json.Unmarshal([]byte(s), &want); (err == nil && want != nil) != ok {
			t.Fatalf("%q: %v, want %v", s, ok, err)
		}
		var p string
		isText := len(want["path"]) > 0 && want["path"][0] == '"' && json.Unmarshal(want["path"], &p) == nil
		if got, ok := a.Text("path"); ok != isText || got != p {
			t.Errorf("%q: path %q %v, want %q", s, got, ok, p)
		}
	})
}
