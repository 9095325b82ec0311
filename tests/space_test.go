package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ctxfs/tests/testhost"

	"golang.org/x/sys/unix"
)

// newDisk mounts a new file system of its own from an image of size bytes; mkfs is its command without the image. It
// skips where this kernel or host has no such thing: that is no fault of what is tested.
func newDisk(t *testing.T, size int64, mkfs ...string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIP: a file system of one's own needs root")
	}
	image, dir := filepath.Join(t.TempDir(), "image"), filepath.Join(t.TempDir(), "disk")
	for _, err := range []error{os.WriteFile(image, nil, 0o600), os.Truncate(image, size), os.Mkdir(dir, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, argv := range [][]string{append(mkfs, image), {"mount", "-o", "loop", image, dir}} {
		c := exec.Command(argv[0], argv[1:]...)
		c.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
		if out, err := c.CombinedOutput(); err != nil {
			t.Skipf("SKIP: %v: %v\n%s", argv, err, out)
		}
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// newMountOn is newMount, for all users, with its store at a given place; wrap is a command that runs the daemon.
func newMountOn(t *testing.T, store string, wrap ...string) *mount {
	t.Helper()
	needFUSE(t)
	m := &mount{t: t, point: filepath.Join(t.TempDir(), "ctx"), store: store, wrap: wrap}
	if err := os.MkdirAll(m.point, 0o755); err != nil {
		t.Fatal(err)
	}
	m.agent = filepath.Join(m.point, "home", fmt.Sprint(os.Getuid()), "agent", "coder")
	m.start("--allow-other")
	t.Cleanup(m.finish)
	openPath(t, filepath.Dir(m.point))
	return m
}

const alice, bob = 64001, 64002

// do runs a script as a user, in the folder of a session of theirs that it makes.
func (m *mount) do(uid uint32, script string) (string, error) {
	dir := fmt.Sprintf("%s/home/%d/agent/coder/session/s", m.point, uid)
	out, err := asUser(uid, "bash", "-c", fmt.Sprintf("mkdir -p %s && cd %s && %s", dir, dir, script)).CombinedOutput()
	return string(out), err
}

// fill appends lines as a user until one is refused, and gives what was said, and how many were taken.
func (m *mount) fill(uid uint32, file string) (said string, lines int) {
	m.t.Helper()
	out, err := m.do(uid, fmt.Sprintf(`line='{"role":"user","content":"'$(head -c 60000 /dev/zero | tr '\0' x)'"}'
for i in $(seq 5000); do echo "$line" >> %s || { echo $((i-1)); exit 1; }; done`, file))
	if err == nil {
		m.t.Fatal("5,000 lines of 60 KB went onto a small disk")
	}
	words := strings.Fields(out)
	if _, err := fmt.Sscan(words[len(words)-1], &lines); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	return out, lines
}

// A full disk is ENOSPC to whoever writes, as if they wrote to it themselves: what the disk keeps back for root is not
// theirs through ctxfs either. Nothing of the refused line is in the log, and there is no damage.
func TestDiskFull(t *testing.T) {
	disk := newDisk(t, 64<<20, "mkfs.ext4", "-q", "-m", "25")
	m := newMountOn(t, filepath.Join(disk, "store"))
	said, lines := m.fill(alice, "messages.jsonl")
	if !strings.Contains(said, "No space left on device") || lines == 0 {
		t.Errorf("%d lines were taken, then: %s", lines, said)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(disk, &st); err != nil {
		t.Fatal(err)
	}
	if kept := int64(st.Bfree) * st.Bsize; kept < 10<<20 {
		t.Errorf("%d bytes are left of the 16 MB that the disk keeps for root", kept)
	}
	if out, err := m.do(alice, "grep -c . messages.jsonl; tail -n 1 messages.jsonl | tail -c 4"); err != nil || out != fmt.Sprintf("%d\nx\"}\n", lines) {
		t.Errorf("after %d lines: %v %q", lines, err, out)
	}
	for _, script := range []string{`head -c 300000 /dev/zero > context/pinned/big`, `head -c 300000 /dev/zero | tr '\0' x > context/summary.md`} {
		if out, err := m.do(alice, script); err == nil || !strings.Contains(out, "No space left") {
			t.Errorf("%s: %v %s", script, err, out)
		}
	}
	root := m.session("s")
	for range 10 {
		add(t, root+"/messages.jsonl", message("user", strings.Repeat("x", 100_000)))
	}
	if out, err := m.do(alice, `rm -f context/pinned/big`); err != nil {
		t.Errorf("rm on a full disk: %v %s", err, out)
	}
}

// One user's quota is EDQUOT to them, and nothing to others. The kernel exempts whoever has CAP_SYS_RESOURCE: the daemon
// must not (cmd/ctxfs: TestKeepCapabilities), for what it writes is theirs.
func TestQuota(t *testing.T) {
	disk := newDisk(t, 256<<20, "mkfs.btrfs", "-q")
	for _, argv := range [][]string{
		{"btrfs", "quota", "enable", disk},
		{"mkdir", "-p", disk + "/store/home"},
		{"btrfs", "subvolume", "create", disk + "/store/home/64001"},
		{"chown", "64001:64001", disk + "/store/home/64001"},
		{"chmod", "700", disk + "/store", disk + "/store/home", disk + "/store/home/64001"},
		{"btrfs", "qgroup", "limit", "4M", disk + "/store/home/64001"},
		{"sync"},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIP: %v: %v\n%s", argv, err, out)
		}
	}
	m := newMountOn(t, filepath.Join(disk, "store"))
	said, lines := m.fill(alice, "messages.jsonl")
	if !strings.Contains(said, "Disk quota exceeded") || lines == 0 {
		t.Errorf("%d lines were taken, then: %s", lines, said)
	}
	if out, err := m.do(alice, "wc -l < messages.jsonl; head -c 100 context/pack.md"); err != nil || !strings.HasPrefix(out, fmt.Sprintf("%d\n# Context pack", lines)) {
		t.Errorf("after %d lines: %v %q", lines, err, out)
	}
	if out, err := m.do(bob, `for i in $(seq 200); do head -c 60000 /dev/zero | tr '\0' x; done > context/pinned/big && echo '{"role":"user"}' >> messages.jsonl`); err != nil {
		t.Errorf("another user: %v %s", err, out)
	}
	if out, err := exec.Command("btrfs", "qgroup", "limit", "none", disk+"/store/home/64001").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := m.do(alice, `echo '{"role":"user","content":"goes on"}' >> messages.jsonl && jq -s length messages.jsonl`); err != nil || out != fmt.Sprintf("%d\n", lines+1) {
		t.Errorf("without the quota, after %d lines: %v %s", lines, err, out)
	}
}

// With --quota no user fills the disk, by whatever they write, and none takes all of its inodes: EDQUOT, to them alone, until they
// delete something. Root has no limit.
func TestOwnQuota(t *testing.T) {
	notUnderRace(t)
	testhost.Rare(t)
	if os.Getuid() != 0 {
		t.Skip("SKIP: only root can act as several users")
	}
	const limit = 8 << 20
	m := newMount(t, "--allow-other", "--quota", "8M", "--quota-files", "200")
	openPath(t, filepath.Dir(m.point))
	openPath(t, filepath.Dir(m.store))
	big := `head -c 1000000 /dev/zero | tr '\0' x`
	for _, way := range []struct{ name, fill string }{
		{"a log", `line='{"role":"user","content":"'$(head -c 60000 /dev/zero | tr '\0' x)'"}'; for i in $(seq 300); do echo "$line" >> messages.jsonl || exit 1; done`},
		{"plain files", `for i in $(seq 20); do ` + big + ` > context/pinned/$i || exit 1; done`},
		{"one that was removed", `exec 7> context/pinned/gone; rm context/pinned/gone; for i in $(seq 20); do ` + big + ` >&7 || exit 1; done`},
		{"fallocate", `fallocate -l 100M context/pinned/room`},
		{"control files", `for i in $(seq 20); do mkdir ../c$i && ` + big + ` > ../c$i/context/summary.md || exit 1; done`},
		{"what is refused", `line=$(` + big + `); for i in $(seq 20); do echo "$line" >> messages.jsonl; done`},
		{"sessions", `for i in $(seq 200); do mkdir ../m$i || exit 1; done`},
		{"empty files", `for i in $(seq 250); do : > context/pinned/$i || exit 1; done`},
		{"folders", `mkdir ../../root/d; for i in $(seq 250); do mkdir ../../root/d/$i || exit 1; done`},
		{"links", `mkdir ../../root/l; for i in $(seq 250); do ln -s x ../../root/l/$i || exit 1; done`},
	} {
		t.Run(way.name, func(t *testing.T) {
			out, err := m.do(alice, way.fill)
			if err == nil || way.name != "what is refused" && !strings.Contains(out, "Disk quota exceeded") {
				t.Errorf("it ended with %v: %.300s", err, out)
			}
			var used int64
			if _, err := fmt.Sscan(disk(t, m.store+"/home/64001"), &used); err != nil || used > limit+limit/8 {
				t.Errorf("%d bytes are used, %v", used, err)
			}
			if out, err := m.do(bob, `echo '{"role":"user","content":"hello"}' >> messages.jsonl && grep -q hello context/pack.md && echo 500 > context/budget && mkdir -p ../other`); err != nil {
				t.Errorf("another user: %v %s", err, out)
			}
			if out, err := m.do(alice, `tail -c 100 messages.jsonl && head -c 100 context/pack.md && df -B1 --output=size,avail . | tail -n 1`); err != nil || !strings.Contains(out, fmt.Sprint(limit)) {
				t.Errorf("reading: %v %s", err, out)
			}
			freed := `cd .. && for s in *; do [ $s = index ] || ` + program + ` session delete $s --yes || exit 1; done; rm -rf ../root/*`
			if out, err := m.do(alice, freed); err != nil {
				t.Fatalf("freeing: %v %s", err, out)
			}
			if err := os.RemoveAll(m.store + "/home/64001/.ctxfs/quarantine"); err != nil {
				t.Fatal(err)
			}
			if out, err := m.do(alice, `for i in $(seq 50); do echo '{"role":"user"}' >> messages.jsonl 2> /dev/null && exit 0; sleep 0.1; done; exit 1`); err != nil {
				t.Errorf("after it was freed: %v %s", err, out)
			}
		})
	}
	add(t, m.session("root")+"/messages.jsonl", message("user", strings.Repeat("x", 2*limit)))
}

// disk gives what du(1) says of the bytes on disk.
func disk(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("du", "-s", "-B1", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
