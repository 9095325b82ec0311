package mounts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestParse reads mountinfo lines as the kernel writes them (proc_pid_mountinfo(5)): optional fields between the
// options and the hyphen, and octal escapes.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Mount
	}{
		{"empty", "", nil},
		{"one", "36 25 0:32 / /ctx rw,nosuid,nodev - fuse.ctxfs /var/lib/ctxfs rw,user_id=0\n", []Mount{{"/ctx", "/var/lib/ctxfs", 0, false}}},
		{"a user's", "36 25 0:32 / /ctx rw,nosuid - fuse.ctxfs /s rw,user_id=1001,group_id=1001,default_permissions,max_read=1048576\n", []Mount{{"/ctx", "/s", 1001, false}}},
		{"for others", "36 25 0:32 / /ctx rw - fuse.ctxfs /s rw,user_id=1001,group_id=0,default_permissions,allow_other\n", []Mount{{"/ctx", "/s", 1001, true}}},
		{"a store like options", "36 25 0:32 / /ctx rw,user_id=0 - fuse.ctxfs user_id=0,allow_other rw,user_id=7\n", []Mount{{"/ctx", "user_id=0,allow_other", 7, false}}},
		{"no number", "36 25 0:32 / /ctx rw - fuse.ctxfs /s rw,user_id=-2,user_id=,user_id=4294967296\n", []Mount{{"/ctx", "/s", nobody, false}}},
		{"twice", "36 25 0:32 / /ctx rw - fuse.ctxfs /s rw,user_id=5,user_id=0\n", []Mount{{"/ctx", "/s", 5, false}}},
		{"a folder of it", "36 25 0:32 /home/7 /x rw - fuse.ctxfs /s rw,user_id=0,allow_other\n", []Mount{{"/x", "/s", nobody, true}}},
		{"optional fields", "36 25 0:32 / /ctx rw shared:1 master:2 - fuse.ctxfs /s rw\n", []Mount{{"/ctx", "/s", nobody, false}}},
		{"escapes", `36 25 0:32 / /a\040b\134c\011d\012e rw - fuse.ctxfs /s\040-\040t rw` + "\n", []Mount{{"/a b\\c\td\ne", "/s - t", nobody, false}}},
		{"escape at the end", `36 25 0:32 / /a\040 rw - fuse.ctxfs /s rw` + "\n", []Mount{{"/a ", "/s", nobody, false}}},
		{"no escape", `36 25 0:32 / /a\04 rw - fuse.ctxfs /s\999 rw` + "\n", []Mount{{`/a\04`, `/s\999`, nobody, false}}},
		{"UTF-8", "36 25 0:32 / /é/日 rw - fuse.ctxfs /s rw\n", []Mount{{"/é/日", "/s", nobody, false}}},
		{"others", "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n22 21 0:5 / /x rw - fuse.sshfs h: rw\n23 21 0:6 / /fuse.ctxfs rw - tmpfs fuse.ctxfs rw\n", nil},
		{"order", "1 1 0:1 / /b rw - fuse.ctxfs /1 rw\n2 1 0:2 / /a rw - fuse.ctxfs /2 rw\n", []Mount{{"/b", "/1", nobody, false}, {"/a", "/2", nobody, false}}},
		{"no newline", "1 1 0:1 / /b rw - fuse.ctxfs /1 rw", []Mount{{"/b", "/1", nobody, false}}},
		{"torn lines", "36 25 0:32 / - fuse.ctxfs /s\n36 25 0:32 / /ctx rw - fuse.ctxfs\n- fuse.ctxfs /s\nx\n\n", nil},
	} {
		got, err := parse(strings.NewReader(c.text))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}

// TestOwner holds whom the kernel lets in, and whom one believes.
func TestOwner(t *testing.T) {
	for _, c := range []struct {
		m             Mount
		uid           int
		lets, believe bool
	}{
		{Mount{UID: 1001}, 1001, true, true},
		{Mount{UID: 1001}, 1002, false, false},
		{Mount{UID: 1001}, 0, false, false},
		{Mount{UID: 1001, AllowOther: true}, 0, true, false},
		{Mount{UID: 0}, 1001, false, true},
		{Mount{UID: 0, AllowOther: true}, 1001, true, true},
		{Mount{UID: nobody, AllowOther: true}, 0, true, false},
	} {
		if lets, believe := c.m.LetsIn(c.uid), c.m.Believed(c.uid); lets != c.lets || believe != c.believe {
			t.Errorf("%+v, user %d: let in %v, believed %v", c.m, c.uid, lets, believe)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`36 25 0:32 / /a\040b rw shared:1 - fuse.ctxfs /s\134t rw`)
	f.Add(`1 1 0:1 / /\ rw - fuse.ctxfs \0 rw`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parse(strings.NewReader(text))
		if err == nil && len(list) > strings.Count(text, "fuse.ctxfs") {
			t.Errorf("%d mounts in %q", len(list), text)
		}
		for _, m := range list {
			if m.Point == "" || m.Store == "" {
				t.Errorf("%+v in %q", m, text)
			}
		}
	})
}

func TestInside(t *testing.T) {
	for _, c := range []struct {
		p, dir string
		want   bool
	}{
		{"/ctx", "/ctx", true}, {"/ctx/a", "/ctx", true}, {"/ctxfs", "/ctx", false}, {"/", "/ctx", false}, {"/ctx", "/ctx/a", false},
		{"/ctx", "/", true}, {"/", "/", true}, {"/ctx/a", "/ctx/", true}, {"/ct", "/ctx", false},
	} {
		if got := Inside(c.p, c.dir); got != c.want {
			t.Errorf("Inside(%q, %q) = %v", c.p, c.dir, got)
		}
	}
}

// TestOverlap holds stores and mountpoints apart, whatever links lead to them, whether they exist or not.
func TestOverlap(t *testing.T) {
	top := t.TempDir()
	for _, d := range []string{"ctx/sub", "store/sub", "other"} {
		must(t, os.MkdirAll(filepath.Join(top, d), 0o755))
	}
	for name, target := range map[string]string{"to-ctx": "ctx", "to-ctx-sub": filepath.Join(top, "ctx/sub"), "to-store": "store", "chain": "to-ctx", "other/up": "../ctx"} {
		must(t, os.Symlink(target, filepath.Join(top, name)))
	}
	for _, c := range []struct {
		store, point string
		want         string // a word of the error
	}{
		{"store", "ctx", ""}, {"other", "ctx", ""}, {"none", "ctx", ""}, {"none/deep", "none2/deep", ""}, {"ctxstore", "ctx", ""}, {"to-store", "to-ctx", ""},
		{"ctx", "ctx", "inside the mountpoint"}, {"ctx/sub", "ctx", "inside the mountpoint"}, {"ctx/none", "ctx", "inside the mountpoint"},
		{"to-ctx", "ctx", "inside the mountpoint"}, {"chain/none/x", "ctx", "inside the mountpoint"}, {"to-ctx-sub", "to-ctx", "inside the mountpoint"},
		{"other/up/none", "ctx", "inside the mountpoint"}, {"none/x", "none", "inside the mountpoint"}, {"store/../ctx", "ctx", "inside the mountpoint"},
		{"store", "store/sub", "inside the store"}, {"store", "to-store/none", "inside the store"}, {"to-store", "store/sub/deep", "inside the store"},
	} {
		err := Overlap(filepath.Join(top, c.store), filepath.Join(top, c.point))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("Overlap(%s, %s): %v, want %q", c.store, c.point, err, c.want)
		}
	}
	t.Chdir(filepath.Join(top, "ctx"))
	if err := Overlap("store", "."); err == nil {
		t.Error("a relative store inside the mountpoint")
	}
	if err := Overlap("../store", "."); err != nil {
		t.Errorf("a relative store outside: %v", err)
	}
}

// TestCheck looks at what is no mountpoint.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if err := Check(dir); err != nil {
		t.Errorf("a folder: %v", err)
	}
	if err := Check(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	if err := Check(file); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a file: %v", err)
	}
	if m, ok, err := At(dir); ok || err != nil {
		t.Errorf("a mount %+v stands over a temporary folder, %v", m, err)
	}
}

func TestParseStatus(t *testing.T) {
	got := ParseStatus([]byte("store: /a: b\nbudget: 32000\nno pair\nempty: \n\nkey:value\n"))
	want := map[string]string{"store": "/a: b", "budget": "32000", "empty": ""}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := Status(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder without status: %v", err)
	}
}
