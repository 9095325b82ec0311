package beneath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"ctxfs/internal/thread"

	"golang.org/x/sys/unix"
)

// TestGuard refuses what is there and does not suit, by every way to open it, and leaves it as it is.
func TestGuard(t *testing.T) {
	p := plant(t)
	must(t, os.WriteFile(filepath.Join(p.in, "a", "theirs"), []byte("theirs"), 0o600))
	asked := map[string]bool{}
	p.d.SetGuard(func(rel string, st *unix.Stat_t) error {
		asked[rel] = true
		if filepath.Base(rel) == "theirs" {
			return unix.EACCES
		}
		return nil
	})
	sub, err := p.d.Sub("a")
	must(t, err)
	defer sub.Close()
	times := [2]unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	before, err := os.Stat(filepath.Join(p.in, "a", "theirs"))
	must(t, err)
	for what, err := range map[string]error{
		"read":   second(p.d.ReadFile("a/theirs", 100)),
		"open":   second(sub.OpenFile("theirs", unix.O_RDWR, 0)),
		"trunc":  second(p.d.OpenFile("a/theirs", unix.O_WRONLY|unix.O_TRUNC, 0)),
		"create": second(p.d.OpenFile("a/theirs", unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, 0o600)),
		"chmod":  p.d.Chmod("a/theirs", 0o777),
		"chown":  p.d.Chown("a/theirs", os.Getuid(), os.Getgid()),
		"utimes": p.d.Utimes("a/theirs", times),
	} {
		if !errors.Is(err, unix.EACCES) {
			t.Errorf("%s: %v", what, err)
		}
	}
	after, err := os.Stat(filepath.Join(p.in, "a", "theirs"))
	must(t, err)
	if after.Size() != 6 || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) || !asked["a/theirs"] {
		t.Errorf("it was touched: %v, %v", after, asked)
	}
	f, err := p.d.OpenFile("a/new", unix.O_RDWR|unix.O_CREAT, 0o600)
	must(t, err)
	must(t, f.Close())
	f, err = p.d.OpenFile("a/f", unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC, 0o600) // what is there and suits
	must(t, err)
	if st, err := f.Stat(); err != nil || st.Size() != 0 {
		t.Errorf("%v %v", st, err)
	}
	must(t, f.Close())
}

// TestOwner: what is made belongs to its owner, in a folder that the owner may not write to, without chown(2), which could fail or
// come too late; in a folder with the set-group-id bit it has the folder's group. What made it is root's as before.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIP: only root makes files for others")
	}
	p := plant(t)
	must(t, os.Mkdir(filepath.Join(p.in, "team"), 0o700))
	must(t, os.Chown(filepath.Join(p.in, "team"), 5000, 5001))
	must(t, os.Chmod(filepath.Join(p.in, "team"), 0o700|os.ModeSetgid))
	own := Owner{UID: 4000, GID: 4001, Chown: true}
	must(t, thread.Run(func() error {
		return errors.Join(withoutChown(), make4(p.d, "a", own), make4(p.d, "team", own))
	}))
	for dir, gid := range map[string]uint32{"a": 4001, "team": 5001} {
		for _, name := range []string{"dir", "below", "below/it", "file", "new", "written", "link"} {
			st, err := p.d.Stat(dir + "/" + name)
			if err != nil || st.Uid != 4000 || st.Gid != gid {
				t.Errorf("%s/%s: %d:%d, %v", dir, name, st.Uid, st.Gid, err)
			}
		}
	}
	must(t, p.d.Mkdir("mine", 0o700, Owner{}))
	if st, err := p.d.Stat("mine"); err != nil || st.Uid != 0 || int(st.Gid) != os.Getegid() {
		t.Errorf("%d:%d, %v", st.Uid, st.Gid, err)
	}
	if err := p.d.Mkdir("mine", 0o700, own); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a folder that is there: %v", err)
	}
}

// make4 makes what can be made, in each way.
func make4(d *Dir, dir string, own Owner) error {
	f, err := d.Create(dir+"/file", unix.O_RDWR, 0o600, own)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), d.Mkdir(dir+"/dir", 0o700, own), d.MkdirAll(dir+"/below/it", 0o700, own, nil), d.Symlink("to", dir+"/link", own),
		d.NewFile(dir+"/new", 0o600, own), d.WriteFile(dir+"/written", []byte("text"), 0o600, own))
}

// withoutChown takes CAP_CHOWN from the thread for good.
func withoutChown() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return err
	}
	caps[0].Effective &^= 1 << unix.CAP_CHOWN
	caps[0].Permitted &^= 1 << unix.CAP_CHOWN
	return unix.Capset(&head, &caps[0])
}

// TestNewFile makes a file, and leaves one that is there.
func TestNewFile(t *testing.T) {
	p := plant(t)
	must(t, p.d.NewFile("a/n", 0o640, Owner{}))
	if st, err := p.d.Stat("a/n"); err != nil || st.Mode != unix.S_IFREG|0o640 || st.Size != 0 {
		t.Errorf("%o %v", st.Mode, err)
	}
	must(t, p.d.NewFile("a/f", 0o600, Owner{}))
	must(t, p.d.NewFile("abs-file", 0o600, Owner{}))
	if data, err := p.d.ReadFile("a/f", 100); err != nil || string(data) != "inside" {
		t.Errorf("%q %v", data, err)
	}
	if left, _ := filepath.Glob(filepath.Join(p.in, "a", TempPrefix+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
