package session

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ctxfs/tests/testhost"

	"golang.org/x/sys/unix"
)

// TestVisible: a path in a folder that others may not search is not there for them, and is for root.
func TestVisible(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIP: only root serves others")
	}
	s := openStore(t, t.TempDir(), Options{})
	hidden := testhost.RootDir(t)
	must(t, os.Mkdir(filepath.Join(hidden, "x"), 0o755))
	for p, want := range map[string][2]bool{"/usr": {true, true}, "/none": {false, false}, filepath.Join(hidden, "x"): {false, true}, "/": {true, true}} {
		if got := [2]bool{s.visible(p, Caller{UID: 1000}), s.visible(p, Caller{})}; got != want {
			t.Errorf("%s: visible to a user %v, to root %v", p, got[0], got[1])
		}
	}
}

// TestOwners: files that ctxfs makes belong to the home's owner, whoever asked, and are as private as the session. They do so from
// their first moment: it goes without chown(2).
func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIP: only root serves others")
	}
	defer unix.Umask(unix.Umask(0)) // a daemon has none
	runtime.LockOSThread()          // which ends with the test
	must(t, withoutChown())
	s := openStore(t, t.TempDir(), Options{})
	x, err := container(t, s, "home/4321/agent/a").Create("s", Caller{}) // root asks
	must(t, err)
	must(t, x.WriteControl("state", []byte("active"), Caller{}))
	must(t, x.WriteControl("context/budget", []byte("9"), Caller{}))
	_ = tryAdd(x, Messages, "bad")
	_, err = x.Archive()
	must(t, err)
	f, err := s.Create(x.c.Rel+"/file", unix.O_RDWR, 0o600, Caller{})
	must(t, err)
	f.Close()
	must(t, s.Mkdir(x.c.Rel+"/dir", 0o700, Caller{}))
	must(t, s.Symlink("to", x.c.Rel+"/link", Caller{}))
	shared, err := container(t, s, "shared/team/agent/a").Create("s", Caller{UID: 77, GID: 88})
	must(t, err)
	must(t, filepath.Walk(s.Path(), func(name string, info os.FileInfo, err error) error {
		must(t, err)
		rel, _ := filepath.Rel(s.Path(), name)
		st, err := s.dir.Stat(rel)
		must(t, err)
		switch {
		case strings.HasPrefix(rel, "home/4321") && (st.Uid != 4321 || st.Mode&0o077 != 0 && st.Mode&unix.S_IFMT != unix.S_IFLNK):
			t.Errorf("%s: %d:%d %o", rel, st.Uid, st.Gid, st.Mode&0o7777)
		case strings.HasPrefix(rel, shared.Rel()) && (st.Uid != 77 || st.Gid != 88 || st.Mode&0o007 != 0 || st.Mode&0o060 != 0o060):
			t.Errorf("%s: %d:%d %o", rel, st.Uid, st.Gid, st.Mode&0o7777)
		}
		return nil
	}))
}

// withoutChown takes CAP_CHOWN from the thread for good.
func withoutChown() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return err
	}
	caps[0].Effective &^= 1 << unix.CAP_CHOWN
	caps[0].Permitted &^= 1 << unix.CAP_CHOWN
	return unix.Capset(&head, &caps[0])
}
