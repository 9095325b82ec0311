package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/importer"
)

// chat is a chat of Gemini CLI as older versions write it anew: with so many messages, the last with a call when it has one.
func chat(messages int, call string) string {
	var list []string
	for i := range messages {
		list = append(list, fmt.Sprintf(`{"id":"m%d","timestamp":"2026-01-01T00:00:0%dZ","type":%q,"content":"w%d"}`, i, i, []string{"user", "gemini"}[i%2], i))
	}
	if call != "" {
		list[messages-1] = strings.TrimSuffix(list[messages-1], "}") + `,"toolCalls":[{"id":"c","name":"ls","args":{},"result":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"` + call + `"}}}]}]}`
	}
	return `{"sessionId":"g","projectHash":"h","startTime":"2026-01-01T00:00:00Z","lastUpdated":"x","messages":[` + strings.Join(list, ",") + `]}`
}

func (w *world) library(x *Watcher) *Watcher {
	x.cfg.Sources, x.cfg.Libraries = nil, []Library{Files{Root: filepath.Join(w.dir, "logs"), Pattern: "*.json", Of: importer.GeminiCLI}}
	x.cfg.Name = func(p string, n int) string {
		name := strings.TrimSuffix(filepath.Base(p), ".json")
		if n > 1 {
			name += fmt.Sprint("-", n)
		}
		return name
	}
	return x
}

// TestLibrary follows a document that is written anew, through restarts: what is new is appended, and nothing is read again
// that did not change.
func TestLibrary(t *testing.T) {
	for _, restart := range []bool{true, false} {
		w := newWorld(t)
		w.fresh = false
		x := w.library(w.watcher())
		for i, step := range []struct{ doc, want string }{
			{chat(0, ""), ""},
			{chat(1, ""), "w0"},
			{chat(1, "")[:60], "w0"}, // it is being written
			{chat(2, ""), "w0 w1"},
			{chat(2, "a b"), "w0 w1  "}, // the call and its result, which are no text
		} {
			if restart {
				x = w.library(w.watcher())
			}
			w.write("s.json", step.doc)
			for range 2 {
				if err := x.Once(); err != nil {
					t.Fatal(err)
				}
			}
			if step.want == "" {
				continue
			}
			if got := words(t, w.log("gemini-cli/s", Messages)); got != step.want {
				t.Errorf("restart %v, step %d: %q, want %q", restart, i, got, step.want)
			}
		}
		if len(w.store.sessions) != 1 {
			t.Errorf("restart %v: %v", restart, w.store.sessions)
		}
		appends := w.store.appends
		w.rename2("gemini-cli", "s", "kept")
		if err := w.library(w.watcher()).Once(); err != nil || w.store.appends != appends {
			t.Errorf("a renamed session is written again: %v", err)
		}
		delete(w.store.sessions, "gemini-cli/kept")
		if err := w.library(w.watcher()).Once(); err != nil || len(w.store.sessions) != 0 {
			t.Errorf("a deleted session came back: %v, %v", err, w.store.sessions)
		}
		w.write("s.json", chat(4, ""))
		if err := w.library(w.watcher()).Once(); err != nil || words(t, w.log("gemini-cli/s", Messages)) != "w0 w1 w2 w3" {
			t.Errorf("it did not come back when its document changed: %v", err)
		}
	}
}

func (w *world) rename2(agent, old, name string) {
	w.store.sessions[agent+"/"+name] = w.store.sessions[agent+"/"+old]
	delete(w.store.sessions, agent+"/"+old)
}

// TestLibraryKilled kills a watch at each append of a document.
func TestLibraryKilled(t *testing.T) {
	for kill := 1; ; kill++ {
		w := newWorld(t)
		w.write("s.json", chat(3, "out"))
		w.store.fail, w.store.torn = kill, kill%2 == 0
		err := w.library(w.watcher()).Once()
		if err == nil {
			if kill < 3 {
				t.Errorf("%d appends", kill-1)
			}
			return
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		w.store.fail = 0
		if err := w.library(w.watcher()).Once(); err != nil {
			t.Fatal(err)
		}
		if got := w.log("gemini-cli/s", Messages); strings.Count(got, "\n") != 4 || strings.Count(got, `"w2"`) != 1 || strings.Count(w.log("gemini-cli/s", Events), "\n") != 1 {
			t.Fatalf("killed at %d: %s", kill, got)
		}
	}
}

// TestLibraryRun sees a document change, in a folder that comes into being.
func TestLibraryRun(t *testing.T) {
	w := newWorld(t)
	x := w.library(w.watcher())
	x.cfg.Poll, x.cfg.Sync = time.Hour, 5*time.Millisecond
	x.cfg.Libraries = []Library{database{filepath.Join(w.dir, "new/data/chat.db")}}
	store := locked{make(chan struct{}, 1), w.store}
	x.store = store
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	time.Sleep(50 * time.Millisecond)
	at := filepath.Join(w.dir, "new/data")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	want := "w0"
	for n := 1; n < 5; n++ {
		if err := os.WriteFile(filepath.Join(at, "chat.db"), []byte(chat(n, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		within(t, want, func() bool {
			store.turn <- struct{}{}
			defer func() { <-store.turn }()
			s := w.store.sessions["gemini-cli/chat.db"]
			return s != nil && words(t, s.logs[Messages].String()) == want
		})
		want += fmt.Sprint(" w", n)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// database is a Library of one document, in one file.
type database struct{ path string }

func (d database) Format() importer.Format { return importer.GeminiCLI }
func (d database) File() string            { return d.path }
func (d database) Documents(since time.Time) ([]Document, error) {
	return Files{Root: filepath.Dir(d.path), Pattern: filepath.Base(d.path)}.Documents(since)
}
func (d database) Read(id string, all bool) ([]byte, bool, error) { return Files{}.Read(id, all) }
