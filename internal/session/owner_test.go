package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestVisible: a path in a folder that others may not search is not there for them, and is for root.
func TestVisible(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIP: only root serves others")
	}
	s := openStore(t, t.TempDir(), Options{})
	hidden := filepath.Join(t.TempDir(), "hidden")
	must(t, os.Mkdir(hidden, 0o700))
	must(t, os.Mkdir(filepath.Join(hidden, "x"), 0o755))
	for p, want := range map[string][2]bool{"/usr": {true, true}, "/none": {false, false}, filepath.Join(hidden, "x"): {false, true}, "/": {true, true}} {
		if got := [2]bool{s.visible(p, Caller{UID: 1000}), s.visible(p, Caller{})}; got != want {
			t.Errorf("%s: visible to a user %v, to root %v", p, got[0], got[1])
		}
	}
}

// TestOwners: files that ctxfs makes belong to the home's owner, whoever asked, and are as private as the session.
func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIP: only root serves others")
	}
	defer unix.Umask(unix.Umask(0)) // a daemon has none
	s := openStore(t, t.TempDir(), Options{})
	x, err := container(t, s, "home/4321/agent/a").Create("s", Caller{}) // root asks
	must(t, err)
	must(t, x.WriteControl("state", []byte("active"), Caller{}))
	must(t, x.WriteControl("context/budget", []byte("9"), Caller{}))
	_ = tryAdd(x, Messages, "bad")
	shared, err := container(t, s, "shared/team/agent/a").Create("s", Caller{UID: 77, GID: 88})
	must(t, err)
	must(t, filepath.Walk(s.Path(), func(name string, info os.FileInfo, err error) error {
		must(t, err)
		rel, _ := filepath.Rel(s.Path(), name)
		st, err := s.dir.Stat(rel)
		must(t, err)
		switch {
		case strings.HasPrefix(rel, "home/4321") && (st.Uid != 4321 || st.Mode&0o077 != 0):
			t.Errorf("%s: %d:%d %o", rel, st.Uid, st.Gid, st.Mode&0o7777)
		case strings.HasPrefix(rel, shared.Rel()) && (st.Uid != 77 || st.Gid != 88 || st.Mode&0o007 != 0 || st.Mode&0o060 != 0o060):
			t.Errorf("%s: %d:%d %o", rel, st.Uid, st.Gid, st.Mode&0o7777)
		}
		return nil
	}))
}
