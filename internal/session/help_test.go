package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// me is who asks in these tests.
var me = caller()

// caller is, for root, somebody else: giving files away is then part of every test.
func caller() Caller {
	if os.Geteuid() == 0 {
		return Caller{UID: 1000, GID: 1000}
	}
	return Caller{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
}

const coder = "home/1000/agent/coder"

func openStore(t testing.TB, dir string, opt Options) *Store {
	t.Helper()
	s, err := Open(dir, opt)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() }) // a test may have closed it before
	return s
}

func container(t testing.TB, s *Store, rel string) *Container {
	t.Helper()
	c, err := s.Container(rel)
	must(t, err)
	return c
}

// newSession makes a store with one session.
func newSession(t testing.TB) *Session {
	t.Helper()
	return create(t, container(t, openStore(t, t.TempDir(), Options{}), coder), "s")
}

func create(t testing.TB, c *Container, name string) *Session {
	t.Helper()
	x, err := c.Create(name, me)
	must(t, err)
	return x
}

// add appends lines as a writer does.
func add(t testing.TB, x *Session, log string, lines ...string) {
	t.Helper()
	must(t, tryAdd(x, log, lines...))
}

func tryAdd(x *Session, log string, lines ...string) error {
	l, err := x.Log(log)
	if err != nil {
		return err
	}
	defer x.Release()
	w := l.NewWriter()
	defer w.Close()
	for _, line := range lines {
		if err := w.Write([]byte(line + "\n")); err != nil {
			return err
		}
		x.Appended(log)
	}
	return nil
}

func asks(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }
func says(text string) string { return fmt.Sprintf(`{"role":"assistant","content":%q}`, text) }

func look(t testing.TB, x *Session, name string) string {
	t.Helper()
	data, err := x.View(name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(data)
}

func shown(t testing.TB, x *Session, name string) string {
	t.Helper()
	data, err := x.ReadControl(name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(data)
}

// kind gives the Kind of an error, 0 when it is none of ctxfs's.
func kind(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

func hostPath(x *Session, name string) string { return filepath.Join(x.store.Path(), x.file(name)) }

// plant writes a file of the session past ctxfs.
func plant(t testing.TB, x *Session, name, data string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(hostPath(x, name)), 0o755))
	putFile(t, hostPath(x, name), []byte(data))
}

// at sets the time of a session's files.
func at(t testing.TB, x *Session, when time.Time) {
	t.Helper()
	for _, f := range []string{Messages, Events, "."} {
		must(t, os.Chtimes(hostPath(x, f), when, when))
	}
}

// eventLines gives events.jsonl, line by line.
func eventLines(t testing.TB, x *Session) []string {
	t.Helper()
	data, err := os.ReadFile(hostPath(x, Events))
	must(t, err)
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// putFile writes a file of the store as the user does to whom the home belongs.
func putFile(t testing.TB, name string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(name, data, 0o600))
	if os.Geteuid() == 0 {
		must(t, os.Chown(name, int(me.UID), int(me.GID)))
	}
}

func tokensOf(t *testing.T, s *Store, text []byte) int {
	t.Helper()
	n, err := s.Tokens(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
