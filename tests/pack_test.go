package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// tokens reads user.ctxfs.tokens of a file.
func tokens(t *testing.T, file string) int {
	t.Helper()
	buf := make([]byte, 32)
	n, err := unix.Getxattr(file, "user.ctxfs.tokens", buf)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	count, err := strconv.Atoi(string(buf[:n]))
	if err != nil {
		t.Fatal(err)
	}
	return count
}

func conversation(turns int) string {
	var b strings.Builder
	for i := range turns {
		b.WriteString(message("user", fmt.Sprintf("question %d: %s", i, strings.Repeat(fmt.Sprintf("topic%d detail ", i), 60))))
		b.WriteString(message("assistant", fmt.Sprintf("answer %d: %s", i, strings.Repeat(fmt.Sprintf("reply%d because ", i), 60))))
	}
	return b.String()
}

// A reader that opens pack.md after a write(2) returned sees that write; one that opened it before sees what it was.
func TestPackFollowsTheWrite(t *testing.T) {
	m := newMount(t)
	dir := m.session("fresh")
	add(t, dir+"/messages.jsonl", message("user", "marker-0"))
	old, err := os.Open(dir + "/context/pack.md")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	for i := 1; i < 20; i++ {
		add(t, dir+"/messages.jsonl", message("user", fmt.Sprintf("marker-%d", i)))
		pack := read(t, dir+"/context/pack.md")
		if !strings.Contains(pack, fmt.Sprintf("marker-%d", i)) {
			t.Fatalf("append %d is not in the pack that was read after it", i)
		}
	}
	var buf bytes.Buffer
	if _, err := buf.ReadFrom(old); err != nil || strings.Contains(buf.String(), "marker-1") || !strings.Contains(buf.String(), "marker-0") {
		t.Errorf("the old descriptor: %v, %s", err, buf.String())
	}
}

// Every tool sees the whole file, and its true size.
func TestToolsSeeTheWholePack(t *testing.T) {
	needs(t, "less", "python3")
	m := newMount(t)
	dir := m.session("tools")
	add(t, dir+"/messages.jsonl", conversation(20))
	pack := dir + "/context/pack.md"
	whole := read(t, pack)
	st, err := os.Stat(pack)
	if err != nil || st.Size() != int64(len(whole)) || len(whole) == 0 {
		t.Errorf("size %d, %d bytes read", st.Size(), len(whole))
	}
	script := map[string]string{
		"cat": `cat "$1"`, "head": `head -c 100000000 "$1"`, "tail": `tail -c +1 "$1"`, "cp": `cp "$1" "$2" && cat "$2"`,
		"dd": `dd if="$1" status=none bs=777`, "less": `less "$1" | cat`, "grep": `grep "" "$1"`, "sed": `sed -n p "$1"`,
		"python": `python3 -c 'import sys; sys.stdout.write(open(sys.argv[1]).read())' "$1"`,
		"mmap":   `python3 -c 'import sys,mmap; f=open(sys.argv[1],"rb"); sys.stdout.buffer.write(mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ)[:])' "$1"`,
		"tar":    `tar -cf - -C "$(dirname "$1")" pack.md | tar -xOf -`,
	}
	for tool, sh := range script {
		out, err := exec.Command("bash", "-c", sh, "bash", pack, t.TempDir()+"/copy").Output()
		if err != nil || string(out) != whole {
			t.Errorf("%s: %v, %d bytes of %d", tool, err, len(out), len(whole))
		}
	}
	out, err := exec.Command("wc", "-c", pack).Output()
	if err != nil || !strings.HasPrefix(string(out), fmt.Sprint(len(whole))) {
		t.Errorf("wc: %s, %v", out, err)
	}
}

func TestBudgets(t *testing.T) {
	m := newMount(t)
	dir := m.session("budgets")
	add(t, dir+"/messages.jsonl", conversation(60))
	for _, budget := range []int{1, 50, 200, 600, 3000, 20000} {
		if err := write(dir+"/context/budget", fmt.Sprintln(budget)); err != nil {
			t.Fatal(err)
		}
		if n := tokens(t, dir+"/context/pack.md"); n > budget && budget >= 200 {
			t.Errorf("budget %d: the pack has %d tokens", budget, n)
		}
		var p struct {
			Budget  int `json:"budget_tokens"`
			Items   []struct{ Kind, Source string }
			Omitted []struct{ Reason, Path string }
		}
		if err := json.Unmarshal([]byte(read(t, dir+"/context/pack.json")), &p); err != nil {
			t.Fatal(err)
		}
		if p.Budget != budget {
			t.Errorf("budget %d: pack.json says %d", budget, p.Budget)
		}
		for _, o := range p.Omitted {
			if _, err := os.ReadFile(dir + "/" + o.Path); err != nil {
				t.Errorf("budget %d: what was left out is not at its path: %v", budget, err)
			}
		}
		same := fmt.Sprintf("%s/context/pack@%d.md", dir, budget)
		if read(t, same) != read(t, dir+"/context/pack.md") {
			t.Errorf("pack@%d.md differs from pack.md at that budget", budget)
		}
	}
}

// The command prints what the mount shows.
func TestPackCommandAndMountAgree(t *testing.T) {
	m := newMount(t, "--budget", "3000")
	dir := m.session("agree")
	add(t, dir+"/messages.jsonl", conversation(40))
	if got := run(t, "pack", dir); got != read(t, dir+"/context/pack.md") {
		t.Error("ctxfs pack differs from pack.md")
	}
	if got := run(t, "pack", dir, "--json", "--budget", "900"); got != read(t, dir+"/context/pack@900.json") {
		t.Error("ctxfs pack --json --budget 900 differs from pack@900.json")
	}
	before := read(t, dir+"/context/pack@900.md")
	add(t, dir+"/messages.jsonl", message("user", "and now?"))
	if got := run(t, "pack", dir, "--budget", "900", "--at", "80"); got != before {
		t.Error("ctxfs pack --at 80 is not the pack of that time")
	}
}

func TestPinnedAndChildren(t *testing.T) {
	m := newMount(t)
	dir := m.session("parent")
	add(t, dir+"/messages.jsonl", message("user", "delegate"))
	pinned, child := dir+"/context/pinned/", dir+"/context/child/rev-1/"
	if err := os.Mkdir(strings.TrimSuffix(child, "/"), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{pinned + "system.md": "Answer in haiku.\n", child + "status": "done\n", child + "result.md": "Found 3 problems.\n"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pack := read(t, dir+"/context/pack.md")
	if !strings.Contains(pack, "haiku") || !strings.Contains(pack, "3 problems") {
		t.Errorf("pack: %s", pack)
	}
	if err := os.WriteFile(pinned+"keep.ref", []byte("child:rev-1\nmessages:1\nswap:nothing\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wants(t, "unlink a result that the parent refers to", os.Remove(child+"result.md"), syscall.EBUSY)
	wants(t, "rename it away", os.Rename(child+"result.md", child+"old.md"), syscall.EBUSY)
	if pack := read(t, dir+"/context/pack.json"); !strings.Contains(pack, "missing") {
		t.Error("an unknown reference is not shown as missing context")
	}
	if err := os.Remove(pinned + "keep.ref"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(child + "result.md"); err != nil {
		t.Errorf("with the reference gone: %v", err)
	}
	if pack := read(t, dir+"/context/pack.md"); strings.Contains(pack, "3 problems") {
		t.Error("the pack shows a result that is gone")
	}
}

func TestEveryFileHasTokens(t *testing.T) {
	m := newMount(t)
	dir := m.session("count")
	add(t, dir+"/messages.jsonl", conversation(3))
	if err := os.WriteFile(dir+"/context/pinned/a.md", []byte("hello world\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"messages.jsonl", "events.jsonl", "latest.md", "state", "cwd", "created_at", "updated_at", "meta.json", "context/budget",
		"context/pack.json", "context/pack.md", "context/summary.md", "context/facts.jsonl", "context/pinned/a.md", "context/swap/index.jsonl", "context/dedup/index.jsonl"} {
		n, size := tokens(t, dir+"/"+f), len(read(t, dir+"/"+f))
		if (n == 0) != (size == 0) || n > size {
			t.Errorf("%s: %d tokens in %d bytes", f, n, size)
		}
	}
	if n := tokens(t, dir+"/context/pinned/a.md"); n != 3 {
		t.Errorf("hello world and a newline: %d tokens, want 3", n)
	}
}
