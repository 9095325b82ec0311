package tests

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/tests/testhost"
)

// nobody is a user with an account, which fusermount3 wants.
const nobody = 65534

// asNobody gives a command of an ordinary user without a login, which would give them $XDG_RUNTIME_DIR.
func asNobody(name string, args ...string) *exec.Cmd {
	c := asUser(nobody, name, args...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	return c
}

// userMount makes the folders of an ordinary user's own mount.
func userMount(t *testing.T) (point, store string) {
	t.Helper()
	testhost.NeedUsers(t)
	dir := t.TempDir()
	openPath(t, dir)
	point, store = dir+"/ctx", dir+"/store"
	for _, d := range []string{point, store} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(d, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return point, store
}

// runtimeDir makes an ordinary user's $XDG_RUNTIME_DIR, as a login does, and gives a function that lists what is in it.
func runtimeDir(t *testing.T) (dir string, list func() []string) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ctxfs-test-")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		err = os.Chown(dir, nobody, nobody)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, func() []string {
		all, err := filepath.Glob(dir + "/*")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
}

// An ordinary user's daemon keeps temporary sessions in a folder in memory, which goes when it ends, and which the next one
// removes when it was killed.
func TestTempOfAnOrdinaryUser(t *testing.T) {
	point, store := userMount(t)
	memory, inMemory := runtimeDir(t)
	do := func(name string, args ...string) string {
		c := asNobody(name, args...)
		c.Env = append(c.Env, "XDG_RUNTIME_DIR="+memory)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	agent := fmt.Sprintf("%s/home/%d/agent/coder", point, nobody)
	for round := range 3 {
		do(program, "mount", point, "--store", store, "--background")
		do("mkdir", "-p", agent+"/session")
		if round == 1 && len(inMemory()) != 0 {
			t.Errorf("a killed daemon's is still there: %v", inMemory())
		}
		m := &mount{t: t, point: point}
		c := hold(t, asNobody(m.helper()), point+"/agent/coder.sock")
		if out := c.say(`{"op":"send","id":"m1","scope":"temp","session":"t","input":"only for now"}`); !strings.Contains(out, `"type":"start"`) {
			t.Fatal(out)
		}
		if out := do("cat", agent+"/temp/t/context/pack.md"); !strings.Contains(out, "only for now") {
			t.Errorf("pack: %s", out)
		}
		do("bash", "-c", "echo '{}' >> "+agent+"/temp/t/messages.jsonl && cd "+agent+"/temp/t/context/pinned && echo x > p && mv p q && rm q")
		all := inMemory()
		if len(all) != 1 {
			t.Fatalf("in memory: %v", all)
		}
		if st, err := os.Stat(all[0]); err != nil || st.Mode().Perm() != 0o700 || st.Sys().(*syscall.Stat_t).Uid != nobody {
			t.Errorf("%v, %v", st, err)
		}
		if out, err := command("grep", "-rl", "only for now", store); err == nil {
			t.Errorf("it is in the store: %s", out)
		}
		switch round {
		case 0:
			killDaemon(t, point)
			c.end()
			do("fusermount3", "-u", "-z", point)
		case 1:
			c.end()
			for range 400 {
				if out, _ := asNobody("ls", agent).Output(); !strings.Contains(string(out), "temp") {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			if out, err := command("find", all[0], "-type", "f"); out != "" || err != nil {
				t.Errorf("what ended is in memory: %s, %v", out, err)
			}
			do(program, "umount", point)
		case 2:
			do(program, "umount", point) // while the session lives
			c.end()
		}
		if left := inMemory(); round > 0 && len(left) != 0 {
			t.Errorf("round %d: %v is left", round, left)
		}
	}
	do(program, "verify", "--store", store)
}

// helper gives this test binary at a path that all users may run.
func (m *mount) helper() string {
	m.t.Helper()
	self := filepath.Join(filepath.Dir(program), "tests")
	if _, err := os.Stat(self); err == nil {
		return self
	}
	data, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(self, data, 0o755)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return self
}

// killDaemon kills the daemon of a mount, and waits until it is gone.
func killDaemon(t *testing.T, point string) {
	t.Helper()
	status, err := asNobody("cat", point+"/status").Output()
	var pids [2]int
	for i, key := range []string{"\npid: ", "\nworker: "} {
		_, rest, _ := strings.Cut(string(status), key)
		line, _, _ := strings.Cut(rest, "\n")
		var aerr error
		if pids[i], aerr = strconv.Atoi(line); err != nil || aerr != nil {
			t.Fatalf("status: %s, %v", status, err)
		}
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 400 {
		if syscall.Kill(pids[0], 0) != nil && syscall.Kill(pids[1], 0) != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("the daemon does not die")
}

// Where an ordinary user has no file system in memory, temporary sessions are refused, and nothing is put on a disk.
func TestTempWithoutMemory(t *testing.T) {
	point, store := userMount(t)
	disk := t.TempDir()
	if err := os.Chmod(disk, 0o1777); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`mount --bind %[5]s /dev/shm && [ "$(stat -f -c %%T /dev/shm)" != tmpfs ] || exit 77
exec setpriv --reuid %[1]d --regid %[1]d --clear-groups bash -c '
%[2]s mount %[3]s --store %[4]s --background || exit 1
mkdir -p %[3]s/home/%[1]d/agent/coder/session
%[2]s send coder hello --scope temp --mount %[3]s
%[2]s umount %[3]s'`, nobody, program, point, store, disk)
	c := exec.Command("unshare", "-m", "bash", "-c", script)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	out, err := c.CombinedOutput()
	if c.ProcessState != nil && c.ProcessState.ExitCode() == 77 {
		t.Skipf("SKIP: /dev/shm cannot be taken away here: %s", out)
	}
	if err != nil || !strings.Contains(string(out), "no file system in memory for temporary sessions") || !strings.Contains(string(out), "ENOSYS") {
		t.Errorf("%v: %s", err, out)
	}
}

// held is another user's connection.
type held struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (m *mount) holdAs(uid uint32, agent string) *held {
	m.t.Helper()
	return hold(m.t, asUser(uid, m.helper()), m.point+"/agent/"+agent+".sock")
}

// hold connects by a helper process, until end.
func hold(t *testing.T, helper *exec.Cmd, socket string) *held {
	t.Helper()
	h := &held{t: t, cmd: helper}
	h.cmd.Env = append(h.cmd.Env, "CTXFS_TEST_CONNECT="+socket)
	in, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err == nil {
		err = h.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	h.in, h.out = in, bufio.NewReader(out)
	return h
}

// say sends a frame and gives the first that comes back.
func (h *held) say(frame string) string {
	h.t.Helper()
	if _, err := io.WriteString(h.in, frame+"\n"); err != nil {
		h.t.Error(err)
	}
	line, err := h.out.ReadString('\n')
	if err != nil {
		h.t.Error(err)
	}
	return line
}

func (h *held) end() {
	h.t.Helper()
	h.in.Close()
	_, _ = io.Copy(io.Discard, h.out)
	_ = h.cmd.Wait()
}
