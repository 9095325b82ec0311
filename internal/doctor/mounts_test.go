package doctor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/mounts"
)

// Of many mounts, one that hangs takes nobody else's answer away, wherever it stands.
func TestAskAll(t *testing.T) {
	var list []mounts.Mount
	for i := range 20 {
		list = append(list, mounts.Mount{Point: fmt.Sprint("/", i)})
	}
	forever := make(chan bool)
	defer close(forever)
	got := askAll(list, time.After(time.Second), func(m mounts.Mount) asked {
		if m.Point == "/0" || m.Point == "/7" {
			<-forever
		}
		return asked{Mount: m, status: map[string]string{"mountpoint": m.Point}}
	})
	for i, a := range got {
		if hangs := i == 0 || i == 7; a.Point != list[i].Point || errors.Is(a.err, errHangs) != hangs || (a.status == nil) != hangs {
			t.Errorf("%d: %+v", i, a)
		}
	}
}

// What a user's mount says leads root to no file but those of that user's processes, and to no store.
func TestHostileStatus(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"cgroup", "limits"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("0::/x/-Hevil.example.ctxfs.service\nMax open files 7 7 files\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	uid := os.Getuid() + 1000
	for _, said := range []string{".." + dir, "self", fmt.Sprint(os.Getpid()), "1/../" + fmt.Sprint(os.Getpid()), "-1", ""} {
		m := asked{Mount: mounts.Mount{Point: "/home/alice/ctx", Store: dir, UID: uid, AllowOther: true}, status: map[string]string{"pid": said, "worker": said}}
		h := &Host{UID: os.Getuid(), Systemd: true, mounts: []asked{m}}
		for _, key := range []string{"pid", "worker"} {
			if name := m.proc(key, "exe"); name != "/proc/0/exe" {
				t.Errorf("%q: %s", said, name)
			}
		}
		for _, list := range [][]Finding{h.service(m), h.memory(m), h.openFiles(m)} {
			if len(list) != 1 || list[0].Level != OK || strings.Contains(list[0].Text, "evil") {
				t.Errorf("%q: %+v", said, list)
			}
		}
		if s := h.stores(); len(s) != 0 {
			t.Errorf("%q: it looks into %s", said, s[0].path)
		}
	}
}

// A unit's name, whatever it is, is no option to systemctl(1).
func TestShowUnit(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte("#!/bin/sh\nfor a; do last=$before before=$a; done\necho \"Word=$last $before\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if err := exec.Command("systemctl").Run(); err != nil {
		t.Fatal(err)
	}
	for _, user := range []bool{false, true} {
		if got := show(user, "-Hevil.example.service")["Word"]; got != "-- -Hevil.example.service" {
			t.Errorf("%q", got)
		}
	}
}

// A path does not say what a command that is shown does.
func TestMendsAreQuoted(t *testing.T) {
	const bad, word = "/a$(touch x) b", "'/a$(touch x) b'"
	h := &Host{Version: "v1", Stores: []string{bad}, UID: os.Geteuid()}
	m := asked{Mount: mounts.Mount{Point: bad, UID: os.Geteuid()}, status: map[string]string{"version": "v0"}}
	list := append(h.version(m), asked{Mount: m.Mount, err: errHangs}.finding(h.UID)...)
	for _, s := range h.stores() {
		list = append(list, append(s.permissions(), append(s.writable(), s.space()...)...)...)
		list = append(list, s.content()...)
	}
	if len(list) != 6 {
		t.Errorf("%+v", list)
	}
	for _, f := range list {
		if !strings.Contains(f.Mend, " "+word) || strings.Contains(strings.ReplaceAll(f.Mend, word, ""), "$(") {
			t.Errorf("%+v", f)
		}
	}
}
