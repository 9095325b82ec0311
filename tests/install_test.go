package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// installation gives a folder with what `make install` puts below DESTDIR, for the program under test where it is.
func installation(t *testing.T, env ...string) string {
	t.Helper()
	notUnderRace(t)
	dest := t.TempDir()
	script(t, append(env, "DESTDIR="+dest), "../scripts/install", program)
	return dest
}

// script runs a script of the repository, and gives what it printed.
func script(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// tree lists the files below a folder, links with where they lead.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(p, dir)
		if to, err := os.Readlink(p); err == nil {
			name += " -> " + to
		}
		out = append(out, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What is installed where, that the same source gives the same bytes, and that nothing is left by uninstall.
func TestInstall(t *testing.T) {
	dest, again := installation(t), installation(t)
	files := tree(t, dest)
	for _, want := range []string{
		"/usr/local/bin/ctxfs", "/usr/sbin/mount.ctxfs -> ../local/bin/ctxfs", "/usr/sbin/mount.fuse.ctxfs -> ../local/bin/ctxfs",
		"/usr/local/share/man/man1/ctxfs.1", "/usr/local/share/man/man1/ctxfs-session-archive.1", "/usr/local/share/man/man8/mount.ctxfs.8",
		"/usr/local/share/bash-completion/completions/ctxfs", "/usr/local/share/zsh/site-functions/_ctxfs", "/usr/local/share/fish/vendor_completions.d/ctxfs.fish",
		"/usr/local/lib/systemd/system/ctxfs.service", "/usr/local/lib/systemd/system/ctxfs-gc.timer", "/usr/local/lib/systemd/user/ctxfs.service", "/usr/local/lib/systemd/user/ctxfs-watch.service", "/usr/local/share/doc/ctxfs/examples/config",
	} {
		if !slices.Contains(files, want) {
			t.Errorf("%s is not installed: %q", want, files)
		}
	}
	if out, err := exec.Command("diff", "-r", dest, again).CombinedOutput(); err != nil {
		t.Errorf("two installations differ: %s", out)
	}
	script(t, []string{"DESTDIR=" + dest}, "../scripts/install", "--remove")
	if left := tree(t, dest); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// One user installs into folders of their own, and nowhere else. Links to the program hold where a folder of the path is a link.
func TestInstallForOne(t *testing.T) {
	notUnderRace(t)
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "usr/sbin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("usr/sbin", filepath.Join(home, "sbin")); err != nil {
		t.Fatal(err)
	}
	env := []string{"DESTDIR=", "PREFIX=" + home + "/.local", "HELPERDIR=" + home + "/sbin", "UNITDIR=" + home + "/.local/share/systemd"}
	as := []string{"../scripts/install", program}
	if os.Getuid() == 0 { // who may write anywhere would not see that it writes elsewhere
		script(t, nil, "chown", "-R", "1001", home)
		script(t, nil, "chmod", "755", filepath.Dir(home))
		as = append([]string{"setpriv", "--reuid=1001", "--regid=1001", "--clear-groups"}, as...)
	}
	script(t, append(env, "HOME="+home), as[0], as[1:]...)
	if out := script(t, nil, home+"/usr/sbin/mount.fuse.ctxfs", "--help"); !strings.Contains(out, "MOUNTPOINT") {
		t.Errorf("the helper says %s", out)
	}
	read(t, home+"/.local/share/systemd/user/ctxfs.service")
	script(t, env, "../scripts/install", "--remove")
	if left := tree(t, home); !slices.Equal(left, []string{"/sbin -> usr/sbin"}) {
		t.Errorf("left: %q", left)
	}
}

// man(1) shows every page without a complaint, and the pages do not depend on who makes them.
func TestManual(t *testing.T) {
	if _, err := exec.LookPath("groff"); err != nil {
		skip(t, "no groff here: %v", err)
	}
	dest := installation(t, "SOURCE_DATE_EPOCH=86400", "HOME=/nowhere", "XDG_DATA_HOME=/elsewhere", "XDG_CONFIG_HOME=/elsewhere")
	pages, err := filepath.Glob(dest + "/usr/local/share/man/man?/*")
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	out, err := exec.Command("groff", append([]string{"-man", "-s", "-I" + dest + "/usr/local/share/man", "-Kutf8", "-Tutf8", "-ww"}, pages...)...).CombinedOutput()
	if err != nil || strings.Contains(string(out), "warning") || strings.Contains(string(out), "groff:") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, p := range pages {
		if strings.HasSuffix(p, "/mount.fuse.ctxfs.8") { // .so mount.ctxfs.8
			continue
		}
		text := read(t, p)
		if !regexp.MustCompile(`^\.TH "[A-Z.-]+" "[18]" "1970-01-02" `).MatchString(text) || !strings.Contains(text, "\n.SH EXAMPLES\n") {
			t.Errorf("%s: %.200s", p, text)
		}
		if strings.Contains(text, "elsewhere") || strings.Contains(text, "nowhere") {
			t.Errorf("%s tells of the place where it was made", p)
		}
	}
}

// bash completes commands and flags.
func TestCompletion(t *testing.T) {
	dest := installation(t)
	out, err := exec.Command("bash", "-c", `. "$1"
PATH=$2:$PATH
_get_comp_words_by_ref() { cur=um prev=ctxfs words=(ctxfs um) cword=1; }
compopt() { :; }
__start_ctxfs
echo "${COMPREPLY[@]}"`, "bash", dest+"/usr/local/share/bash-completion/completions/ctxfs", filepath.Dir(program)).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "umount") {
		t.Errorf("%v: %q", err, out)
	}
}

// systemd finds nothing wrong with the units.
func TestUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		skip(t, "no systemd here: %v", err)
	}
	dest := installation(t, "BINDIR="+filepath.Dir(program))
	for kind, n := range map[string]int{"system": 3, "user": 4} {
		units, err := filepath.Glob(dest + "/usr/local/lib/systemd/" + kind + "/*")
		if err != nil || len(units) != n {
			t.Fatalf("%q, %v", units, err)
		}
		c := exec.Command("systemd-analyze", append([]string{"--" + kind, "verify", "--man=no"}, units...)...)
		c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		if out, err := c.CombinedOutput(); err != nil || strings.Contains(string(out), "ctxfs") {
			t.Errorf("%s: %v\n%s", kind, err, out)
		}
	}
}

// mount(8) finds the helper: by the type ctxfs and by fuse.ctxfs, and by lines of fstab(5), which are mounted once.
func TestFstab(t *testing.T) {
	needFUSE(t)
	if os.Getuid() != 0 {
		t.Skip("SKIP: only root can have an /sbin of its own")
	}
	dest := installation(t, "BINDIR="+filepath.Dir(program))
	out := script(t, nil, "unshare", "--mount", "--propagation", "private", "testdata/install/fstab", dest, t.TempDir())
	for _, want := range []string{
		"ctxfs: 4000 rw,nosuid,nodev", "fuse.ctxfs: 5000", "fstab: 6000", "again: 1", "sloppy: 7000", "unknown: 1", "read-only, sloppy: 1 0", "usual: 32000", "fake: no mount", "left: 0",
	} {
		if !strings.Contains("\n"+out, "\n"+want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}
