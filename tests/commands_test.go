package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The commands serve users of root's mount, who cannot enter the store behind it.
func TestCommandsOfUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIP: a mount for all users needs root")
	}
	m := newMountOn(t, filepath.Join(t.TempDir(), "store"))
	dir := t.TempDir()
	openPath(t, dir)
	sample, err := os.ReadFile("../samples/claude-code.jsonl")
	if err == nil {
		err = os.WriteFile(dir+"/log.jsonl", sample, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	const in = "cd ../decimal && "
	for _, step := range []struct{ script, want string }{
		{`%[1]s import %[2]s/log.jsonl --agent coder --session decimal --mount %[3]s`, "1 blob"},
		{in + `%[1]s pack . --query 'why not locale.atof/export' --budget 900 --json | jq -r .query`, "why not locale.atof/export"},
		{in + `%[1]s pack . --at 12 --explain`, "OUT"},
		{in + `%[1]s pack . --target tool`, "Context pack of coder/decimal"},
		{in + `id=$(grep -o 'blake3-[0-9a-f]*' messages.jsonl | head -n 1) && [ $(b=context/dedup/blob/$id; cat $b | wc -c) -gt 0 ] && echo kept`, "kept"},
		{in + `echo mine > context/pinned/p && %[1]s session export . > /tmp/export-$$ && tar tf /tmp/export-$$; rm /tmp/export-$$`, "blob/blake3-"},
		{in + `%[1]s session export . | tar tf - | sort | tr '\n' ' '`, "context/pinned/p cwd events.jsonl messages.jsonl meta.json state "},
		{in + `t=$(mktemp) && %[1]s session export . -o $t && %[1]s session restore --from $t ../again && cmp messages.jsonl ../again/messages.jsonl && cat ../again/context/pinned/p; rm $t`, "mine"},
		{in + `%[1]s compact . --command 'echo short' && cat context/summary.md`, "short"},
		{in + `%[1]s session archive . && %[1]s session restore . && %[1]s session delete ../again --yes && ls ..`, "decimal"},
		{in + `getfattr --only-values -n user.ctxfs.origin context/summary.md context/facts.jsonl context/budget`, "writtenderiveddefault"},
		{in + `cat context/pack.md >/dev/null && getfattr --only-values -n user.ctxfs.glance .`, `"pack":"ready"`},
	} {
		script := fmt.Sprintf("exec 2>&1; "+step.script, program, dir, m.point)
		script = strings.Split(script, "%!(EXTRA")[0]
		if out, err := m.do(alice, script); err != nil || !strings.Contains(out, step.want) {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
		if out, err := m.do(bob, strings.ReplaceAll(script, "../decimal", m.point+"/home/64001/agent/coder/session/decimal")); strings.HasPrefix(step.script, in) && err == nil {
			t.Errorf("another user: %s\n%s", script, out)
		}
	}
	for user, want := range map[uint32]string{alice: "ready", bob: "none"} { // both have one of that name
		out, err := m.do(user, fmt.Sprintf("%s top --mount %s --interval 0", program, m.point))
		if err != nil || strings.Count(out, "coder/decimal") != 1 || !strings.Contains(out, want) {
			t.Errorf("user %d sees, %v:\n%s", user, err, out)
		}
	}
}

// pause stops a process, and returns when each of its threads has stopped: one that has not may still read a request from /dev/fuse.
func pause(t *testing.T, pid int) {
	t.Helper()
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	until(t, "all threads are stopped", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		must(t, err)
		return !slices.ContainsFunc(threads, func(file string) bool { return !strings.Contains(read(t, file), "\nState:\tT ") })
	})
}

// A mount whose daemon is stopped keeps nobody from asking about the others, nor from hearing what is wrong with it.
func TestStatusOfStoppedMount(t *testing.T) {
	stopped, good := newMount(t), newMount(t)
	worker := stopped.worker()
	pause(t, worker)
	out, err := exec.Command(program, "status").CombinedOutput()
	if err := syscall.Kill(worker, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err == nil || !strings.Contains(string(out), stopped.point+": no answer") || !strings.Contains(string(out), "mountpoint: "+good.point) {
		t.Errorf("%v\n%s", err, out)
	}
	if out := run(t, "status"); !strings.Contains(out, "mountpoint: "+stopped.point) {
		t.Errorf("when it goes on: %s", out)
	}
}
