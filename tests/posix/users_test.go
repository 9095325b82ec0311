package posix

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Users of the tests. None of them needs an account.
const (
	root  = 0
	alice = 64001
	carol = 64003 // shares the group team with alice
	team  = 64100
)

// as runs fn on a thread that is that user's for all that the kernel checks. Goroutines that fn starts are root's.
func as(uid int, fn func()) {
	if uid == root {
		fn()
		return
	}
	done := make(chan any, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		defer func() { done <- recover() }()
		become(uid, []uint32{uint32(uid), team})
		fn()
	}()
	if r := <-done; r != nil {
		panic(r)
	}
}

// become gives up root, on this thread only.
func become(uid int, groups []uint32) {
	_, _, no := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0)
	id := uintptr(uid)
	if no == 0 {
		_, _, no = unix.RawSyscall(unix.SYS_SETRESGID, id, id, id)
	}
	if no == 0 {
		_, _, no = unix.RawSyscall(unix.SYS_SETRESUID, id, id, id)
	}
	if no != 0 {
		panic(no)
	}
}

// place is where plain files are kept: a folder that is alice's.
type place struct {
	name   string
	dir    string
	native string // what has the same owner, group and mode beside the mount
	group  bool   // carol may go there too
}

// places makes a session of alice's and a share of her group's, and gives where plain files are kept in them.
func (m *mount) places() []place {
	m.t.Helper()
	share := exec.Command(program, "share", "create", "team", "--group", fmt.Sprint(team), "--mount", m.point)
	if out, err := share.CombinedOutput(); err != nil {
		m.t.Fatalf("share create: %v\n%s", err, out)
	}
	home := fmt.Sprintf("%s/home/%d/agent/coder", m.point, alice)
	shared := m.point + "/shared/team/agent/coder"
	as(alice, func() {
		for _, dir := range []string{home + "/session/s", home + "/session/s/context/child/c", shared + "/session/s"} {
			must(m.t, os.MkdirAll(dir, 0o770))
		}
	})
	own, group := m.t.TempDir(), m.t.TempDir()
	must(m.t, os.Chown(own, alice, alice))
	must(m.t, os.Chmod(own, 0o700))
	must(m.t, os.Chown(group, alice, team))
	must(m.t, os.Chmod(group, 0o770|os.ModeSetgid))
	return []place{
		{"an agent's root", home + "/root", own, false},
		{"pinned", home + "/session/s/context/pinned", own, false},
		{"a child's folder", home + "/session/s/context/child/c", own, false},
		{"a share", shared + "/root", group, true},
	}
}
