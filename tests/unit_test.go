package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// unitFile is the service as it is installed.
const unitFile = "../dist/systemd/ctxfs.service"

// A real systemd runs the unit as it is, with all that it forbids the daemon: supervisors that are killed and an upgrade are not
// noticed by a user's program, and at the end nothing is mounted.
func TestSystemd(t *testing.T) {
	needFUSE(t)
	needSystemd(t)
	base := t.TempDir()
	out := boot(t, base, "testdata/systemd/probe", program+"=/usr/local/bin/ctxfs", unitFile+"=/etc/systemd/system/ctxfs.service")
	for _, want := range []string{
		`active: active`,
		`process: CapEff: 00000000002000db CapBnd: 00000000002000db NoNewPrivs: 1 Seccomp: 2`,
		`log reads: log_reads: direct`,
		`restarts: 3`,
		`reload: another worker`,
		`writer: # Context pack of coder/busy`,
		`lines: 300 300 {"role":"user","content":"a299"}`,
		`other work: done`,
		`doctor: ok ok ok ok`,
		`doctor, little: warn warn ok`,
		`doctor, memory: warn`,
		`stopped: success inactive /ctx is not a mountpoint`,
		`verify: 0`,
		`doctor, failed: fail`,
	} {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(want)).MatchString(out) {
			t.Errorf("it does not say %q", want)
		}
	}
	if n := strings.Count(out, "\nprocess: "); n != 2 {
		t.Errorf("%d processes, not a supervisor and a worker", n)
	}
	if t.Failed() {
		log, err := os.ReadFile(filepath.Join(base, "out", "log"))
		t.Logf("%s\nthe service: %s (%v)", out, log, err)
	}
}

// needSystemd skips a test that cannot have a systemd of its own.
func needSystemd(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIP: only root can have a systemd of its own")
	}
	if _, err := os.Stat("/lib/systemd/systemd"); err != nil {
		skip(t, "no systemd here: %v", err)
	}
}

// systemd-analyze(1) finds the unit no worse than docs/service.md says.
func TestUnitExposure(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		skip(t, "no systemd here: %v", err)
	}
	said := regexp.MustCompile(`Overall exposure level for ctxfs.service: (\d)\.(\d)`).FindStringSubmatch(read(t, "../docs/service.md"))
	if said == nil {
		t.Fatal("docs/service.md has no figure")
	}
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold="+said[1]+said[2], unitFile).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// boot has a systemd run a script beside ctxfs.service, and gives what the script said. The folder base/out is its /out. Files
// are FILE=PLACE.
func boot(t *testing.T, base, probe string, files ...string) string {
	t.Helper()
	c := exec.Command("testdata/systemd/boot", append([]string{base, probe}, files...)...)
	var said strings.Builder
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() }) // and, with it, all of its namespace
	err := c.Wait()
	stop.Stop()
	out, readErr := os.ReadFile(filepath.Join(base, "out", "result"))
	if err != nil || readErr != nil {
		t.Fatalf("systemd ended with %v\n%s\n%s", err, said.String(), out)
	}
	return string(out)
}
