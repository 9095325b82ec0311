package session

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"ctxfs/internal/beneath"

	"golang.org/x/sys/unix"
)

// inMemory gives the agent's temporary sessions, and makes the store in memory.
func inMemory(t *testing.T, s *Store) *Container {
	t.Helper()
	m, err := s.OpenMemory(me.UID)
	if err != nil && os.Geteuid() != 0 {
		t.Skipf("SKIP: no file system in memory here: %v", err)
	}
	must(t, err)
	return container(t, m, coder)
}

func kindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

// A temporary session is a whole one, in no file of the store, and gone when it ends.
func TestTemporary(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	var ended []string
	s.Ended = func(c *Container, name string) { ended = append(ended, c.SessionsRel()+"/"+name) }
	c := inMemory(t, s)
	x := create(t, c, "s")
	same := create(t, container(t, s, coder), "s") // a private one of the same name
	add(t, x, Messages, `{"role":"user","content":"only for now"}`)
	data, err := x.View("context/pack.md")
	if err != nil || !strings.Contains(string(data), "only for now") {
		t.Errorf("the pack: %s, %v", data, err)
	}
	meta, err := x.ReadControl("meta.json")
	if err != nil || !strings.Contains(string(meta), `"scope": "temp"`) {
		t.Errorf("meta.json: %s, %v", meta, err)
	}
	if list, err := container(t, s, coder).List(); err != nil || len(list) != 1 {
		t.Errorf("the index: %v, %v", list, err)
	}
	if n, err := s.Count(); n != 1 || s.Temporary() != 1 || err != nil {
		t.Errorf("%d sessions, %d temporary, %v", n, s.Temporary(), err)
	}
	if _, err := s.Dir().Stat(coder + "/temp"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is in the store: %v", err)
	}
	for what, err := range map[string]error{"delete": c.Delete("s"), "rename": c.Rename("s", "t"), "archive": second(x.Archive()), "end": same.End()} {
		if kindOf(err) != NotPermitted {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(t, x.End())
	if len(ended) != 1 || ended[0] != coder+"/temp/s" {
		t.Errorf("told of: %v", ended)
	}
	if _, err := c.Session("s"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	if _, err := c.store.dir.Stat("home"); !errors.Is(err, fs.ErrNotExist) || s.Temporary() != 0 {
		t.Errorf("something is left: %v, %d", err, s.Temporary())
	}
	if kindOf(x.End()) != NotFound {
		t.Error("it ended twice")
	}
}

func second[T any](_ T, err error) error { return err }

// A refused line of a temporary session is told of, and kept nowhere.
func TestTemporaryQuarantine(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	x := create(t, inMemory(t, s), "s")
	if err := tryAdd(x, Messages, "secret"); err == nil {
		t.Error("it was taken")
	}
	size, err := x.LogSize(Events)
	must(t, err)
	events := make([]byte, size)
	_, err = x.ReadLog(Events, events, 0)
	if !strings.Contains(string(events), "ctxfs.line.quarantined") || strings.Contains(string(events), `"path"`) {
		t.Errorf("events: %s, %v", events, err)
	}
	for _, d := range []*Store{s, x.store} {
		if _, err := d.dir.Stat("home/1000/.ctxfs"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is kept: %v", err)
		}
	}
}

// What is open when the session ends gives what it has, and takes nothing; nothing brings the session back.
func TestTemporaryOpenAtItsEnd(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	c := inMemory(t, s)
	x := create(t, c, "s")
	add(t, x, Messages, `{"n":1}`)
	l, err := x.Log(Messages)
	must(t, err)
	must(t, x.End())
	buf := make([]byte, 100)
	if n, _ := l.ReadAt(buf, 0); string(buf[:n]) != `{"n":1}`+"\n" {
		t.Errorf("read %q", buf[:n])
	}
	for what, err := range map[string]error{"append": x.Append(Messages, []byte("{}\n")), "event": x.Event("x", nil), "view": second(x.View("latest.md"))} {
		if kindOf(err) != NotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"control": x.WriteControl("state", []byte("done\n"), me), "plain": x.PutPlain(coder+"/temp/s/context/pinned/f", nil),
		"folder": c.store.MakeDirs(coder+"/temp/s/context/pinned", me), "pin": x.WriteControl("context/budget", []byte("1000\n"), me),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
	x.Release()
	s.later.Wait()
	if len(x.logs) != 0 {
		t.Errorf("%d logs are open", len(x.logs))
	}
	next := create(t, c, "s") // another one
	if next == x || next.Over() || !x.Over() {
		t.Error("the name leads to what has ended")
	}
}

// A full store in memory says ENOSPC, and has room again when its sessions end; other users' have theirs.
func TestTemporaryFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIP: only root has a file system for each user")
	}
	s := openStore(t, t.TempDir(), Options{MemoryBytes: 1 << 20})
	c := inMemory(t, s)
	x := create(t, c, "s")
	line := []byte(`{"x":"` + strings.Repeat("x", 100<<10) + `"}` + "\n")
	var err error
	for i := 0; i < 20 && err == nil; i++ {
		err = x.Append(Messages, line)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("full: %v", err)
	}
	if size, err := x.LogSize(Messages); err != nil || size%int64(len(line)) != 0 {
		t.Errorf("the log has %d bytes, %v", size, err)
	}
	for i := range 40 { // files without bytes have a limit of their own
		_, err = c.Create("t"+string(rune('A'+i)), me)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("many files: %v", err)
	}
	must(t, c.store.dir.Scan(c.SessionsRel(), func(e beneath.Found) {
		if _, err := c.store.dir.Stat(path.Join(c.SessionsRel(), e.Name, "meta.json")); err != nil {
			t.Errorf("half a session: %v", err)
		}
	}))
	other, err := s.OpenMemory(me.UID + 1)
	must(t, err)
	oc := container(t, other, "home/1001/agent/coder")
	oy, err := oc.Create("s", Caller{UID: me.UID + 1, GID: 1})
	must(t, err)
	must(t, oy.Append(Messages, line))
	names, err := c.Names()
	must(t, err)
	for _, n := range names {
		y, err := c.Session(n)
		must(t, err)
		must(t, y.End())
	}
	if st, err := c.store.dir.Statfs(); err != nil || st.Bfree != st.Blocks {
		t.Errorf("%d of %d blocks are free, %v", st.Bfree, st.Blocks, err)
	}
	create(t, c, "again")
}

// Sessions come and end while others write into them: nothing is left.
func TestTemporaryRace(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	c := inMemory(t, s)
	var wg sync.WaitGroup
	for i := range 4 {
		name := "s" + string(rune('a'+i))
		for range 2 {
			wg.Go(func() {
				for range 50 {
					if x, err := c.Session(name); err == nil {
						_ = x.Append(Messages, []byte("{}\n"))
						_ = x.WriteControl("context/budget", []byte("1000\n"), me)
						dir := path.Join(coder, "temp", name, "context/pinned")
						_ = c.store.MakeDirs(dir, me)
						_ = x.PutPlain(dir+"/f", []byte("x"))
						_, _ = x.View("context/pack.md")
					}
				}
			})
		}
		wg.Go(func() {
			for range 50 {
				x, err := c.Create(name, me)
				if err != nil {
					t.Error(err)
					return
				}
				if err := x.End(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.later.Wait()
	for _, dir := range []string{"home", tempTrash + "/."} {
		if entries, err := c.store.dir.ReadDir(dir); err == nil && len(entries) > 0 {
			t.Errorf("%s: %v is left", dir, entries)
		}
	}
	if len(c.store.sessions) != 0 || len(s.ready.at) != 0 || s.Temporary() != 0 {
		t.Errorf("%d sessions, %d idle, %d counted", len(c.store.sessions), len(s.ready.at), s.Temporary())
	}
}
