package session

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// described returns what meta.json says in the members of a Description.
func described(t *testing.T, x *Session) Description {
	t.Helper()
	m := object(t, shown(t, x, "meta.json"))
	text := func(key string) string { s, _ := m[key].(string); return s }
	return Description{Client: text("client"), ClientSession: text("client_session"), ClientVersion: text("client_version"),
		HostCWD: text("host_cwd"), Model: text("model"), Title: text("title")}
}

// TestDescribe enters what a client reports of its session, follows changes, and leaves what the agent wrote.
func TestDescribe(t *testing.T) {
	x := newSession(t)
	first := Description{Client: "coder", ClientSession: "s-1", ClientVersion: "1.2", HostCWD: "/home/dev/proj", Model: "small", Title: "fix it"}
	id := object(t, shown(t, x, "meta.json"))["id"]
	must(t, x.Describe(first, me))
	if got := described(t, x); got != first {
		t.Errorf("described as %+v, want %+v", got, first)
	}
	before, err := os.Stat(hostPath(x, "meta.json"))
	must(t, err)
	must(t, x.Describe(first, me))
	must(t, x.Describe(Description{Title: "fix it"}, me))
	after, err := os.Stat(hostPath(x, "meta.json"))
	must(t, err)
	if !os.SameFile(before, after) {
		t.Error("meta.json was written though nothing changed")
	}

	// The agent's own words win, in what it wrote; the rest follows the client.
	words := shown(t, x, "meta.json")
	must(t, x.WriteControl("meta.json", []byte(strings.Replace(words, `"title": "fix it"`, `"title": "mine"`, 1)), me))
	must(t, x.Describe(Description{Title: "better", Model: "large"}, me))
	want := first
	want.Title, want.Model = "mine", "large"
	if got := described(t, x); got != want {
		t.Errorf("after the agent wrote: %+v, want %+v", got, want)
	}
	must(t, x.WriteControl("meta.json", []byte(`{"model":"own","note":1}`), me))
	must(t, x.Describe(Description{Title: "better", Model: "larger", Client: "coder"}, me))
	if got := described(t, x); got != (Description{Title: "better", Model: "own", Client: "coder"}) {
		t.Errorf("after the agent wrote another object: %+v", got)
	}
	if m := object(t, shown(t, x, "meta.json")); m["id"] != id || m["note"] != 1.0 {
		t.Errorf("meta.json lost its id or the agent's note: %v", m)
	}
	must(t, x.Describe(Description{Title: strings.Repeat("é", 1000), HostCWD: "/" + strings.Repeat("x", 5000)}, me))
	if got := described(t, x); len(got.Title) > maxWord || !strings.HasPrefix(got.Title, "éé") || got.HostCWD != "" {
		t.Errorf("long texts: a title of %d bytes, a host_cwd of %d", len(got.Title), len(got.HostCWD))
	}
}

// TestDescribeModel leaves the identity of a model's session alone.
func TestDescribeModel(t *testing.T) {
	x := create(t, container(t, openStore(t, t.TempDir(), Options{}), "home/1000/model/big.d"), "s")
	must(t, x.Describe(Description{Model: "other", Title: "t"}, me))
	if got := described(t, x); got.Model != "big" || got.Title != "t" {
		t.Errorf("%+v", got)
	}
}

// TestDescribeCWD moves the session to the directory where the agent's root has it, and finds it by both names.
func TestDescribeCWD(t *testing.T) {
	c := container(t, openStore(t, t.TempDir(), Options{}), coder)
	must(t, c.store.MakeDirs(c.RootRel()+"/work/proj", me))
	in, out, moved := create(t, c, "in"), create(t, c, "out"), create(t, c, "moved")
	must(t, moved.WriteControl("cwd", []byte("/work"), me))
	for i, x := range []*Session{in, out, moved} {
		cwd := "/work/proj"
		if x == out {
			cwd = "/home/dev/proj/"
		}
		must(t, x.Describe(Description{HostCWD: cwd}, me))
		at(t, x, noon.Add(-time.Duration(i)*time.Hour))
	}
	for x, want := range map[*Session]string{in: "/work/proj\n", out: "/\n", moved: "/work\n"} {
		if got := shown(t, x, "cwd"); got != want {
			t.Errorf("cwd of %s is %q, want %q", x.Name(), got, want)
		}
	}
	keys := []string{CWDKey("/work/proj"), CWDKey("/work"), CWDKey("/home/dev/proj"), CWDKey("/")}
	slices.Sort(keys)
	for what, ix := range map[string]*Container{"index": c, "reopened": reopened(t, c)} {
		if got, err := ix.CWDKeys(); err != nil || !slices.Equal(got, keys) {
			t.Errorf("%s: keys %q, %v, want %q", what, got, err, keys)
		}
		for range few + 2 { // the look along the order, then the map
			for cwd, want := range map[string]string{"/work/proj": "in", "/home/dev/proj": "out", "/": "out", "/work": "moved"} {
				if got, err := ix.ByCWD(CWDKey(cwd)); err != nil || got != want {
					t.Fatalf("%s: by-cwd of %s is %q, %v, want %q", what, cwd, got, err, want)
				}
			}
		}
	}
}
