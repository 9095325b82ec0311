package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A store that is moved while it is mounted stays the store of the mount when its worker dies: appends go on into it, and no
// empty store takes its place.
func TestStoreMoved(t *testing.T) {
	var m *mount
	t.Cleanup(func() { // the daemon has ended, and what it printed is complete
		if !strings.Contains(m.log.String(), "is not at its path any more") {
			t.Errorf("the daemon said %q", m.log)
		}
	})
	m = newMount(t)
	log := m.session("s") + "/messages.jsonl"
	add(t, log, message("user", "before"))
	old := m.store
	m.store = old + "-moved"
	must(t, os.Rename(old, m.store))
	m.killWorker()
	add(t, log, message("user", "after"))
	if got, want := read(t, log), message("user", "before")+message("user", "after"); got != want {
		t.Errorf("the log is %q", got)
	}
	plain, err := filepath.Glob(m.store + "/home/*/agent/coder/session/s/messages.jsonl")
	must(t, err)
	if len(plain) != 1 || read(t, plain[0]) != read(t, log) {
		t.Errorf("in the store: %v", plain)
	}
	if _, err := os.Lstat(old); !os.IsNotExist(err) {
		t.Errorf("there is something at the old path: %v", err)
	}
}

// A disk that fails and turns read-only, and then deaths of workers: what is there is read on, and appends are EROFS.
func TestDiskTurnsReadOnly(t *testing.T) {
	image, disk := filepath.Join(t.TempDir(), "image"), t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			skip(t, "no disk to fail here: %s %v: %v, %s", name, args, err, out)
		}
	}
	run("truncate", "-s", "64M", image)
	run("mkfs.ext4", "-q", image)
	run("mount", "-o", "loop,errors=remount-ro", image, disk)
	t.Cleanup(func() { must(t, unix.Unmount(disk, 0)) })
	m := &mount{t: t, point: filepath.Join(t.TempDir(), "ctx"), store: filepath.Join(disk, "store")}
	must(t, os.MkdirAll(m.point, 0o755))
	m.agent = filepath.Join(m.point, "home", "0", "agent", "coder")
	m.start()
	t.Cleanup(m.finish)
	dir := m.session("s")
	log := dir + "/messages.jsonl"
	add(t, log, message("user", "before"))
	run("mount", "-o", "remount,abort", disk) // as after an error of the disk
	for range 2 {
		m.killWorker()
		if got := read(t, log); got != message("user", "before") {
			t.Errorf("the log is %q", got)
		}
		if pack := read(t, dir+"/context/pack.md"); !strings.Contains(pack, "before") {
			t.Errorf("the pack is %q", pack)
		}
		wants(t, "an append", tryAdd(log, message("user", "refused")), unix.EROFS)
	}
}
