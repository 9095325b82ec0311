package tests

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
