package watch

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/internal/intake"
)

// within waits until something holds.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 1000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not within ten seconds: %s", what)
}

// locked is a store that Run and the test use at the same time.
type locked struct {
	turn chan struct{}
	in   *memStore
}

func (l locked) Open(agent, name string) (intake.Session, error) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	s, err := l.in.Open(agent, name)
	return lockedSession{l, s}, err
}

func (l locked) Make(agent, name string) (intake.Session, error) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	s, err := l.in.Make(agent, name)
	return lockedSession{l, s}, err
}

func (l locked) Mark(agent, name string) (intake.Mark, error) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.in.Mark(agent, name)
}

func (l locked) Names(agent string) (map[string]string, error) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.in.Names(agent)
}

func (l locked) Child(agent, name, id string) (map[string]string, error) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.in.Child(agent, name, id)
}

func (l locked) SetChild(agent, name, id string, files []File) error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.in.SetChild(agent, name, id, files)
}

func (l locked) Here() (Here, error) { return l.in.Here() }

func (l locked) words(t *testing.T, session string) string {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if s := l.in.sessions[session]; s != nil {
		return words(t, s.logs[Messages].String())
	}
	return ""
}

type lockedSession struct {
	l locked
	intake.Session
}

func (s lockedSession) Append(log string, lines []byte) error {
	s.l.turn <- struct{}{}
	defer func() { <-s.l.turn }()
	return s.Session.Append(log, lines)
}

// TestRun follows folders that appear, logs that grow and are replaced, and ends when it is told to.
func TestRun(t *testing.T) {
	for name, poll := range map[string]time.Duration{"told of changes": time.Hour, "looking": 20 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("p/first.jsonl", said("a", "one"))
			x := w.watcher()
			x.cfg.Poll = poll
			store := locked{make(chan struct{}, 1), w.store}
			x.store = store
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- x.Run(ctx) }()
			is := func(session, want string) {
				t.Helper()
				within(t, session+" says "+want, func() bool { return store.words(t, "claude-code/"+session) == want })
			}
			is("first", "one")
			add(t, filepath.Join(w.dir, "logs/p/first.jsonl"), said("bb", "two")[:30])
			add(t, filepath.Join(w.dir, "logs/p/first.jsonl"), said("bb", "two")[30:]+answer("c", "m", "three"))
			is("first", "one two three") // the last after a pause
			w.write("q/r/second.jsonl", said("a", "four"))
			is("second", "four")
			if err := os.Remove(filepath.Join(w.dir, "logs/p/first.jsonl")); err != nil {
				t.Fatal(err)
			}
			w.write("p/new", said("xxx", "five"))
			if err := os.Rename(filepath.Join(w.dir, "logs/p/new"), filepath.Join(w.dir, "logs/p/first.jsonl")); err != nil {
				t.Fatal(err)
			}
			is("first-2", "five")
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if got := store.words(t, "claude-code/first"); got != "one two three" || len(w.store.sessions) != 3 {
				t.Errorf("%s; %d sessions", got, len(w.store.sessions))
			}
		})
	}
}

func add(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
}

// TestFails tries again what failed, and tells of it once.
func TestFails(t *testing.T) {
	w := newWorld(t)
	w.store.fail = 1
	w.write("s.jsonl", said("a", "one"))
	x := w.watcher()
	for range 3 {
		for _, log := range logsIn(x) {
			x.tell(log.path, x.step(log))
		}
	}
	if len(w.told) != 1 || !strings.Contains(w.told[0], "killed") {
		t.Errorf("told %q", w.told)
	}
	for _, f := range x.logs {
		if f.retry.IsZero() {
			t.Error("it is not tried again")
		}
		f.retry = time.Now()
	}
	if err := x.cycle(); err != nil || words(t, w.log("claude-code/s", Messages)) != "one" {
		t.Errorf("%v", err)
	}
}

// TestRunsOn has Run try again what failed, though the log does not change.
func TestRunsOn(t *testing.T) {
	w := newWorld(t)
	w.store.fail = 1
	w.write("s.jsonl", said("a", "one"))
	x := w.watcher()
	x.cfg.Poll = time.Hour
	store := locked{make(chan struct{}, 1), w.store}
	x.store = store
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	within(t, "the session is written", func() bool { return store.words(t, "claude-code/s") == "one" })
	stop()
	if err := <-done; err != nil || len(w.told) != 1 {
		t.Errorf("%v; told %q", err, w.told)
	}
}

// TestHeldBack ends a watch while a message may still go on, and starts another: it is written once, whole.
func TestHeldBack(t *testing.T) {
	w := newWorld(t)
	w.fresh, w.quiet = false, time.Hour
	log := said("a", "one")
	for i, add := range []string{answer("b", "m", "two"), answer("c", "m", "three"), said("dd", "four")} {
		log += add
		w.write("s.jsonl", log)
		ctx, stop := context.WithCancel(t.Context())
		x := w.watcher()
		store := locked{make(chan struct{}, 1), w.store}
		x.store = store
		done := make(chan error, 1)
		go func() { done <- x.Run(ctx) }()
		want := []string{"one", "one", "one two+three four"}[i]
		within(t, want, func() bool { return store.words(t, "claude-code/s") == want })
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestCopies keeps the sessions of logs apart that say the same so far.
func TestCopies(t *testing.T) {
	for _, fresh := range []bool{true, false} {
		w := newWorld(t)
		w.fresh = fresh
		x := w.watcher()
		log := said("a", "one") + said("bb", "two")
		for i, step := range []struct{ path, text string }{
			{"p/s.jsonl", log}, {"q/s.jsonl", log}, {"q/s.jsonl", log + said("ccc", "three")}, {"p/s.jsonl", log + said("dddd", "four")},
		} {
			w.write(step.path, step.text)
			if w.follow(x); i%2 == 1 {
				w.once()
			}
		}
		one, two := words(t, w.log("claude-code/s", Messages)), words(t, w.log("claude-code/s-2", Messages))
		if one != "one two four" || two != "one two three" || len(w.store.sessions) != 2 {
			t.Errorf("%q and %q; %d sessions", one, two, len(w.store.sessions))
		}
	}
}

// TestMoved follows a log to where it was moved, and writes what a removed one held back.
func TestMoved(t *testing.T) {
	w := newWorld(t)
	w.quiet = time.Hour
	log := said("a", "one") + answer("b", "m", "two")
	w.write("p/s.jsonl", log)
	x := w.watcher()
	n := newNotifier()
	defer n.close()
	x.look(t.Context(), n)
	if err := os.Rename(filepath.Join(w.dir, "logs/p"), filepath.Join(w.dir, "logs/q")); err != nil {
		t.Fatal(err)
	}
	w.write("q/s.jsonl", log+answer("c", "m", "three"))
	x.look(t.Context(), n)
	if got := words(t, w.log("claude-code/s", Messages)); got != "one" {
		t.Error(got)
	}
	if err := os.Remove(filepath.Join(w.dir, "logs/q/s.jsonl")); err != nil {
		t.Fatal(err)
	}
	x.look(t.Context(), n)
	if got := words(t, w.log("claude-code/s", Messages)); got != "one two+three" || len(w.store.sessions) != 1 || len(x.logs) != 0 {
		t.Errorf("%s; %d sessions, %d logs", got, len(w.store.sessions), len(x.logs))
	}
}

// TestState sees that a log which did not change is not read again, and that a state which cannot be read is no harm.
func TestState(t *testing.T) {
	w := newWorld(t)
	w.fresh = false
	w.write("s.jsonl", said("a", "one")+"half")
	w.once()
	delete(w.store.sessions, "claude-code/s")
	w.once()
	if len(w.store.sessions) != 0 {
		t.Error("a log that did not change was read again")
	}
	w.write("s.jsonl", said("a", "one")+"half a line"+"\n")
	w.once()
	if got := words(t, w.log("claude-code/s", Messages)); got != "one" {
		t.Error(got)
	}
	for _, text := range []string{"", "torn {", `{"version":9}`, `{"version":1,"logs":{"x":7}}`} {
		if err := os.WriteFile(filepath.Join(w.dir, "state", "watch.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w.once()
	}
	if got := words(t, w.log("claude-code/s", Messages)); got != "one" {
		t.Error(got)
	}
}

// TestSources tells logs from what else stands in the folders.
func TestSources(t *testing.T) {
	for _, c := range []struct {
		s    Source
		path string
		want bool
	}{
		{Source{Root: "/r"}, "/r/a.jsonl", true},
		{Source{Root: "/r"}, "/r/b/c/a.jsonl", true},
		{Source{Root: "/r"}, "/r/a.json", false},
		{Source{Root: "/r"}, "/x/a.jsonl", false},
		{Source{Root: "/r", Depth: 2}, "/r/p/a.jsonl", true},
		{Source{Root: "/r", Depth: 2}, "/r/a.jsonl", false},
		{Source{Root: "/r", Depth: 2}, "/r/p/q/a.jsonl", false},
		{Source{Root: "/r", Prefix: "rollout-"}, "/r/2026/01/rollout-1.jsonl", true},
		{Source{Root: "/r", Prefix: "rollout-"}, "/r/2026/01/history.jsonl", false},
	} {
		if got := c.s.has(c.path); got != c.want {
			t.Errorf("%+v %s: %v", c.s, c.path, got)
		}
	}
	w := newWorld(t)
	w.write("s.jsonl", said("a", "one"))
	w.write("other.jsonl", `{"tea":"green"}`+"\n")
	w.write("messages.jsonl", `{"role":"user","content":"hi"}`+"\n")
	w.write("empty.jsonl", "")
	fifo := filepath.Join(w.dir, "logs", "fifo.jsonl")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if log, err := w.watcher().logOf(fifo); err != nil || log.format != "" {
		t.Error("a pipe is a log")
	}
	if list, errs := w.watcher().find(); len(errs) > 0 || len(list) != 1 || list[0].format != "claude-code" {
		t.Errorf("%v", list)
	}
}

// TestRunAppears follows a source whose folders come into being while it runs, one after the other or all at once.
func TestRunAppears(t *testing.T) {
	for _, pause := range []time.Duration{0, 30 * time.Millisecond} {
		w := newWorld(t)
		x := w.watcher()
		x.cfg.Poll = time.Hour
		x.cfg.Sources = []Source{{Root: filepath.Join(w.dir, "home/.agent/logs"), Depth: 2}}
		store := locked{make(chan struct{}, 1), w.store}
		x.store = store
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- x.Run(ctx) }()
		time.Sleep(50 * time.Millisecond)
		at := w.dir
		for _, name := range []string{"home", ".agent", "logs", "p"} {
			at = filepath.Join(at, name)
			if err := os.Mkdir(at, 0o700); err != nil {
				t.Fatal(err)
			}
			time.Sleep(pause)
		}
		for i, name := range []string{"first.jsonl", "second.jsonl"} {
			if err := os.WriteFile(filepath.Join(at, name), []byte(said("a", "words")), 0o600); err != nil {
				t.Fatal(err)
			}
			within(t, name, func() bool { return store.words(t, "claude-code/"+[]string{"first", "second"}[i]) == "words" })
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
