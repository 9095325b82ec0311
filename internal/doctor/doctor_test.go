package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

func TestLinuxVersion(t *testing.T) {
	for release, want := range map[string]int{"6.9.0": 6009, "6.18.44-fc-v669": 6018, "5.6": 5006, "10.0.0-rc1": 10000, "2.6.78": 2006, "": 0, "x": 0, "6": 0} {
		if got := linuxVersion(release); got != want {
			t.Errorf("%q: %d, want %d", release, got, want)
		}
	}
}

func TestRoom(t *testing.T) {
	const mib, least = 256, 256 << 20 // blocks of a MiB
	for _, c := range []struct {
		name                              string
		blocks, avail, files, free, least uint64
		want                              Level
	}{
		{"much", 1000 * mib, 900 * mib, 100, 90, least, OK},
		{"a large disk, a small part", 1000000 * mib, 20000 * mib, 100, 90, least, OK},
		{"a small part", 100000 * mib, 4000 * mib, 100, 90, least, Warn},
		{"little", 1000 * mib, 200 * mib, 100, 90, least, Warn},
		{"a small quota, half free", 100 * mib, 50 * mib, 100, 50, 0, OK},
		{"a small quota, used", 100 * mib, 4 * mib, 100, 50, 0, Warn},
		{"none", 1000 * mib, 0, 100, 90, least, Fail},
		{"few files", 1000 * mib, 900 * mib, 100, 4, least, Warn},
		{"no files", 1000 * mib, 900 * mib, 100, 0, least, Fail},
		{"files are not counted", 1000 * mib, 900 * mib, 0, 0, least, OK},
	} {
		got := room(c.name, unix.Statfs_t{Bsize: 4096, Blocks: c.blocks, Bavail: c.avail, Files: c.files, Ffree: c.free}, c.least, "x")
		if len(got) != 1 || got[0].Level != c.want || (got[0].Mend == "") != (c.want == OK) {
			t.Errorf("%s: %+v, want %s", c.name, got, c.want)
		}
	}
}

// A check that hangs is told of, and nobody waits for it.
func TestWithin(t *testing.T) {
	forever := make(chan bool)
	defer close(forever)
	got := check{"x", time.Millisecond, func() []Finding { <-forever; return nil }}.within()
	if len(got) != 1 || got[0].Level != Fail || got[0].Check != "x" || got[0].Mend == "" {
		t.Errorf("%+v", got)
	}
}

// TestMemoryOf reads limits of a cgroup, and of those around it, as the kernel writes them.
func TestMemoryOf(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       Level
	}{
		"no limits":          {"a/b/memory.other", "", OK},
		"none set":           {"a/b/memory.max", "max\n", OK},
		"enough":             {"a/b/memory.max", "1073741824\n", OK},
		"little":             {"a/b/memory.max", "104857600\n", Warn},
		"little, around":     {"a/memory.max", "104857600\n", Warn},
		"another's":          {"c/memory.max", "104857600\n", OK},
		"nothing was killed": {"a/b/memory.events.local", "low 0\noom 0\noom_kill 0\n", OK},
		"killed":             {"a/b/memory.events.local", "low 0\noom 2\noom_kill 2\noom_group_kill 0\n", Warn},
	} {
		root := t.TempDir()
		file := filepath.Join(root, c.file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := (&Host{}).memoryOf("/ctx", root, "/a/b"); len(got) != 1 || got[0].Level != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// TestMendsWithoutSystemd: what is said to mend a store names systemd's commands only where there is systemd.
func TestMendsWithoutSystemd(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "home", "1", "agent", "a", "session", "s", session.Messages)
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(log, future, future); err != nil {
		t.Fatal(err)
	}
	for _, systemd := range []bool{false, true} {
		s := (&Host{Systemd: systemd, Stores: []string{dir}}).stores()[0]
		list := append(s.gc(), s.clock()...)
		if len(list) != 2 {
			t.Fatalf("%+v", list)
		}
		for _, f := range list {
			if f.Mend == "" || strings.Contains(f.Mend, "systemctl") != systemd && strings.Contains(f.Mend, "timedatectl") != systemd {
				t.Errorf("systemd %v: %+v", systemd, f)
			}
		}
	}
}
