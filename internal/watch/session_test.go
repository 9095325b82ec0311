package watch

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAgain reads logs that did not change again when what was read is not where it is looked for now.
func TestAgain(t *testing.T) {
	log := said("a", "one") + said("bb", "two")
	for name, c := range map[string]struct {
		change func(w *world, x *Watcher)
		want   map[string]string
		told   string
	}{
		"nothing":       {func(*world, *Watcher) {}, map[string]string{"claude-code/s": "one two"}, ""},
		"another agent": {func(_ *world, x *Watcher) { x.cfg.Agent = "coder" }, map[string]string{"claude-code/s": "one two", "coder/s": "one two"}, ""},
		"another store": {func(w *world, _ *Watcher) { clear(w.store.sessions); w.store.here.Store = "new" }, map[string]string{"claude-code/s": "one two"}, ""},
		"a restored session, shorter": {func(w *world, _ *Watcher) {
			s := w.store.sessions["claude-code/s"]
			first, _ := s.logs[Messages].ReadBytes('\n')
			s.logs[Messages] = bytes.NewBuffer(first)
		}, map[string]string{"claude-code/s": "one two"}, ""},
		"a deleted session": {func(w *world, _ *Watcher) { clear(w.store.sessions) }, map[string]string{}, "deleted sessions that stay so until their logs grow, or --rescan: 1"},
		"another session of the name": {func(w *world, _ *Watcher) {
			clear(w.store.sessions)
			s, _ := w.store.Make("claude-code", "s")
			_ = s.Append(Messages, []byte(`{"role":"user","content":[{"text":"mine"}]}`+"\n"))
		}, map[string]string{"claude-code/s": "mine", "claude-code/s-2": "one two"}, ""},
		"a renamed session": {func(w *world, _ *Watcher) { w.rename("s", "kept") }, map[string]string{"claude-code/kept": "one two"}, ""},
		"a renamed session, and it grows": {func(w *world, _ *Watcher) {
			w.rename("s", "kept")
			w.write("s.jsonl", log+said("ccc", "three"))
		}, map[string]string{"claude-code/kept": "one two three"}, ""},
	} {
		for _, restart := range []bool{true, false} {
			w := newWorld(t)
			w.fresh = false
			w.write("s.jsonl", log)
			x := w.watcher()
			for i := range 2 {
				if i == 1 {
					if restart {
						x = w.watcher()
					}
					c.change(w, x)
					w.store.here.Mount = "another"
				}
				if err := x.Once(); err != nil {
					t.Fatal(err)
				}
			}
			if len(w.store.sessions) != len(c.want) {
				t.Errorf("%s: %v", name, w.store.sessions)
				continue
			}
			for session, want := range c.want {
				if got := words(t, w.log(session, Messages)); got != want {
					t.Errorf("%s: %s says %q, want %q", name, session, got, want)
				}
			}
			if got := strings.Join(w.told, "\n"); !strings.HasPrefix(got, c.told) || c.told == "" && got != "" {
				t.Errorf("%s: told %q, want %q", name, got, c.told)
			}
		}
	}
}

func (w *world) rename(old, name string) {
	w.store.sessions["claude-code/"+name] = w.store.sessions["claude-code/"+old]
	delete(w.store.sessions, "claude-code/"+old)
}

// TestRenamedTwice finds a session that is renamed while its log is at rest, again and again.
func TestRenamedTwice(t *testing.T) {
	w := newWorld(t)
	w.fresh = false
	log, x := "", w.watcher()
	for i, name := range []string{"s", "t", "s"} {
		log += said(strings.Repeat("x", i+1), "w")
		w.write("s.jsonl", log)
		if err := x.Once(); err != nil {
			t.Fatal(err)
		}
		if i < 2 {
			w.rename(name, []string{"t", "s"}[i])
		}
	}
	if got := words(t, w.log("claude-code/s", Messages)); got != "w w w" || len(w.store.sessions) != 1 {
		t.Errorf("%s; sessions %v", got, w.store.sessions)
	}
}

// TestHeldOfReplaced writes what a log held back when another file takes its place.
func TestHeldOfReplaced(t *testing.T) {
	for _, unseen := range []bool{false, true} {
		w := newWorld(t)
		w.quiet = time.Hour
		w.write("s.jsonl", said("a", "one")+answer("b", "m", "two"))
		x := w.watcher()
		w.steps(x)
		path := "s.jsonl"
		if unseen { // its folder is another before the watch looks
			path = "q/s.jsonl"
		}
		w.write("new", said("xxx", "x"))
		if err := os.MkdirAll(filepath.Join(w.dir, "logs", filepath.Dir(path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if unseen {
			if err := os.Remove(filepath.Join(w.dir, "logs/s.jsonl")); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(filepath.Join(w.dir, "logs/new"), filepath.Join(w.dir, "logs", path)); err != nil {
			t.Fatal(err)
		}
		w.steps(x)
		if one, two := words(t, w.log("claude-code/s", Messages)), words(t, w.log("claude-code/s-2", Messages)); one != "one two" || two != "x" {
			t.Errorf("unseen %v: %q, %q; told %q", unseen, one, two, w.told)
		}
	}
}

// steps has a watcher read what is there, and not wait for more.
func (w *world) steps(x *Watcher) {
	w.t.Helper()
	for _, log := range logsIn(x) {
		if err := x.step(log); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestAway lets go of sessions that cannot be reached any more, and goes on when they can.
func TestAway(t *testing.T) {
	w := newWorld(t)
	w.write("s.jsonl", said("a", "one"))
	x := w.watcher()
	n := newNotifier()
	defer n.close()
	x.look(t.Context(), n)
	w.store.away = errors.New("it is not mounted")
	w.write("s.jsonl", said("a", "one")+said("bb", "two"))
	x.look(t.Context(), n)
	x.look(t.Context(), n)
	if len(x.logs) != 0 || len(w.told) != 1 || words(t, w.log("claude-code/s", Messages)) != "one" {
		t.Errorf("%d logs, told %q", len(x.logs), w.told)
	}
	w.store.away = nil
	if x.look(t.Context(), n); words(t, w.log("claude-code/s", Messages)) != "one two" {
		t.Errorf("it does not go on; told %q", w.told)
	}
}
