package tests

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stored gives an agent's sessions, newest first, as the files of the store say: past the daemon.
func (m *mount) stored(agent string) []string {
	m.t.Helper()
	dir := filepath.Join(m.store, strings.TrimPrefix(agent, m.point), "session")
	entries, err := os.ReadDir(dir)
	if err != nil {
		m.t.Fatal(err)
	}
	names, when := []string{}, map[string]time.Time{}
	for _, e := range entries {
		names = append(names, e.Name())
		for _, f := range []string{".", "messages.jsonl", "events.jsonl"} {
			if st, err := os.Stat(filepath.Join(dir, e.Name(), f)); err == nil && st.ModTime().After(when[e.Name()]) {
				when[e.Name()] = st.ModTime()
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(when[b].Compare(when[a]), strings.Compare(a, b)) })
	return names
}

// indexed holds an agent's index to what the store says.
func (m *mount) indexed(what, agent string) {
	m.t.Helper()
	want := m.listed(what, agent)
	for _, name := range want {
		cwd := strings.TrimSpace(read(m.t, agent+"/session/"+name+"/cwd"))
		key := strings.TrimSpace(read(m.t, agent+"/session/index/by-cwd/"+cwdKey(cwd)))
		if i := slices.Index(want, key); i < 0 || i > slices.Index(want, name) || strings.TrimSpace(read(m.t, agent+"/session/"+key+"/cwd")) != cwd {
			m.t.Fatalf("after %s: by-cwd of %s is %q, with %q there too", what, cwd, key, name)
		}
	}
}

// listed holds index/list and index/current to what the store says.
func (m *mount) listed(what, agent string) []string {
	m.t.Helper()
	want := m.stored(agent)
	if got := strings.Fields(read(m.t, agent+"/session/index/list")); !slices.Equal(got, want) {
		m.t.Fatalf("after %s: list is %q, want %q", what, got, want)
	}
	if got := strings.TrimSpace(read(m.t, agent+"/session/index/current")); got != want[0] {
		m.t.Fatalf("after %s: current is %q, want %q", what, got, want[0])
	}
	return want
}

// cwdKey is FNV-1a, 64 bits (design: section 7).
func cwdKey(cwd string) string {
	h := uint64(14695981039346656037)
	for _, b := range []byte(cwd) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return fmt.Sprintf("cwd-%016x", h)
}

// kill ends the daemon as a crash does, and starts it again.
func (m *mount) kill() {
	m.t.Helper()
	if err := m.cmd.Process.Kill(); err != nil {
		m.t.Fatal(err)
	}
	_ = m.cmd.Wait() // it was killed
	if err := exec.Command("umount", "-l", m.point).Run(); err != nil {
		_ = exec.Command("fusermount3", "-uz", m.point).Run()
	}
	m.start()
}

// TestIndexKilled: after whatever is done to sessions through a mount, and a kill between any two of it, or in the middle
// of appends, the index is what the store says. A share has an index of its own.
func TestIndexKilled(t *testing.T) {
	m := newMount(t)
	run(t, "share", "create", "team", "--group", strconv.Itoa(os.Getgid()), "--mount", m.point)
	rnd := rand.New(rand.NewPCG(5, 4))
	shared := m.point + "/shared/team/agent/coder"
	for _, agent := range []string{m.agent, shared} {
		for _, d := range []string{"/root/work/a", "/root/b", "/session/s0"} {
			if err := os.MkdirAll(agent+d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := 1; i <= 120; i++ {
		agent := []string{m.agent, shared}[rnd.IntN(2)]
		names := m.stored(agent)
		dir := agent + "/session/" + names[rnd.IntN(len(names))]
		what, err := "append", error(nil)
		switch rnd.IntN(8) {
		case 0:
			what, err = "mkdir", os.Mkdir(fmt.Sprintf("%s/session/s%d", agent, i), 0o700)
		case 1:
			what, err = "rename", os.Rename(dir, fmt.Sprintf("%s/session/s%d", agent, i))
		case 2:
			what, err = "cwd", write(dir+"/cwd", []string{"/", "/work", "/work/a", "/b"}[rnd.IntN(4)]+"\n")
		case 3:
			what, err = "state", write(dir+"/state", "active\n")
		case 4:
			what, err = "events", tryAdd(dir+"/events.jsonl", "{}\n")
		case 5:
			what, err = "a file beside", os.WriteFile(dir+"/.note.swp", []byte("x"), 0o600)
		case 6:
			tmp := dir + "/cwd.tmp"
			what, err = "cwd by rename", os.WriteFile(tmp, []byte("/work\n"), 0o600)
			if err == nil {
				err = os.Rename(tmp, dir+"/cwd")
			}
		default:
			err = tryAdd(dir+"/messages.jsonl", message("user", "x"))
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if i%15 == 0 {
			what += " and a kill"
			m.killAmidAppends(agent, names[0])
		}
		if i%15 == 7 {
			what += " and a restart"
			m.stop()
			m.start()
		}
		m.indexed(what, m.agent)
		m.indexed(what, shared)
	}
}

// killAmidAppends kills the daemon while two sessions are written to.
func (m *mount) killAmidAppends(agent, one string) {
	m.t.Helper()
	var wg sync.WaitGroup
	for _, name := range []string{one, "s0"} {
		wg.Go(func() {
			for tryAdd(agent+"/session/"+name+"/messages.jsonl", message("user", "more")) == nil {
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	m.kill()
	wg.Wait()
}

// TestManySessions: with some thousand sessions, a listing tells all of them once, with the inode numbers that stat(2)
// tells, whether it is read at once or in pieces; and the daemon keeps nothing for what was only listed.
func TestManySessions(t *testing.T) {
	m := newMount(t)
	m.session("first")
	m.stop()
	const many = 3000
	stored := filepath.Join(m.store, strings.TrimPrefix(m.agent, m.point), "session")
	for i := range many {
		if err := os.Mkdir(fmt.Sprintf("%s/s%05d", stored, i), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m.start()
	dir := m.agent + "/session"
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := map[string]bool{}
	for {
		entries, err := f.ReadDir(100)
		for _, e := range entries {
			if seen[e.Name()] || !e.IsDir() {
				t.Errorf("%s is listed twice, or is no folder", e.Name())
			}
			seen[e.Name()] = true
		}
		if err != nil {
			break
		}
	}
	if len(seen) != many+2 || !seen["index"] || !seen["first"] {
		t.Errorf("%d names are listed", len(seen))
	}
	if nodes := read(t, m.store+"/.ctxfs/nodes"); strings.Count(nodes, "\n") > many/2 {
		t.Errorf("%d numbers were given out for a listing", strings.Count(nodes, "\n"))
	}
	m.inodes(dir)
	if got := m.listed("many", m.agent); len(got) != many+1 {
		t.Errorf("%d sessions are in the list", len(got))
	}
}

// inodes holds d_ino of a listing to st_ino, for every 100th name.
func (m *mount) inodes(dir string) {
	m.t.Helper()
	out, err := command("ls", "-fi", dir)
	if err != nil {
		m.t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		ino, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if i%100 != 0 || name == ".." {
			continue
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(filepath.Join(dir, name), &st); err != nil || fmt.Sprint(st.Ino) != ino {
			m.t.Errorf("%s: d_ino is %s, st_ino %d, %v", name, ino, st.Ino, err)
		}
	}
}

// TestAttributesOfOthers: ls -l asks each file for attributes that are never there. It is told that there are none of
// the kind, and asks once.
func TestAttributesOfOthers(t *testing.T) {
	m := newMount(t)
	dir := m.session("s")
	for name, want := range map[string]syscall.Errno{
		"security.x": syscall.EOPNOTSUPP, "system.posix_acl_access": syscall.EOPNOTSUPP,
		"user.other": syscall.ENODATA,
	} {
		_, err := syscall.Getxattr(dir+"/messages.jsonl", name, make([]byte, 100))
		wants(t, name, err, want)
	}
}
