package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asUser gives a command that runs as another uid, which needs no account.
func asUser(uid uint32, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	c.Dir = "/"
	return c
}

// openPath lets every user pass to dir.
func openPath(t *testing.T, dir string) {
	t.Helper()
	for ; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// One user's sessions are invisible to another on a system mount: the kernel checks.
func TestUsersAreKeptApart(t *testing.T) {
	if os.Getuid() != 0 {
		skip(t, "a system mount needs root")
	}
	m := newMount(t, "--allow-other")
	openPath(t, filepath.Dir(m.point))
	openPath(t, filepath.Dir(m.store))
	const alice, bob = 64001, 64002
	home := fmt.Sprintf("%s/home/%d", m.point, alice)
	log := home + "/agent/coder/session/a/messages.jsonl"
	sh := func(uid uint32, cmd string) (string, error) {
		out, err := asUser(uid, "bash", "-c", cmd).CombinedOutput()
		return string(out), err
	}
	if out, err := sh(alice, fmt.Sprintf(`mkdir -p %s && echo '{"role":"user","content":"secret"}' >> %s && grep -q secret %s/context/pack.md`, filepath.Dir(log), log, filepath.Dir(log))); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, cmd := range []string{"cat " + log, "ls " + home, "ls " + filepath.Dir(log), "echo '{}' >> " + log, "mkdir " + home + "/agent/evil",
		"cat " + filepath.Dir(log) + "/context/pack.md", "cat " + m.store + "/home/64001/agent/coder/session/a/messages.jsonl", "ls " + m.store + "/home",
		"mkdir " + m.point + "/home/64003", "getfattr -n user.ctxfs.tokens " + log, "mv " + home + " " + m.point + "/home/64002/x", "rm -r " + home} {
		if out, err := sh(bob, cmd); err == nil || strings.Contains(out, "secret") {
			t.Errorf("a second user did: %s\n%s", cmd, out)
		}
	}
	if out, _ := sh(bob, "ls "+m.point+"/home"); strings.Contains(out, "64001") {
		t.Errorf("a second user sees whose homes there are: %s", out)
	}
	for _, file := range []string{"", "/agent/coder/session/a", "/agent/coder/session/a/messages.jsonl"} {
		st, err := os.Stat(m.store + "/home/64001" + file)
		if err != nil {
			t.Fatal(err)
		}
		if own := st.Sys().(*syscall.Stat_t); own.Uid != alice || own.Gid != alice || st.Mode().Perm()&0o077 != 0 {
			t.Errorf("store file %q: uid %d gid %d mode %v", file, own.Uid, own.Gid, st.Mode())
		}
	}
}

// An ordinary user's own mount, through fusermount3.
func TestOrdinaryUser(t *testing.T) {
	const uid = nobody
	point, store := userMount(t)
	do := func(name string, args ...string) string {
		out, err := asUser(uid, name, args...).CombinedOutput()
		if err != nil {
			t.Errorf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	do(program, "mount", point, "--store", store, "--background")
	session := fmt.Sprintf("%s/home/%d/agent/coder/session/s", point, uid)
	do("mkdir", "-p", session)
	do("bash", "-c", fmt.Sprintf(`for i in 1 2 3; do echo '{"role":"user","content":"number '$i'"}' >> %s/messages.jsonl; done`, session))
	if out := do("cat", session+"/context/pack.md"); !strings.Contains(out, "number 3") {
		t.Errorf("pack: %s", out)
	}
	if out := do("cat", point+"/status"); !strings.Contains(out, "log_reads: direct") {
		t.Errorf("status does not tell that reads are not passed through: %s", out)
	}
	// Sockets need no root: the daemon and its user are one.
	out, err := asUser(uid, program, "send", "coder", "over the socket", "--mount", point, "--session", "s").CombinedOutput()
	if xerr := (*exec.ExitError)(nil); !errors.As(err, &xerr) || xerr.ExitCode() != 13 {
		t.Errorf("send: %v %s", err, out)
	}
	if out := do(program, "resume", "coder", "--mount", point); !strings.Contains(out, "number 3") || !strings.Contains(out, "over the socket") {
		t.Errorf("resume: %s", out)
	}
	do(program, "umount", point)
	do(program, "verify", "--store", store)
}
