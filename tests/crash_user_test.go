package tests

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a user makes while workers are killed is the user's, and whole: homes, agents, their roots, files, folders, links, sessions.
func TestWorkerKilledWhileAnotherMakes(t *testing.T) {
	if os.Getuid() != 0 {
		skip(t, "a system mount needs root")
	}
	m := newMount(t, "--allow-other")
	openPath(t, filepath.Dir(m.point))
	openPath(t, filepath.Dir(m.store))
	const users = 4
	var all []*exec.Cmd
	var said [users]bytes.Buffer
	stop := filepath.Join(t.TempDir(), "stop")
	openPath(t, filepath.Dir(stop))
	for i := range users {
		c := asUser(uint32(alice+i), "bash", "-c", fmt.Sprintf(`set -e; umask 077; i=0
while [ ! -e %s ]; do
	a=%s/home/%d/agent/a$i; r=$a/root/deep; s=$a/session/s
	mkdir -p $r; mkdir $r/d; echo text > $r/d/x; ln -s x $r/d/l; mkfifo $r/d/p 2>&- || echo more >> $r/d/x
	mkdir -p $s; echo '{"role":"user","content":"hi"}' >> $s/messages.jsonl; echo 9000 > $s/context/budget; echo pin > $s/context/pinned/p
	grep -q '"id":' $s/meta.json; [ $(cat $r/d/x | wc -l) = 2 ]; i=$((i+1))
done; echo $i`, stop, m.point, alice+i))
		c.Stdout, c.Stderr = &said[i], &said[i]
		must(t, c.Start())
		all = append(all, c)
	}
	for range kills(t) {
		time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
		m.killWorker()
	}
	must(t, os.WriteFile(stop, nil, 0o600))
	for i, c := range all {
		if err := c.Wait(); err != nil {
			t.Errorf("user %d: %v: %s", alice+i, err, &said[i])
		}
		home := fmt.Sprintf("%s/home/%d", m.store, alice+i)
		out, err := exec.Command("find", home, "!", "-user", fmt.Sprint(alice+i)).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("not the user's, %v: %s", err, out)
		}
		metas, _ := filepath.Glob(home + "/agent/*/session/s/meta.json")
		if n := strings.TrimSpace(said[i].String()); fmt.Sprint(len(metas)) != n {
			t.Errorf("%d sessions have a meta.json; %s were made", len(metas), n)
		}
	}
}

// byNobody returns a function that runs a command as an ordinary user, and returns what it printed.
func byNobody(t *testing.T) func(name string, args ...string) string {
	return func(name string, args ...string) string {
		t.Helper()
		out, err := asNobody(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
}

// What an ordinary user has open stays open when workers die, although its mode, or the folder that it is in, would not let
// the user open it again.
func TestWorkerKilledUnreadable(t *testing.T) {
	point, store := userMount(t)
	do := byNobody(t)
	do(program, "mount", point, "--store", store, "--background")
	defer func() { do(program, "umount", point) }()
	root := fmt.Sprintf("%s/home/%d/agent/coder/root", point, nobody)
	do("mkdir", "-p", root+"/closed")
	w := asNobody("sh", "-c", `cd "$1"; umask 0222; set -e
exec 3>readonly 4>closed/file; chmod 0 closed
echo ready; while read -r line; do echo "$line" >&3; echo "$line" >&4; echo "wrote $line"; done
exec 3>&- 4>&-; chmod 700 closed; chmod 600 closed/file; cat readonly closed/file`, "sh", root)
	in, err := w.StdinPipe()
	must(t, err)
	out, err := w.StdoutPipe()
	must(t, err)
	must(t, w.Start())
	said := bufio.NewReader(out)
	hear := func(want string) {
		t.Helper()
		if line, err := said.ReadString('\n'); line != want+"\n" {
			t.Fatalf("%q instead of %q, %v", line, want, err)
		}
	}
	hear("ready")
	for _, line := range []string{"one", "two", "three"} {
		_, rest, _ := strings.Cut(do("cat", point+"/status"), "\nworker: ")
		pid, err := strconv.Atoi(strings.SplitN(rest, "\n", 2)[0])
		must(t, err)
		must(t, syscall.Kill(pid, syscall.SIGKILL))
		_, err = fmt.Fprintln(in, line)
		must(t, err)
		hear("wrote " + line)
	}
	must(t, in.Close())
	for range 2 {
		for _, line := range []string{"one", "two", "three"} {
			hear(line)
		}
	}
	must(t, w.Wait())
}

// git commits in an ordinary user's mount while workers die: it writes objects of mode 0444.
func TestWorkerKilledGit(t *testing.T) {
	point, store := userMount(t)
	do := byNobody(t)
	if _, err := exec.LookPath("git"); err != nil {
		skip(t, "no git here: apt-get install git")
	}
	do(program, "mount", point, "--store", store, "--background")
	defer func() { do(program, "umount", point) }()
	root := fmt.Sprintf("%s/home/%d/agent/coder/root", point, nobody)
	do("mkdir", "-p", root)
	const commits = 20
	w := asNobody("sh", "-c", `cd "$1"; set -e; export HOME=$PWD GIT_CONFIG_NOSYSTEM=1
git init -q .; git config user.email a@b; git config user.name n; git config gc.auto 0
i=0; while [ $i -lt "$2" ]; do i=$((i+1)); echo $i > file$i; git add file$i; git commit -qm "commit $i"; done
git fsck --strict >&2; git rev-list --count HEAD`, "sh", root, strconv.Itoa(commits))
	var out, problems strings.Builder
	w.Stdout, w.Stderr = &out, &problems
	must(t, w.Start())
	ended := make(chan error, 1)
	go func() { ended <- w.Wait() }()
	for {
		select {
		case err := <-ended:
			if got := strings.TrimSpace(out.String()); err != nil || got != strconv.Itoa(commits) {
				t.Errorf("%v, %s commits of %d\n%s", err, got, commits, problems.String())
			}
			return
		case <-time.After(150 * time.Millisecond):
			_, rest, _ := strings.Cut(do("cat", point+"/status"), "\nworker: ")
			if pid, err := strconv.Atoi(strings.SplitN(rest, "\n", 2)[0]); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // or it has ended
			}
		}
	}
}
