package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// quarantined reads what an owner's quarantine holds.
func quarantined(t testing.TB, x *Session) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(x.store.Path(), OwnerRel(x.Rel()), StateDir, "quarantine", "*"))
	must(t, err)
	var out []string
	for _, n := range names {
		data, err := os.ReadFile(n)
		must(t, err)
		out = append(out, string(data))
	}
	return out
}

// TestQuarantine: a bad line is kept byte by byte, and an event says where.
func TestQuarantine(t *testing.T) {
	x := newSession(t)
	for _, log := range []string{Messages, Events} {
		bad := "not \x00 \xff an object: " + log
		if err := tryAdd(x, log, "{}", bad, "{}"); err == nil {
			t.Fatalf("%s takes %q", log, bad)
		}
		lines := eventLines(t, x)
		e := object(t, lines[len(lines)-1])
		data, _ := e["data"].(map[string]any)
		where, _ := data["path"].(string)
		kept, err := os.ReadFile(filepath.Join(x.store.Path(), where))
		if e["type"] != "ctxfs.line.quarantined" || data["log"] != log || data["bytes"] != float64(len(bad)+1) || data["reason"] == "" || err != nil || string(kept) != bad+"\n" {
			t.Errorf("%v\nkept %q, %v", e, kept, err)
		}
		if st, err := os.Stat(filepath.Join(x.store.Path(), where)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", st, err)
		}
	}
	if n := x.store.Stats.Quarantined(); n != 2 || len(quarantined(t, x)) != 2 {
		t.Errorf("%d are counted, %q are kept", n, quarantined(t, x))
	}
}

// TestTornLogs opens logs with a torn last line: it is set aside whole, the log takes lines again.
func TestTornLogs(t *testing.T) {
	for _, log := range []string{Messages, Events} {
		x := newSession(t)
		plant(t, x, log, "{\"a\":1}\n{\"b\":")
		add(t, x, log, `{"c":1}`)
		data, err := os.ReadFile(hostPath(x, log))
		must(t, err)
		if got := quarantined(t, x); len(got) != 1 || got[0] != `{"b":` {
			t.Errorf("%s: kept %q", log, got)
		}
		if !strings.HasPrefix(string(data), "{\"a\":1}\n{") || !strings.HasSuffix(string(data), "}\n{\"c\":1}\n") {
			t.Errorf("%s is now %q", log, data)
		}
		lines := eventLines(t, x)
		found := false
		for _, l := range lines {
			found = found || strings.Contains(l, "ctxfs.line.quarantined") && strings.Contains(l, "torn")
		}
		if !found {
			t.Errorf("%s: no event tells of it: %q", log, lines)
		}
	}
}

// TestHole: a line that a power loss made zeros of is set aside, with an event; those around it stay.
func TestHole(t *testing.T) {
	x := newSession(t)
	hole := strings.Repeat("\x00", 5000)
	plant(t, x, Messages, asks("First words.")+"\n"+hole+"\n"+asks("Last words.")+"\n")
	if got, want := logText(t, x, Messages), asks("First words.")+"\n"+asks("Last words.")+"\n"; got != want {
		t.Errorf("the log has %q", got)
	}
	if got := quarantined(t, x); len(got) != 1 || !strings.Contains(got[0], hole) {
		t.Errorf("%d pieces are in quarantine", len(got))
	}
	if lines := eventLines(t, x); len(lines) == 0 || !strings.Contains(lines[0], "ctxfs.line.quarantined") || !strings.Contains(lines[0], "a hole") {
		t.Errorf("events: %q", lines)
	}
}

// TestTornStays: when the torn line cannot be set aside, the log is left as it is, and looking still works.
func TestTornStays(t *testing.T) {
	x := newSession(t)
	const torn = "{\"role\":\"user\",\"content\":\"whole\"}\n{\"torn\":"
	plant(t, x, Messages, torn)
	plant(t, x, "../../../../.ctxfs/quarantine", "a file where the folder should be")
	if _, err := x.Log(Messages); err == nil {
		x.Release()
	}
	if data, err := os.ReadFile(hostPath(x, Messages)); err != nil || string(data) != torn && len(quarantined(t, x)) == 0 {
		t.Errorf("the torn line is lost: the log is %q, %v", data, err)
	}
}

// TestOddLogs: what is no regular file is no log, and nobody waits for it.
func TestOddLogs(t *testing.T) {
	for name, put := range map[string]func(p string) error{
		"pipe": func(p string) error { return unix.Mkfifo(p, 0o600) },
		"dir":  func(p string) error { return os.Mkdir(p, 0o755) },
		"link": func(p string) error { return os.Symlink("/etc/passwd", p) },
	} {
		for _, readOnly := range []bool{false, true} {
			x := newSession(t)
			must(t, os.Remove(hostPath(x, Messages)))
			must(t, put(hostPath(x, Messages)))
			must(t, x.store.Close())
			y, err := container(t, openStore(t, x.store.Path(), Options{ReadOnly: readOnly}), coder).Session("s")
			must(t, err)
			done := make(chan error, 1)
			go func() { _, err := y.View("context/pack.md"); done <- err }()
			select {
			case err := <-done:
				if err == nil {
					t.Errorf("%s, read only %v: it is taken for a log", name, readOnly)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s, read only %v: the view waits", name, readOnly)
			}
		}
	}
	x := newSession(t)
	if _, err := x.Log("state"); kind(err) != NotFound {
		t.Errorf("state as a log: %v", err)
	}
}

// TestEviction uses more sessions than are kept open, in each way that opens a log: nothing is lost, and no more than
// those that may be ready hold descriptors once nobody uses them.
func TestEviction(t *testing.T) {
	const ready = 100
	const n = 2*ready + 20
	for name, use := range map[string]func(xs []*Session){
		"one after the other": func(xs []*Session) {
			for i, x := range xs {
				add(t, x, Messages, asks(fmt.Sprint("number ", i)))
				_ = look(t, x, "context/pack.md")
			}
		},
		"held together": func(xs []*Session) {
			for i, x := range xs {
				l, err := x.Log(Messages)
				must(t, err)
				must(t, l.Commit([]byte(asks(fmt.Sprint("number ", i))+"\n")))
			}
			for _, x := range xs {
				x.Release()
			}
		},
		"events only": func(xs []*Session) {
			for i, x := range xs {
				must(t, x.WriteControl("state", []byte("active"), me))
				plant(t, x, Messages, asks(fmt.Sprint("number ", i))+"\n")
			}
		},
		"all at once": func(xs []*Session) {
			var wg sync.WaitGroup
			for g := range 4 {
				wg.Go(func() {
					for i := g; i < len(xs); i += 4 {
						add(t, xs[i], Messages, asks(fmt.Sprint("number ", i)))
						_ = look(t, xs[(i*7)%len(xs)], "context/pack.md")
					}
				})
			}
			wg.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := container(t, openStore(t, t.TempDir(), Options{}), coder)
			c.store.ready.max = ready
			before := openFDs(t)
			xs := make([]*Session, n)
			for i := range xs {
				xs[i] = create(t, c, fmt.Sprintf("s%d", i))
			}
			use(xs)
			for end := time.Now().Add(10 * time.Second); openFDs(t) > before+ready+20 && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond) // they are closed in the background
			}
			if now := openFDs(t); now > before+ready+20 {
				t.Errorf("%d descriptors are open, %d were before %d sessions", now, before, n)
			}
			for i, x := range xs {
				if md := look(t, x, "context/pack.md"); !strings.Contains(md, fmt.Sprint("number ", i)) {
					t.Errorf("session %d: %s", i, md)
				}
			}
			must(t, c.store.Close())
			if now := openFDs(t); now > before { // the store's own are gone too
				t.Errorf("%d descriptors are open after Close, %d were before", now, before)
			}
		})
	}
}
