package session

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// naive is what the files of a store say of an agent's sessions, by a look at each of them.
type naive struct {
	list []string
	cwds map[string]string // by key: the newest session there
}

func scan(t *testing.T, store, rel string) naive {
	t.Helper()
	dir := filepath.Join(store, rel, "session")
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	when := map[string]time.Time{}
	n := naive{cwds: map[string]string{}}
	for _, e := range entries {
		if e.IsDir() {
			n.list = append(n.list, e.Name())
			when[e.Name()] = newest(t, filepath.Join(dir, e.Name()))
		}
	}
	slices.SortFunc(n.list, func(a, b string) int { return cmp.Or(when[b].Compare(when[a]), strings.Compare(a, b)) })
	for _, name := range n.list {
		cwd, err := os.ReadFile(filepath.Join(dir, name, "cwd"))
		if err != nil {
			cwd = []byte("/")
		}
		cwds := []string{strings.TrimSuffix(string(cwd), "\n")}
		meta, _ := os.ReadFile(filepath.Join(dir, name, "meta.json"))
		if host := metaField(meta, "host_cwd"); host != "" {
			cwds = append(cwds, host)
		}
		for _, cwd := range cwds {
			if key := CWDKey(cwd); n.cwds[key] == "" {
				n.cwds[key] = name
			}
		}
	}
	return n
}

// newest is the time of a session: of its folder, of its plain logs, and of what stands for an archived one.
func newest(t *testing.T, dir string) time.Time {
	st, err := os.Stat(dir)
	must(t, err)
	last := st.ModTime()
	for _, log := range []string{Messages, Events} {
		files := []string{filepath.Join(dir, log)}
		if _, err := os.Stat(files[0]); err != nil {
			tails, _ := filepath.Glob(filepath.Join(dir, ColdDir, log) + ".*")
			tails = slices.DeleteFunc(tails, func(f string) bool { st, err := os.Stat(f); return err != nil || st.Size() == 0 })
			if files = tails; len(tails) == 0 {
				files = []string{filepath.Join(dir, ColdDir, log)}
			}
		}
		for _, f := range files {
			if st, err := os.Stat(f); err == nil && st.ModTime().After(last) {
				last = st.ModTime()
			}
		}
	}
	return last
}

// holds compares an index with the naive scan, in all that it answers.
func holds(t *testing.T, what string, c *Container) {
	t.Helper()
	want := scan(t, c.store.Path(), c.Rel)
	got, err := c.List()
	if err != nil || !slices.Equal(got, want.list) {
		t.Fatalf("after %s: list is %q, %v, want %q", what, got, err, want.list)
	}
	file, err := c.ListFile()
	if text := strings.Join(append(slices.Clone(want.list), ""), "\n"); err != nil || string(file) != text {
		t.Fatalf("after %s: the list's file is %q, %v, want %q", what, file, err, text)
	}
	first := append(slices.Clone(want.list), "")[0]
	if got, err := c.Current(); err != nil || got != first {
		t.Fatalf("after %s: current is %q, %v, want %q", what, got, err, first)
	}
	keys, err := c.CWDKeys()
	if err != nil || !slices.Equal(keys, slices.Sorted(maps.Keys(want.cwds))) {
		t.Fatalf("after %s: keys are %q, %v, want %q", what, keys, err, slices.Sorted(maps.Keys(want.cwds)))
	}
	for times := range few / 2 { // few are answered in another way than many
		for key, name := range want.cwds {
			if got, err := c.ByCWD(key); err != nil || got != name {
				t.Fatalf("after %s: by-cwd of %s, asked %d times before, is %q, %v, want %q", what, key, times, got, err, name)
			}
		}
	}
	if got, err := c.ByCWD(CWDKey("/none")); kind(err) != NotFound {
		t.Fatalf("after %s: by-cwd of a cwd where none is: %q, %v", what, got, err)
	}
}

// shop is a store under random changes.
type shop struct {
	t    *testing.T
	rnd  *rand.Rand
	c    *Container
	made int
}

func (s *shop) names() []string { return scan(s.t, s.c.store.Path(), s.c.Rel).list }

// any is a random session; nil when there is none.
func (s *shop) any() *Session {
	names := s.names()
	if len(names) == 0 {
		return nil
	}
	x, err := s.c.Session(names[s.rnd.IntN(len(names))])
	must(s.t, err)
	return x
}

func (s *shop) fresh() string {
	s.made++
	return fmt.Sprintf("s%d", s.made)
}

func (s *shop) host(parts ...string) string {
	return filepath.Join(append([]string{s.c.store.Path(), s.c.SessionsRel()}, parts...)...)
}

// cwds are where sessions may stand.
func (s *shop) cwd() string { return []string{"/", "/work", "/work/a", "/b"}[s.rnd.IntN(4)] }

// change makes one change, and tells which.
func (s *shop) change() string {
	t, x := s.t, s.any()
	if x == nil {
		create(t, s.c, s.fresh())
		return "create"
	}
	was := x.Name()
	switch s.rnd.IntN(16) {
	case 0:
		return "create " + create(t, s.c, s.fresh()).Name()
	case 1, 2, 3:
		add(t, x, []string{Messages, Events}[s.rnd.IntN(2)], asks("x"))
		return "append to " + was
	case 4:
		must(t, s.c.Rename(was, s.fresh()))
		return "rename of " + was
	case 5:
		before := s.names()
		_, err := x.Archive()
		must(t, err)
		if after := s.names(); !slices.Equal(before, after) {
			t.Fatalf("archiving %s changed the order from %q to %q", was, before, after)
		}
		return "archive of " + was
	case 6:
		must(t, x.Unarchive())
		return "restore of " + was
	case 7:
		must(t, s.c.Delete(was))
		return "delete of " + was
	case 8, 9:
		must(t, x.WriteControl("cwd", []byte(s.cwd()), me))
		return "cwd of " + was
	case 10:
		name := []string{"state", "context/budget", "meta.json", "context/summary.md"}[s.rnd.IntN(4)]
		text := map[string]string{"state": "done", "context/budget": "100", "meta.json": `{"x":1}`, "context/summary.md": "s"}[name]
		must(t, x.WriteControl(name, []byte(text), me))
		return name + " of " + was
	case 15:
		must(t, x.Describe(Description{Title: s.fresh(), HostCWD: filepath.Join("/home/dev", s.cwd())}, me))
		return "description of " + was
	case 14:
		before := s.names()
		must(t, x.Relocate(s.cwd(), me))
		if after := s.names(); !slices.Equal(before, after) {
			t.Fatalf("relocating %s changed the order from %q to %q", was, before, after)
		}
		return "relocation of " + was
	case 11:
		must(t, x.Event("x", nil))
		return "event in " + was
	case 12:
		must(t, x.PutPlain(x.file(fmt.Sprint("note", s.rnd.IntN(1000))), []byte("x")))
		return "plain file in " + was
	default:
		before := s.names()
		look(t, x, "latest.md")
		shown(t, x, "context/summary.md")
		if after := s.names(); !slices.Equal(before, after) {
			t.Fatalf("a look at %s changed the order from %q to %q", was, before, after)
		}
		return "a look at " + was
	}
}

// behind makes a change that no ctxfs sees: the store is closed.
func (s *shop) behind() string {
	t, names := s.t, s.names()
	if len(names) == 0 {
		return "nothing"
	}
	name := names[s.rnd.IntN(len(names))]
	old := noon.Add(time.Duration(s.rnd.IntN(1e6)) * time.Second)
	switch s.rnd.IntN(7) {
	case 0:
		copied := s.fresh()
		must(t, os.CopyFS(s.host(copied), os.DirFS(s.host(name))))
		return "copy to " + copied
	case 1:
		f, err := os.OpenFile(s.host(name, Messages), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return "nothing" // it is archived
		}
		_, err = f.WriteString(asks("behind") + "\n")
		must(t, err)
		must(t, f.Close())
		return "line in " + name
	case 2:
		must(t, os.Chtimes(s.host(name), old, old))
		for _, log := range []string{Messages, Events} {
			_ = os.Chtimes(s.host(name, log), old, old) // it may be archived
		}
		return "old times of " + name
	case 3:
		must(t, os.RemoveAll(s.host(name)))
		return "rm of " + name
	case 4:
		must(t, os.MkdirAll(s.host(s.fresh()), 0o700))
		return "mkdir"
	case 5:
		must(t, os.Rename(s.host(name), s.host(s.fresh())))
		return "mv of " + name
	default:
		st, err := os.Stat(s.host(name))
		must(t, err)
		must(t, os.WriteFile(s.host(name, "cwd"), []byte(s.cwd()+"\n"), 0o600))
		must(t, os.Chtimes(s.host(name), st.ModTime(), st.ModTime())) // as rsync -t leaves it
		return "cwd, past ctxfs, of " + name
	}
}

// give hands all sessions to their user, as rsync -a leaves them.
func (s *shop) give() {
	must(s.t, filepath.WalkDir(s.host(), func(p string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) || os.Geteuid() != 0 {
			return nil // no session was made yet
		}
		must(s.t, err)
		return os.Lchown(p, int(me.UID), int(me.GID))
	}))
}

// again opens the store anew, after a clean end or one that closes nothing; meanwhile others may have been there.
func (s *shop) again() string {
	what := "restart"
	dir, rel := s.c.store.Path(), s.c.Rel
	if s.rnd.IntN(2) == 0 {
		what = "kill"
		must(s.t, s.c.store.lock.Close()) // the kernel does so; nothing else of the store ends
		s.c.store.lock = nil
	} else {
		must(s.t, s.c.store.Close())
	}
	for range s.rnd.IntN(4) {
		what += ", " + s.behind()
	}
	s.give()
	s.c = container(s.t, openStore(s.t, dir, Options{}), rel)
	if s.rnd.IntN(2) == 0 {
		s.c.store.Warm()
	}
	return what
}

// TestIndexProperty: after whatever happens to a store, the index is what a scan of all sessions says.
func TestIndexProperty(t *testing.T) {
	steps := 200
	if testing.Short() { // the race detector runs so
		steps = 60
	}
	for seed, rel := range []string{coder, coder, coder, "shared/team/agent/coder", "home/1000/model/m.d"} {
		t.Run(fmt.Sprintf("%d %s", seed, filepath.Base(rel)), func(t *testing.T) {
			s := &shop{t: t, rnd: rand.New(rand.NewPCG(uint64(seed), 5)), c: container(t, openStore(t, t.TempDir(), Options{}), rel)}
			for _, d := range []string{"/work/a", "/b"} {
				must(t, s.c.store.MakeDirs(s.c.RootRel()+d, me))
			}
			var done []string
			for i := range steps {
				what := ""
				if s.rnd.IntN(12) == 0 {
					what = s.again()
				} else {
					what = s.change()
				}
				done = append(done, what)
				if s.rnd.IntN(3) > 0 { // sometimes many changes are read at once
					holds(t, fmt.Sprintf("step %d: %s", i, strings.Join(done, "; ")), s.c)
					done = nil
				}
			}
		})
	}
}

// TestIndexManyChanges: more changes between two questions than are entered one by one.
func TestIndexManyChanges(t *testing.T) {
	c := container(t, openStore(t, t.TempDir(), Options{}), coder)
	var all []*Session
	for i := range 5 * few {
		all = append(all, create(t, c, fmt.Sprintf("s%03d", i)))
	}
	holds(t, "creates", c)
	for i, x := range all {
		switch i % 4 {
		case 0:
			add(t, x, Messages, asks("x"))
		case 1:
			must(t, c.Rename(x.Name(), "r"+x.Name()))
		case 2:
			must(t, c.Delete(x.Name()))
		}
	}
	holds(t, "many changes", c)
}
