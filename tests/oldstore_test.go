package tests

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A store that the program of commit 814ceb3 wrote opens, whole: imported, appended and archived sessions, control files,
// injections, quarantine. It was made with that program from samples/; the .sums file has what its mount showed.
func TestStoreOf814ceb3(t *testing.T) {
	needFUSE(t)
	if os.Getuid() != 0 {
		skip(t, "the store is root's")
	}
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", "testdata/store/814ceb3.tar.gz", "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	m := &mount{t: t, point: filepath.Join(t.TempDir(), "ctx"), store: filepath.Join(dir, "store")}
	must(t, os.Mkdir(m.point, 0o755))
	m.start()
	t.Cleanup(m.finish) // which verifies the store
	agents := filepath.Join(m.point, "home", "0", "agent")
	for line := range strings.Lines(read(t, "testdata/store/814ceb3.sums")) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, filepath.Join(agents, name))))); got != sum {
			t.Errorf("%s is not what it was", name)
		}
	}
	sessions, err := filepath.Glob(agents + "/*/session/*/messages.jsonl")
	must(t, err)
	if len(sessions) != 4 {
		t.Errorf("sessions: %v", sessions)
	}
	for _, log := range sessions {
		if pack := read(t, filepath.Join(filepath.Dir(log), "context/pack.md")); !strings.HasPrefix(pack, "# Context pack of ") {
			t.Errorf("%s: %.80q", log, pack)
		}
		before := read(t, log)
		add(t, log, message("user", "a line of today"))
		if got := read(t, log); got != before+message("user", "a line of today") {
			t.Errorf("%s: what was appended is not behind what was there", log)
		}
	}
	if got := read(t, agents+"/coder/root/d/file"); got != "plain\n" {
		t.Errorf("a plain file: %q", got)
	}
}
