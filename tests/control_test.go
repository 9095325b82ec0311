package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTree(t *testing.T) {
	m := newMount(t)
	names := func(dir string) []string {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range list {
			out = append(out, e.Name())
		}
		return out
	}
	if got, want := names(m.point), []string{"agent", "bin", "home", "model", "shared", "status", "tool"}; !slices.Equal(got, want) {
		t.Errorf("root: %v", got)
	}
	dir := m.session("whole")
	want := []string{"context", "created_at", "cwd", "events.jsonl", "latest.md", "messages.jsonl", "meta.json", "state", "updated_at"}
	if got := names(dir); !slices.Equal(got, want) {
		t.Errorf("session: %v", got)
	}
	want = []string{"budget", "bundle", "channels", "child", "constraints.jsonl", "decisions.jsonl", "dedup", "facts.jsonl", "gc.policy", "imported", "imported.json", "injections.jsonl", "missing.jsonl",
		"pack.json", "pack.md", "pinned", "plan.jsonl", "policy.json", "preferences.jsonl", "recall", "redact", "refs.jsonl", "success.jsonl", "summary.md", "swap", "todo.md", "tools.jsonl", "trace"}
	if got := names(dir + "/context"); !slices.Equal(got, want) {
		t.Errorf("context: %v", got)
	}
	if got := names(dir + "/context/recall"); len(got) != 0 {
		t.Errorf("recall is listed: %v", got)
	}
	if got := read(t, dir+"/state") + read(t, dir+"/cwd"); got != "idle\n/\n" {
		t.Errorf("a new session: %q", got)
	}
	stamp := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\n$`)
	for _, f := range []string{"created_at", "updated_at"} {
		if got := read(t, dir+"/"+f); !stamp.MatchString(got) {
			t.Errorf("%s: %q", f, got)
		}
	}
	if out, err := exec.Command(m.point+"/bin/ctxfs", "version").Output(); err != nil || !strings.HasPrefix(string(out), "ctxfs ") {
		t.Errorf("bin/ctxfs: %s, %v", out, err)
	}
}

func TestRefusals(t *testing.T) {
	m := newMount(t)
	dir := m.session("rules")
	sessions := m.agent + "/session"
	open := func(name string, flags int) error {
		fd, err := unix.Open(name, flags, 0o644)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	for _, name := range []string{".hidden", "a b", "x.sock", "x.d", "-x", "ünï"} {
		wants(t, "mkdir "+name, os.Mkdir(sessions+"/"+name, 0o755), syscall.EINVAL)
	}
	for what, c := range map[string]struct {
		err  error
		want syscall.Errno
	}{
		"session index":        {os.Mkdir(sessions+"/index", 0o755), syscall.EEXIST},
		"long name":            {os.Mkdir(sessions+"/"+strings.Repeat("a", 65), 0o755), syscall.ENAMETOOLONG},
		"append to no session": {open(sessions+"/never/messages.jsonl", unix.O_WRONLY|unix.O_APPEND), syscall.ENOENT},
		"create in no session": {open(sessions+"/never/messages.jsonl", unix.O_WRONLY|unix.O_CREAT), syscall.ENOENT},
		"rmdir session":        {unix.Rmdir(dir), syscall.EPERM},
		"rmdir agent":          {unix.Rmdir(m.agent), syscall.EPERM},
		"rmdir context":        {unix.Rmdir(dir + "/context"), syscall.EPERM},
		"mkdir in session":     {os.Mkdir(dir+"/x", 0o755), syscall.EPERM},
		"create in root":       {open(m.point+"/x", unix.O_WRONLY|unix.O_CREAT), syscall.EPERM},
		"write latest.md":      {open(dir+"/latest.md", unix.O_WRONLY), syscall.EACCES},
		"write index/list":     {open(sessions+"/index/list", unix.O_WRONLY), syscall.EACCES},
		"write pack.md":        {open(dir+"/context/pack.md", unix.O_WRONLY), syscall.EACCES},
		"write recall":         {open(dir+"/context/recall/q", unix.O_WRONLY), syscall.EACCES},
		"unlink state":         {unix.Unlink(dir + "/state"), syscall.EPERM},
		"unlink latest.md":     {unix.Unlink(dir + "/latest.md"), syscall.EPERM},
		"symlink in pinned":    {os.Symlink("/etc/passwd", dir+"/context/pinned/l"), syscall.EPERM},
		"fifo in pinned":       {unix.Mkfifo(dir+"/context/pinned/f", 0o644), syscall.EPERM},
		"bad agent folder":     {os.Mkdir(m.point+"/agent/coder", 0o755), syscall.EINVAL},
		"bad home":             {os.Mkdir(m.point+"/home/me", 0o755), syscall.EINVAL},
		"no such swap":         {open(dir+"/context/swap/open/messages:9", unix.O_RDONLY), syscall.ENOENT},
		"bad pack name":        {open(dir+"/context/pack@-3.md", unix.O_RDONLY), syscall.ENOENT},
	} {
		wants(t, what, c.err, c.want)
	}
}

func TestControlFiles(t *testing.T) {
	m := newMount(t)
	dir := m.session("control")
	if err := os.MkdirAll(m.agent+"/root/work", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, text string
		want       syscall.Errno // 0: taken
	}{
		{"state", "active\n", 0}, {"state", "done", 0}, {"state", "sleeping\n", syscall.EINVAL}, {"state", "", syscall.EINVAL},
		{"cwd", "/work\n", 0}, {"cwd", "relative\n", syscall.EINVAL}, {"cwd", "/no-such-folder-here\n", syscall.ENOENT},
		{"cwd", "/etc\n", syscall.EACCES}, {"cwd", "/work/../..\n", syscall.EACCES},
		{"context/budget", "4000\n", 0}, {"context/budget", "4000\nreserve=500\ntokenizer=cl100k_base\n", 0},
		{"context/budget", "many\n", syscall.EINVAL}, {"context/budget", "-5\n", syscall.EINVAL}, {"context/budget", "1e3\n", syscall.EINVAL},
		{"context/budget", "4000 tokens\n", syscall.EINVAL}, {"context/budget", "99999999999999999999999\n", syscall.EINVAL},
		{"context/budget", "100\nreserve=100\n", syscall.EINVAL}, {"context/budget", "\n", 0},
		{"context/gc.policy", "pack_ttl=1d\nkeep_messages=1\n", 0}, {"context/gc.policy", "delete_all=1\n", syscall.EINVAL},
		{"meta.json", "[]\n", syscall.EINVAL}, {"meta.json", "{\"client\":\"x\"", syscall.EINVAL}, {"meta.json", "{\"client\":\"x\"}\n", 0},
		{"meta.json", "{\"session\":\"another\"}\n", syscall.EINVAL},
		{"context/facts.jsonl", "{\"id\":\"f1\"}\n", 0}, {"context/facts.jsonl", "no json\n", syscall.EINVAL},
		{"context/summary.md", "mine\n", 0},
	} {
		file := dir + "/" + c.file
		before := read(t, file)
		err := write(file, c.text)
		if c.want == 0 && err != nil {
			t.Errorf("%s <- %q: %v", c.file, c.text, err)
		}
		if c.want != 0 {
			wants(t, fmt.Sprintf("%s <- %q", c.file, c.text), err, c.want)
			if got := read(t, file); got != before {
				t.Errorf("%s changed at a refusal: %q", c.file, got)
			}
		}
	}
	if got := read(t, m.agent+"/session/index/by-cwd/cwd-1f92008dc8753ba3"); got != "control\n" {
		t.Errorf("by-cwd: %q", got)
	}
}

// A shell hears of a refusal at write(2): many programs do not look at what close(2) returns.
func TestShellHearsOfARefusal(t *testing.T) {
	m := newMount(t)
	dir := m.session("heard")
	for _, cmd := range []string{"echo sleeping > state", "echo '[]' > meta.json", "echo many > context/budget", "echo x >> context/facts.jsonl", "echo x >> messages.jsonl"} {
		c := exec.Command("bash", "-c", cmd)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "Invalid argument") {
			t.Errorf("%s: %v, %s", cmd, err, out)
		}
	}
}

// Editors write a temporary file and rename it over the old one, or the old one away first.
func TestEditors(t *testing.T) {
	m := newMount(t)
	dir := m.session("editor")
	budget := dir + "/context/budget"
	sh := func(cmd string) (string, error) {
		c := exec.Command("bash", "-c", cmd)
		c.Dir = dir
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for _, step := range []struct{ cmd, want string }{
		{"echo 1234 > context/.budget.swp && mv context/.budget.swp context/budget", "1234\n"},
		{"sed -i s/1234/4321/ context/budget", "4321\n"},
		{"mv context/budget context/budget~ && echo 99 > context/budget && rm context/budget~", "99\n"},
		{"echo 55 > context/pinned/new && mv context/pinned/new context/budget", "55\n"},
		{"cp context/budget context/budget.bak && echo 56 > context/budget && mv context/budget.bak context/budget", "55\n"},
		{"perl -pi -e s/55/77/ context/budget", "77\n"},
	} {
		if out, err := sh(step.cmd); err != nil {
			t.Errorf("%s: %v\n%s", step.cmd, err, out)
		}
		if got := read(t, budget); got != step.want {
			t.Errorf("after %s: %q, want %q", step.cmd, got, step.want)
		}
	}
	if err := os.WriteFile(dir+"/context/.t", []byte("nope\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wants(t, "a bad budget by rename", os.Rename(dir+"/context/.t", budget), syscall.EINVAL)
	if got := read(t, budget); got != "77\n" {
		t.Errorf("a refused rename changed the budget: %q", got)
	}
	if out, err := sh("echo x > context/pinned/x && mv context/pinned/x messages.jsonl"); err == nil {
		t.Errorf("a log was replaced: %s", out)
	}
	if out, err := sh("rm -f context/.t context/pinned/x"); err != nil {
		t.Errorf("%v %s", err, out)
	}
}

func TestMetaKeepsIdentity(t *testing.T) {
	m := newMount(t)
	dir := m.session("meta")
	var meta map[string]any
	if err := json.Unmarshal([]byte(read(t, dir+"/meta.json")), &meta); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"id", "agent", "session", "scope", "created_at"} {
		if meta[k] == nil {
			t.Errorf("meta.json has no %s", k)
		}
	}
	meta["client"] = "test"
	out, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(dir+"/meta.json", string(out)); err != nil {
		t.Fatal(err)
	}
	moved := m.agent + "/session/renamed"
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	var after map[string]any
	if err := json.Unmarshal([]byte(read(t, moved+"/meta.json")), &after); err != nil {
		t.Fatal(err)
	}
	if after["client"] != "test" || after["session"] != "renamed" || after["id"] != meta["id"] {
		t.Errorf("after a rename: %v", after)
	}
}

func TestIndex(t *testing.T) {
	m := newMount(t)
	for _, n := range []string{"first", "second", "third"} {
		add(t, m.session(n)+"/messages.jsonl", message("user", n))
		time.Sleep(10 * time.Millisecond) // the store's file system counts time in steps of a few ms
	}
	index := m.agent + "/session/index/"
	add(t, m.agent+"/session/first/messages.jsonl", message("user", "again"))
	if got := read(t, index+"list"); got != "first\nthird\nsecond\n" {
		t.Errorf("list: %q", got)
	}
	if got := read(t, index+"current"); got != "first\n" {
		t.Errorf("current: %q", got)
	}
	if err := os.Rename(m.agent+"/session/first", m.agent+"/session/zeroth"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, index+"list"); got != "zeroth\nthird\nsecond\n" {
		t.Errorf("list after a rename: %q", got)
	}
	m.checkFDs()
	m.stop()
	m.start()
	if got := read(t, index+"list"); got != "zeroth\nthird\nsecond\n" {
		t.Errorf("list after a restart: %q", got)
	}
	if got := read(t, m.agent+"/session/zeroth/messages.jsonl"); !strings.Contains(got, "again") {
		t.Errorf("history after a restart: %q", got)
	}
}

// Sessions survive rm -rf: they end by explicit policy only.
func TestRmLeavesHistory(t *testing.T) {
	m := newMount(t)
	dir := m.session("keep")
	add(t, dir+"/messages.jsonl", message("user", "hello"))
	_ = exec.Command("rm", "-rf", dir).Run() // fails: that is the point
	if got := read(t, dir+"/messages.jsonl"); got != message("user", "hello") {
		t.Errorf("after rm -rf: %q", got)
	}
}

func TestPlainFolders(t *testing.T) {
	m := newMount(t)
	root := m.agent + "/root"
	m.session("any")
	script := `set -e
mkdir -p usr/bin etc; echo hi > etc/motd; ln -s ../etc/motd usr/motd; [ "$(cat usr/motd)" = hi ]
cp /bin/true usr/bin/true; chmod 755 usr/bin/true; usr/bin/true
mv etc/motd etc/issue; [ "$(cat etc/issue)" = hi ]; echo more >> etc/issue; [ "$(wc -l < etc/issue)" = 2 ]
truncate -s 3 etc/issue; [ "$(stat -c %s etc/issue)" = 3 ]; dd if=/dev/zero of=etc/big bs=64k count=40 status=none; [ "$(stat -c %s etc/big)" = 2621440 ]
(umask 0; echo x > etc/all; mkdir etc/alld); [ "$(stat -c %a%a etc/all etc/alld | tr -d '\n')" = 666666777777 ]
touch -d 2001-01-01 etc/big; [ "$(stat -c %Y etc/big)" = "$(date -d 2001-01-01 +%s)" ]
rm -r usr etc; [ -z "$(ls)" ]`
	c := exec.Command("bash", "-c", script)
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(m.agent, "session", "any")); err != nil {
		t.Errorf("cleaning the root touched a session: %v", err)
	}
}
