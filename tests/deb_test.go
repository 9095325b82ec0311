package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ctxfs/tests/testhost"
)

// debRoot names the root of a Debian to install into, as `make deb-test` makes one. Without it, the packages are installed into an
// overlay of this host's root.
const debRoot = "CTXFS_TEST_DEBROOT"

// deb builds a package of a program, and gives its name.
func deb(t *testing.T, program, version string) string {
	t.Helper()
	notUnderRace(t)
	return strings.TrimSpace(script(t, []string{"VERSION=" + version, "SOURCE_DATE_EPOCH=1767225600", "COMPRESS=none"}, "../scripts/deb", program, t.TempDir()))
}

// The package is built twice to the same bytes, and says what it is, needs and brings.
func TestDeb(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		skip(t, "no dpkg here: %v", err)
	}
	one, two := deb(t, program, "1.2.3"), deb(t, program, "1.2.3")
	if err := exec.Command("cmp", one, two).Run(); err != nil {
		t.Errorf("two builds differ: %v", err)
	}
	fields := script(t, nil, "dpkg-deb", "--field", one)
	for _, want := range []string{"Package: ctxfs\n", "\nVersion: 1.2.3\n", "\nDepends: fuse3\n", "\nRecommends: attr\n"} {
		if !strings.Contains(fields, want) {
			t.Errorf("%q is not in %s", want, fields)
		}
	}
	files := script(t, nil, "dpkg-deb", "--contents", one)
	for _, want := range []string{
		`-rwxr-xr-x root/root +\d+ 2026-01-01 00:00 ./usr/bin/ctxfs`, `./usr/sbin/mount.ctxfs -> ../bin/ctxfs`, `./usr/share/man/man1/ctxfs-mount.1.gz`,
		`./usr/lib/systemd/system/ctxfs-gc.timer`, `./usr/lib/systemd/user/ctxfs.service`, `./usr/share/doc/ctxfs/copyright`, `./usr/share/doc/ctxfs/install.md`, `./usr/share/doc/ctxfs/examples/agent.py`, `./usr/share/doc/ctxfs/examples/config`,
		`./usr/share/zsh/vendor-completions/_ctxfs`,
	} {
		if !regexp.MustCompile(`(?m)` + want + `$`).MatchString(files) {
			t.Errorf("%s is not in %s", want, files)
		}
	}
	if conffiles, err := exec.Command("dpkg-deb", "--info", one, "conffiles").Output(); err == nil || strings.Contains(files, "/etc/ctxfs/config") {
		t.Errorf("dpkg would ask about settings at an upgrade: %q", conffiles)
	}
	if strings.Contains(files, "/local/") || regexp.MustCompile(`(?m)^.{10} (?:[^r]|r[^o])`).MatchString(files) {
		t.Errorf("of another place or owner: %s", files)
	}
}

// reworded is a package whose flags are explained in other words, as the next version's are.
func reworded(t *testing.T, file string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "reworded.deb")
	script(t, nil, "bash", "-c", `set -e; dir=$(mktemp -d -p "$1"); dpkg-deb -R "$2" "$dir"
find "$dir" -name config -exec sed -i '1s/^/# in other words\n/' {} +
dpkg-deb --root-owner-group -Znone -b "$dir" "$3"; rm -r "$dir"`, "bash", t.TempDir(), file, out)
	return out
}

// A Debian takes the package: nothing is started unasked, all of it works, an upgrade is not noticed by who writes, and what purge
// leaves is history.
func TestDebInstalled(t *testing.T) {
	testhost.Rare(t)
	testhost.NeedUsers(t)
	needSystemd(t)
	if _, err := os.Stat("/var/lib/dpkg/status"); err != nil {
		skip(t, "no Debian: %v", err)
	}
	old := deb(t, program, "1.0")
	next := filepath.Join(t.TempDir(), "ctxfs")
	build := exec.Command("go", "build", "-ldflags", "-X main.version=v9.9.9", "-o", next, "ctxfs/cmd/ctxfs")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	base := t.TempDir()
	if err := os.Mkdir(filepath.Join(base, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"old": old, "new": reworded(t, deb(t, next, "2.0"))} {
		if err := os.Rename(file, filepath.Join(base, "out", name+".deb")); err != nil {
			t.Fatal(err)
		}
	}
	if root := os.Getenv(debRoot); root != "" {
		t.Setenv("ROOT", root)
	}
	out := boot(t, base, "testdata/deb/probe")
	for _, want := range []string{
		`installed: installed 1.0`, `runs: ctxfs version 0.1.0-dev`,
		`manual: /usr/share/man/man1/ctxfs-mount.1.gz /usr/share/man/man8/mount.ctxfs.8.gz 1`,
		`completion: complete -o default -F __start_ctxfs ctxfs`,
		`settings at first: 3 `, `asleep: ctxfs.service inactive disabled ctxfs-gc.timer inactive disabled`, `units: `,
		`awake: ctxfs.service active enabled ctxfs-gc.timer active enabled`,
		`settings: budget: 9000 1`, `pack: hello`, `gc: success`, `gc store: root`, `timer: 1`, `budget: 5000`,
		`own: active /home/alice/.local/share/ctxfs`, `own again: own`, `own gc: alice`, `own end: /home/alice/ctx is not a mountpoint`,
		`upgraded: installed 2.0`, `written: 201 v9.9.9 the same daemon`, `still awake: ctxfs.service active enabled ctxfs-gc.timer active enabled`,
		`settings are kept: budget = 9000`, `example: in other words`, `postinst again: active`, `prerm again: active`,
		`prerm: ctxfs.service inactive enabled ctxfs-gc.timer inactive enabled`, `removal given up: ctxfs.service active enabled ctxfs-gc.timer active enabled`,
		`removed: config-files inactive /ctx is not a mountpoint ls: cannot access '/usr/bin/ctxfs': No such file or directory`, `purged: dpkg-query: no packages found matching ctxfs 1`,
		`history: 201`, `left over: `,
	} {
		if !strings.Contains("\n"+out, "\n"+want+"\n") {
			t.Errorf("it does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}
