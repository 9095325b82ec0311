package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// order holds an index to what it must list, now and after the store was opened again.
func order(t *testing.T, c *Container, want ...string) {
	t.Helper()
	for name, ix := range map[string]*Container{"index": c, "reopened": reopened(t, c)} {
		got, err := ix.List()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: list is %q, %v, want %q", name, got, err, want)
		}
		text := ""
		for _, n := range want {
			text += n + "\n"
		}
		if got, err := ix.ListFile(); err != nil || string(got) != text {
			t.Errorf("%s: the list's file is %q, %v, want %q", name, got, err, text)
		}
		first := ""
		if len(want) > 0 {
			first = want[0]
		}
		if got, err := ix.Current(); err != nil || got != first {
			t.Errorf("%s: current is %q, %v, want %q", name, got, err, first)
		}
	}
}

// reopened gives the container as a process that starts now sees it.
func reopened(t *testing.T, c *Container) *Container {
	t.Helper()
	return container(t, openStore(t, c.store.Path(), Options{ReadOnly: true}), c.Rel)
}

// TestIndexOrder follows the order of sessions through changes of every kind.
func TestIndexOrder(t *testing.T) {
	c := container(t, openStore(t, t.TempDir(), Options{}), coder)
	order(t, c)
	a, b, d := create(t, c, "a"), create(t, c, "b"), create(t, c, "d")
	at(t, a, noon.Add(2*time.Hour))
	at(t, b, noon)
	at(t, d, noon.Add(time.Hour))
	order(t, reopened(t, c), "a", "d", "b")

	_, err := c.List() // now it is loaded, and kept up
	must(t, err)
	add(t, b, Messages, asks("x"))
	order(t, c, "b", "a", "d")
	must(t, d.WriteControl("state", []byte("active"), me))
	order(t, c, "d", "b", "a")
	must(t, c.Rename("a", "z"))
	order(t, c, "d", "b", "z")
	must(t, d.Event("x", nil))
	order(t, c, "d", "b", "z")
	create(t, c, "new")
	order(t, c, "new", "d", "b", "z")
	if err := c.Rename("z", "b"); kind(err) != Exists {
		t.Errorf("a rename onto a session: %v", err)
	}
	if err := c.Rename("none", "y"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a rename of nothing: %v", err)
	}
	if err := c.Rename("z", "index"); kind(err) != Invalid {
		t.Errorf("a rename to a reserved name: %v", err)
	}
	order(t, c, "new", "d", "b", "z")
	must(t, c.Delete("d"))
	order(t, c, "new", "b", "z")
}

// TestIndexTies: sessions of one moment stand in name order.
func TestIndexTies(t *testing.T) {
	c := container(t, openStore(t, t.TempDir(), Options{}), coder)
	for _, n := range []string{"c", "a", "b"} {
		at(t, create(t, c, n), noon)
	}
	order(t, c, "a", "b", "c")
}

func TestByCWD(t *testing.T) {
	c := container(t, openStore(t, t.TempDir(), Options{}), coder)
	must(t, c.store.MakeDirs(c.RootRel()+"/work", me))
	a, b := create(t, c, "a"), create(t, c, "b")
	check := func(what, root, work string) {
		t.Helper()
		for _, ix := range []*Container{c, reopened(t, c)} {
			for cwd, want := range map[string]string{"/": root, "/work": work} {
				got, err := ix.ByCWD(CWDKey(cwd))
				if got != want || (want == "") != (kind(err) == NotFound) {
					t.Errorf("%s: by-cwd of %s is %q, %v, want %q", what, cwd, got, err, want)
				}
			}
			var keys []string
			if root != "" {
				keys = append(keys, CWDKey("/"))
			}
			if work != "" {
				keys = append(keys, CWDKey("/work"))
			}
			slices.Sort(keys)
			if got, err := ix.CWDKeys(); err != nil || !slices.Equal(got, keys) {
				t.Errorf("%s: keys %q, %v, want %q", what, got, err, keys)
			}
		}
	}
	at(t, a, noon)
	at(t, b, noon.Add(time.Hour))
	check("new", "b", "")
	must(t, b.WriteControl("cwd", []byte("/work"), me))
	check("one moved", "a", "b")
	must(t, a.WriteControl("cwd", []byte("/work\n"), me))
	check("both moved", "", "a")
	time.Sleep(20 * time.Millisecond) // a tick of the file system's clock: times that are the same say nothing
	add(t, b, Messages, asks("x"))
	check("the other is newer", "", "b")
	must(t, c.Rename("b", "renamed"))
	check("renamed", "", "renamed")
	if _, err := c.ByCWD("cwd-x"); kind(err) != NotFound {
		t.Errorf("a key that is none: %v", err)
	}
}

// TestIndexOddFiles: one session whose files were damaged past ctxfs hides no other.
func TestIndexOddFiles(t *testing.T) {
	for name, damage := range map[string]func(x *Session){
		"cwd is a folder": func(x *Session) { must(t, os.MkdirAll(hostPath(x, "cwd"), 0o755)) },
		"cwd is a link":   func(x *Session) { must(t, os.Symlink("/etc/passwd", hostPath(x, "cwd"))) },
		"cwd is too long": func(x *Session) { plant(t, x, "cwd", "/"+strings.Repeat("a", 10000)) },
		"messages is a link": func(x *Session) {
			must(t, os.Remove(hostPath(x, Messages)))
			must(t, os.Symlink("/etc/passwd", hostPath(x, Messages)))
		},
		"no files": func(x *Session) {
			must(t, os.RemoveAll(hostPath(x, "meta.json")))
			must(t, os.Remove(hostPath(x, Events)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := container(t, openStore(t, t.TempDir(), Options{}), coder)
			a, b := create(t, c, "a"), create(t, c, "b")
			damage(a)
			for _, n := range []string{"file", "link"} { // no sessions
				must(t, os.Symlink("a", hostPath(a, "../"+n)))
			}
			at(t, b, noon.Add(-time.Hour))
			for _, f := range []string{"."} {
				must(t, os.Chtimes(hostPath(a, f), noon, noon))
			}
			got, err := reopened(t, c).List()
			slices.Sort(got)
			if err != nil || !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("list is %q, %v", got, err)
			}
			if got, err := c.ByCWD(CWDKey("/")); err != nil || got == "" {
				t.Errorf("by-cwd: %q, %v", got, err)
			}
		})
	}
}

// TestTimes: created_at stays, updated_at follows the session, both are RFC 3339 in UTC with a newline.
func TestTimes(t *testing.T) {
	now := noon.Add(123456789)
	s := openStore(t, t.TempDir(), Options{Now: func() time.Time { return now.In(time.FixedZone("x", 7200)) }})
	x := create(t, container(t, s, coder), "s")
	if got := look(t, x, "created_at"); got != "2026-01-02T12:00:00.123456789Z\n" {
		t.Errorf("created_at is %q", got)
	}
	at(t, x, noon)
	if got := look(t, x, "updated_at"); got != "2026-01-02T12:00:00Z\n" {
		t.Errorf("updated_at is %q", got)
	}
	for what, change := range map[string]func(){
		"append":  func() { add(t, x, Messages, asks("x")) },
		"event":   func() { must(t, x.Event("x", nil)) },
		"control": func() { must(t, x.WriteControl("state", []byte("done"), me)) },
	} {
		at(t, x, noon)
		change()
		got, err := time.Parse(time.RFC3339Nano, strings.TrimSuffix(look(t, x, "updated_at"), "\n"))
		if err != nil || time.Since(got) > time.Minute || got.Location() != time.UTC {
			t.Errorf("after %s, updated_at is %v, %v", what, got, err)
		}
	}
	must(t, x.c.Rename("s", "t"))
	if got := look(t, x, "created_at"); got != "2026-01-02T12:00:00.123456789Z\n" {
		t.Errorf("after a rename, created_at is %q", got)
	}
	size, mtime, err := x.LogStat(Messages)
	if err != nil || size != int64(len(asks("x"))+1) || mtime.Location() != time.UTC {
		t.Errorf("LogStat: %d, %v, %v", size, mtime, err)
	}
}

// TestIndexManySessions lists a thousand sessions after each of some changes.
func TestIndexManySessions(t *testing.T) {
	c := container(t, openStore(t, t.TempDir(), Options{}), coder)
	want := make([]string, 1000)
	for i := range want {
		name := fmt.Sprintf("s%04d", i)
		want[len(want)-1-i] = name
		must(t, os.MkdirAll(c.store.Path()+"/"+c.SessionsRel()+"/"+name, 0o755))
		when := noon.Add(time.Duration(i) * time.Second)
		must(t, os.Chtimes(c.store.Path()+"/"+c.SessionsRel()+"/"+name, when, when))
	}
	got, err := c.List()
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%d names, %v", len(got), err)
	}
	x, err := c.Session("s0500")
	must(t, err)
	add(t, x, Messages, asks("x"))
	if got, err := c.Current(); err != nil || got != "s0500" {
		t.Errorf("current is %q, %v", got, err)
	}
	if n, err := c.store.Count(); err != nil || n != 1000 {
		t.Errorf("Count: %d, %v", n, err)
	}
}

// TestIndexPlanted: what a user plants in their home is not read for them, and hides no other session.
func TestIndexPlanted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIP: only root can make files of two users")
	}
	c := container(t, openStore(t, t.TempDir(), Options{}), coder)
	x := create(t, c, "s")
	secret := t.TempDir() + "/secret"
	must(t, os.WriteFile(secret, []byte("/of-root\n"), 0o600))
	if err := os.Link(secret, hostPath(x, "cwd")); err != nil {
		t.Skipf("SKIP: no hard links here: %v", err)
	}
	foreign := create(t, c, "foreign")
	must(t, os.Chown(hostPath(foreign, "."), 4242, 4242))
	for what, ix := range map[string]*Container{"index": c, "reopened": reopened(t, c)} {
		keys, err := ix.CWDKeys()
		if err != nil || !slices.Equal(keys, []string{CWDKey("/")}) {
			t.Errorf("%s: keys %q, %v", what, keys, err)
		}
		if got, err := ix.ByCWD(CWDKey("/")); err != nil || got != "s" {
			t.Errorf("%s: by-cwd: %q, %v", what, got, err)
		}
	}
}
