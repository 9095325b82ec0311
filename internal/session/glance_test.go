package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A glance tells of the pack that was made last, and makes none.
func TestGlance(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	c := container(t, s, coder)
	x := create(t, c, "s")
	var bytes, added int64
	steps := []struct {
		name  string
		do    func()
		pack  PackState
		packs int
	}{
		{"new", func() {}, PackNone, 0},
		{"one record", func() { add(t, x, Messages, asks("why?")) }, PackNone, 0},
		{"another pack is read", func() { look(t, x, "context/pack@500.md") }, PackNone, 0},
		{"the pack is read", func() { look(t, x, "context/pack.json") }, PackReady, 1},
		{"it is read again", func() { look(t, x, "context/pack.md") }, PackReady, 1},
		{"two records", func() { add(t, x, Messages, says("so."), asks("and?")) }, PackStale, 1},
		{"an event, after it is read", func() { look(t, x, "context/pack.md"); add(t, x, Events, `{"type":"a"}`) }, PackReady, 2},
		{"a new budget", func() { must(t, x.WriteControl("context/budget", []byte("900\n"), me)) }, PackStale, 2},
		{"the session rests", func() { look(t, x, "context/pack.md"); x.rest() }, PackResting, 3},
		{"it is awake again", func() { look(t, x, "context/pack.md") }, PackReady, 4},
		{"it is busy", func() { x.mu.Lock() }, PackBusy, 4},
	}
	for _, st := range steps {
		st.do()
		g, err := c.Glance("s")
		must(t, err)
		if g.Pack != st.pack || g.Packs != st.packs || (g.Tokens > 0) != (st.packs > 0) || (g.Budget > 0) != (st.packs > 0) || g.Updated.IsZero() {
			t.Errorf("%s: %+v", st.name, g)
		}
		if g.Bytes < bytes || g.Added < added {
			t.Errorf("%s: %d bytes of %d records, after %d of %d", st.name, g.Bytes, g.Added, bytes, added)
		}
		bytes, added = g.Bytes, g.Added
	}
	x.mu.Unlock()
	if added != 3 || bytes == 0 {
		t.Errorf("%d records were appended, %d bytes", added, bytes)
	}
	if g, _ := c.Glance("s"); g.Budget != 900 {
		t.Errorf("budget %d", g.Budget)
	}
}

// A glance tells what the session says of itself, and of a long text its start.
func TestGlanceWords(t *testing.T) {
	x := newSession(t)
	own, perm, err := x.owner()
	must(t, err)
	put := func(name, text string) {
		t.Helper()
		must(t, x.store.dir.WriteFile(x.file(name), []byte(text), perm, own))
	}
	look := func(state, cwd, title string) {
		t.Helper()
		g, err := x.Container().Glance("s")
		must(t, err)
		if g.State != state || g.CWD != cwd || g.Title != title {
			t.Errorf("%+v, not %s, %s, %s", g, state, cwd, title)
		}
	}
	look("idle", "/", "")
	must(t, x.WriteControl("state", []byte("active\n"), me))
	put("cwd", "/a\x1b/b\n")
	put("meta.json", `{"title":"`+strings.Repeat("é", 400)+`"}`)
	look("active", "/a\x1b/b", strings.Repeat("é", 256))
	put("meta.json", `{"title":["no text"]}`)
	look("active", "/a\x1b/b", "")
	put("meta.json", `{"title":"`+strings.Repeat("x", maxGlance)+`"}`)
	look("active", "/a\x1b/b", "")
}

// Of a session that nobody uses a glance makes no object, and one that was made by hand has no log yet.
func TestGlanceAside(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	create(t, container(t, s, coder), "s")
	must(t, s.Close())
	must(t, os.Mkdir(filepath.Join(dir, coder, "session", "hand"), 0o700))
	s = openStore(t, dir, Options{})
	c := container(t, s, coder)
	for _, name := range []string{"s", "hand"} {
		if g, err := c.Glance(name); err != nil || g.Pack != PackNone || g.Bytes != 0 || len(s.sessions) != 0 {
			t.Errorf("%s: %+v, %v, %d objects", name, g, err, len(s.sessions))
		}
	}
	for _, name := range []string{"none", "../s", ""} {
		if _, err := c.Glance(name); err == nil {
			t.Errorf("%q is there", name)
		}
	}
}
