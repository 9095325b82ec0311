package tests

import (
	"strings"
	"testing"

	"ctxfs/tests/testhost"
)

// Each thing that doctor looks at is really broken, and told of; where what it says is a command, that mends it.
func TestDoctor(t *testing.T) {
	testhost.NeedUsers(t)
	notUnderRace(t)
	base := t.TempDir()
	openPath(t, base) // for a second user
	out := script(t, nil, "unshare", "--mount", "--propagation", "private", "testdata/doctor/break", program, base)
	for _, want := range []string{
		"nothing: ok 0",
		"no device: fail 1", "locked device: fail 1", "no fusermount3: warn 0", "no fusermount3, user: fail 1", "no setuid: fail 1",
		"others, nobody asks: ok 0", "others: fail 1", "others may: ok 0", "old kernel: fail 1", "settings: fail 1", "no store: ok 0",
		"mount: ok 0", "gc never: warn 0", "gc ran: ok 0", "gc long ago: warn 0", "quarantine empty: ok 0", "quarantine: warn 0",
		"hangs: fail 1", "goes on: ok 0", "stale: fail 1", "stale mended: ok 0", "unlocked: ok 0", "held elsewhere: fail 1",
		"few files: warn 0", "replaced program: warn 0", "replaced program mended: ok 0", "quota free: ok 0", "quota: fail 1",
		"clock: fail 1", "clock of a record: fail 1", "clock right: ok 0", "torn: fail 1", "torn mended: ok 0", "damaged: fail 1",
		"open store: fail 1", "open store mended: ok 0", "seen store: warn 0", "seen store mended: ok 0", "home of another: fail 1",
		"home of another mended: ok 0", "store of another: fail 1", "full disk: fail 1", "full disk, written: fail 1", "no inodes: fail 1",
		"read-only: fail 1", "read-only mended: ok 0",
	} {
		if !strings.Contains("\n"+out, "\n"+want+"\n") {
			t.Errorf("it does not say %q", want)
		}
	}
	if t.Failed() || strings.Contains(out, "no word") {
		t.Error(out)
	}
}
