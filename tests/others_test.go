package tests

import (
	"path/filepath"
	"strings"
	"testing"

	"ctxfs/tests/testhost"
)

// What other users have mounted neither breaks one's own commands, nor has root do what its daemon says.
func TestOthersMounts(t *testing.T) {
	testhost.NeedUsers(t)
	base := t.TempDir()
	openPath(t, base)
	log, err := filepath.Abs("../samples/claude-code.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	out := script(t, nil, "unshare", "--mount", "--propagation", "private", "testdata/others/mounts", program, base, log)
	for _, want := range []string{
		"alice mounts: 0", "root without a mount: 11", "bob beside alice imports: 0", "bob beside alice gc: 0", "root beside alice imports: 0",
		"root beside alice gc: 0", "root names alice's: 1", "bob mounts: 0", "alice imports: 0", "alice's sessions: 0", "alice's status: 0", "alice's mount: found",
		"root upgrades: 11", "root upgrades alice's: 1", "as alice: found", "bob upgrades alice's: 1", "alice upgrades: 1", "65534", "as root was told: 0", "root verifies: 0",
		"root's store: found", "bob verifies: 0", "root asks alice's: 0",
		"alice's, to root: found", "mend: runuser --pty -u nobody -- ctxfs umount --lazy", "mended", "not pwned",
	} {
		if !strings.Contains("\n"+out, "\n"+want+"\n") {
			t.Errorf("it does not say %q", want)
		}
	}
	if strings.Contains(out, "\n0\n") {
		t.Error("root ran alice's program")
	}
	if strings.Contains(out, "\nok ") || strings.Contains(out, "\nwarn ") || strings.Contains(out, "\nfail ") {
		t.Error("it looks into alice's store, or a path became a line")
	}
	if t.Failed() {
		t.Error(out)
	}
}
