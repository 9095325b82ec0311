package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// The capabilities and the umask of the unit are enough for all that users do.
func TestServiceCapabilities(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIP: only root has capabilities to give up")
	}
	unit := regexp.MustCompile(`CapabilityBoundingSet=(.*)`).FindStringSubmatch(read(t, unitFile))
	if unit == nil {
		t.Fatal("the unit names no capabilities")
	}
	keep := strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(unit[1], " ", ",+"), "CAP_", ""))
	m := newMountOn(t, filepath.Join(t.TempDir(), "store"), "setpriv", "--bounding-set=-all,+"+keep, "--inh-caps=-all", "--no-new-privs",
		"sh", "-c", `umask 077; exec "$@"`, "sh")
	for _, step := range []struct {
		uid    uint32
		script string
	}{
		{alice, `echo '{"role":"user","content":"hello"}' >> messages.jsonl && grep -q hello context/pack.md && cat messages.jsonl`},
		{alice, `echo 900 > context/budget && echo x > context/pinned/p && chmod 600 context/pinned/p && touch -d 2001-01-01 context/pinned/p && rm context/pinned/p`},
		{alice, `mkdir -p ../../root/work && echo /work > cwd && ln -s work ../../root/link && mv ../../root/work ../../root/w`},
		{alice, fmt.Sprintf(`! cat %s/home/0/agent/coder/session/s/messages.jsonl`, m.point)},
		{alice, fmt.Sprintf(`%s session archive . && cat messages.jsonl && echo '{"role":"user"}' >> messages.jsonl && %s session restore .`, program, program)},
		{alice, fmt.Sprintf(`mkdir -p %s/agent/coder.d; %s send coder hi --mount %s; [ $? = 13 ]`, m.point, program, m.point)},
		{alice, fmt.Sprintf(`%s share create mine --group 64001 --mount %s && %s send coder hi --share mine --scope shared --mount %s; [ $? = 13 ]`, program, m.point, program, m.point)},
		{alice, fmt.Sprintf(`[ $(stat -c %%a %s/shared/mine) = 2770 ]`, m.point)},
		{alice, fmt.Sprintf(`(echo hi; for i in $(seq 100); do grep -q hi ../../temp/t/context/pack.md && echo ok > context/pinned/seen && break; sleep 0.05; done) | %s send coder - --each-line --scope temp --session t --mount %s; [ $? = 13 ] && cat context/pinned/seen`, program, m.point)},
		{bob, fmt.Sprintf(`! ls %s/shared/mine && ! ls %s/home/64001`, m.point, m.point)},
		{bob, fmt.Sprintf(`! %s resume coder --share mine --mount %s`, program, m.point)},
	} {
		if out, err := m.do(step.uid, step.script); err != nil {
			t.Errorf("%s: %v\n%s", step.script, err, out)
		}
	}
	if out := read(t, m.point+"/status"); !strings.Contains(out, "log_reads: direct") {
		t.Errorf("status: %s", out)
	}
	st, err := os.Stat(m.store + "/shared/mine/agent/coder/session/default/messages.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if own := st.Sys().(*syscall.Stat_t); own.Uid != alice || own.Gid != alice {
		t.Errorf("the share's log belongs to %d:%d", own.Uid, own.Gid)
	}
}
