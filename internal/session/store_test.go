package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLock: one process holds a store; another that only looks works beside it.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	x := create(t, container(t, s, coder), "s")
	add(t, x, Messages, asks("x"))
	fds := openFDs(t)
	for range 3 {
		var e *Error
		if _, err := Open(dir, Options{}); !errors.As(err, &e) || e.Kind != Locked || e.Hint == "" {
			t.Errorf("a second Open: %v", err)
		}
	}
	if now := openFDs(t); now != fds {
		t.Errorf("%d descriptors are open, %d were", now, fds)
	}
	before := tree(t, dir)
	ro := openStore(t, dir, Options{ReadOnly: true})
	y, err := container(t, ro, coder).Session("s")
	must(t, err)
	if a, b := look(t, x, "context/pack.json"), look(t, y, "context/pack.json"); a != b {
		t.Errorf("beside a daemon the pack is another:\n%s\n%s", a, b)
	}
	if after := tree(t, dir); !slices.Equal(before, after) {
		t.Errorf("looking changed the store:\n%s", strings.Join(after, "\n"))
	}
	must(t, s.Close())
	again := openStore(t, dir, Options{})
	must(t, again.Close())
}

// tree lists the files of a store with their sizes and times.
func tree(t *testing.T, top string) []string {
	t.Helper()
	var out []string
	must(t, filepath.Walk(top, func(name string, info os.FileInfo, err error) error {
		if err == nil {
			out = append(out, name+" "+info.Mode().String()+" "+info.ModTime().String())
		}
		return err
	}))
	return out
}

// openFDs counts this process's open files, but for those of tests' own machinery that come and go.
func openFDs(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	n := 0
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, os.TempDir()) {
			n++
		}
	}
	return n
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, opt := range []Options{{}, {ReadOnly: true}} {
		if _, err := Open(filepath.Join(dir, "file"), opt); !errors.Is(err, unix.ENOTDIR) {
			t.Errorf("a file as store: %v", err)
		}
	}
	if _, err := Open(filepath.Join(dir, "none"), Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no store to look at: %v", err)
	}
	if _, err := Open(dir, Options{Tokenizer: "none"}); err == nil {
		t.Error("an unknown tokenizer")
	}
}

func TestContainers(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	for rel, want := range map[string]struct {
		Agent string
		Model bool
		Scope Scope
	}{
		coder:                   {Agent: "coder", Scope: Private},
		"home/0/model/big.d":    {Agent: "big", Model: true, Scope: Private},
		"shared/team/agent/a":   {Agent: "a", Scope: Shared},
		"shared/t/model/x.y.d":  {Agent: "x.y", Model: true, Scope: Shared},
		"home/1/agent/session":  {Agent: "session", Scope: Private},
		"home/1/agent/index":    {Agent: "index", Scope: Private},
		"shared/index/agent/in": {Agent: "in", Scope: Shared},
	} {
		c, err := s.Container(rel)
		if err != nil || c.Agent != want.Agent || c.Model != want.Model || c.Scope != want.Scope || c.Rel != rel {
			t.Errorf("Container(%q): %+v, %v", rel, c, err)
		}
		if c2, err := s.Container(rel); c2 != c || err != nil {
			t.Errorf("Container(%q) twice: another one, %v", rel, err)
		}
	}
	for _, rel := range []string{"", "home", "home/x/agent/a", "home/1/agent", "home/1/agent/a/b", "home/1/model/big", "home/-1/agent/a", "/home/1/agent/a", "home/1/agent/..",
		"home/1/agent/a.sock", "home/1/agent/a.d", "home/1/agent/-a", "home/1/model/.d", "home/1/model/a.d.d", "shared/../agent/a", "shared/.ctxfs/agent/a", "shared/a b/agent/a", "home/1/tool/a"} {
		for range 2 {
			if c, err := s.Container(rel); err == nil {
				t.Errorf("Container(%q) = %+v", rel, c)
			}
		}
	}
}

func TestCreate(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	c := container(t, s, coder)
	if _, err := c.Names(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Names of an agent that is not there: %v", err)
	}
	if n, err := s.Count(); n != 0 || err != nil {
		t.Errorf("Count: %d, %v", n, err)
	}
	create(t, c, "s")
	if _, err := c.Create("s", me); !errors.Is(err, fs.ErrExist) {
		t.Errorf("twice: %v", err)
	}
	for name, want := range map[string]Kind{"index": Invalid, "": Invalid, "..": Invalid, "a.d": Invalid, strings.Repeat("a", 65): NameTooLong} {
		if _, err := c.Create(name, me); kind(err) != want {
			t.Errorf("Create(%q): %v", name, err)
		}
		if _, err := c.Session(name); kind(err) != want {
			t.Errorf("Session(%q): %v", name, err)
		}
	}
	if _, err := c.Session("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Session of nothing: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(s.Path(), c.SessionsRel(), "file"), nil, 0o600))
	if _, err := c.Session("file"); kind(err) != NotFound {
		t.Errorf("Session of a file: %v", err)
	}
	if names, err := c.Names(); err != nil || !slices.Equal(names, []string{"s"}) {
		t.Errorf("Names: %q, %v", names, err)
	}
	if n, err := s.Count(); n != 1 || err != nil {
		t.Errorf("Count: %d, %v", n, err)
	}
	create(t, container(t, s, "shared/team/model/m.d"), "t")
	if n, err := s.Count(); n != 2 || err != nil {
		t.Errorf("Count: %d, %v", n, err)
	}
	must(t, c.Delete("s"))
	if n, err := s.Count(); n != 1 || err != nil {
		t.Errorf("Count after a delete: %d, %v", n, err)
	}
	if _, err := c.Session("s"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Session after a delete: %v", err)
	}
}

func TestEachContainer(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	want := []string{"home/1000/agent/a", "home/1000/agent/b", "home/1000/model/m.d", "shared/team/agent/a"}
	for _, rel := range want {
		create(t, container(t, s, rel), "s")
	}
	for _, odd := range []string{"home/nobody/agent/x", "home/1000/agent/bad.sock", "home/1000/model/m", "home/1000/.ctxfs/agent/x"} {
		must(t, os.MkdirAll(filepath.Join(s.Path(), odd, "session", "s"), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(s.Path(), "home", "file"), nil, 0o600))
	for range 2 { // what was asked for before is no reason to visit it
		var got []string
		must(t, s.EachContainer(func(c *Container) error { got = append(got, c.Rel); return nil }))
		if !slices.Equal(got, want) {
			t.Errorf("visited %q, want %q", got, want)
		}
	}
	stop := errors.New("stop")
	if err := s.EachContainer(func(*Container) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

// TestByHand opens sessions that were made with mkdir and an editor while nothing was mounted.
func TestByHand(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"nothing":       {},
		"messages":      {Messages: asks("Find the bug.") + "\n" + says("Found it.") + "\n"},
		"no last end":   {Messages: asks("Find the bug.") + "\n" + says("Found it.")},
		"and a summary": {Messages: asks("Find the bug.") + "\n" + says("Found it.") + "\n", "context/summary.md": "Bugs.\n", "context/pinned/a.md": "Be brief.\n"},
		"bad controls":  {Messages: asks("Find the bug.") + "\n" + says("Found it.") + "\n", "context/budget": "much", "state": "dancing\n", "context/facts.jsonl": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, t.TempDir(), Options{})
			dir := filepath.Join(s.Path(), coder, "session", "hand")
			must(t, os.MkdirAll(dir, 0o755))
			for f, data := range files {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755))
				putFile(t, filepath.Join(dir, f), []byte(data))
			}
			x, err := container(t, s, coder).Session("hand")
			must(t, err)
			md := look(t, x, "context/pack.md")
			if want := files[Messages] != ""; strings.Contains(md, "Find the bug.") != want || want && look(t, x, "latest.md") != "Found it.\n" {
				t.Errorf("latest.md %q, pack.md\n%s", look(t, x, "latest.md"), md)
			}
			if meta := object(t, shown(t, x, "meta.json")); meta["session"] != "hand" || meta["agent"] != "coder" || meta["scope"] != "private" {
				t.Errorf("meta.json is %v", meta)
			}
			for _, f := range []string{"created_at", "updated_at"} {
				if at, err := time.Parse(time.RFC3339Nano, strings.TrimSuffix(look(t, x, f), "\n")); err != nil || time.Since(at) > time.Minute {
					t.Errorf("%s is %v, %v", f, at, err)
				}
			}
			add(t, x, Messages, asks("And now?"))
			must(t, x.Event("x", nil))
			must(t, x.WriteControl("state", []byte("active"), me))
			must(t, x.WriteControl("meta.json", []byte(`{"title":"t"}`), me))
			if md := look(t, x, "context/pack.md"); !strings.Contains(md, "And now?") {
				t.Errorf("after an append:\n%s", md)
			}
			if got, err := container(t, s, coder).List(); err != nil || !slices.Equal(got, []string{"hand"}) {
				t.Errorf("list %q, %v", got, err)
			}
		})
	}
}

// TestByHandReadOnly looks at such a session without making the files that it lacks.
func TestByHandReadOnly(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, coder, "session", "hand"), 0o755))
	s := openStore(t, dir, Options{ReadOnly: true})
	x, err := container(t, s, coder).Session("hand")
	must(t, err)
	before := tree(t, dir)
	_ = look(t, x, "context/pack.md")
	if n, err := x.LogTokens(Events); n != 0 || err != nil {
		t.Errorf("tokens of a log that is not there: %d, %v", n, err)
	}
	if after := tree(t, dir); !slices.Equal(before, after) {
		t.Errorf("looking changed the store:\n%s", strings.Join(after, "\n"))
	}
}
