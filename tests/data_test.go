package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The design's black-box check passes on a real mount.
func TestABICheck(t *testing.T) {
	check := sharedData(t, "check/abi_check.py")
	m := newMount(t)
	out, err := command("python3", check, m.point)
	if err != nil || !strings.Contains(out, " 0 failed") {
		t.Errorf("%v\n%s", err, out)
	}
}

// imported is what `ctxfs import --json` prints for a file.
type imported struct {
	File, Session string
	Report        struct{ Records, Messages, Events, Blobs int }
}

// Every Claude Code and Codex log imports through a mount, and its packs keep their budgets.
func TestRealSessions(t *testing.T) {
	data := sharedData(t, "data")
	m := newMount(t)
	for _, format := range []string{"claude-code", "codex"} {
		files, err := filepath.Glob(filepath.Join(data, format, "*", "*.jsonl"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", format, err)
		}
		if testing.Short() {
			files = files[:min(len(files), 5)]
		}
		for _, file := range files {
			out, _ := command(program, "import", "--mount", m.point, "--json", file) // bad source lines are told by the exit code
			var done imported
			if err := json.NewDecoder(strings.NewReader(out)).Decode(&done); err != nil {
				t.Errorf("%s: %v\n%s", filepath.Base(file), err, out)
				continue
			}
			checkImported(t, format, done)
		}
	}
}

func checkImported(t *testing.T, format string, done imported) {
	t.Helper()
	lines := strings.Count(read(t, done.Session+"/messages.jsonl"), "\n")
	if lines != done.Report.Messages {
		t.Errorf("%s: %d messages in the log, the report says %d", done.Session, lines, done.Report.Messages)
	}
	var counts [2]int
	for i, budget := range []int{8000, 32000} {
		pack := fmt.Sprintf("%s/context/pack@%d.md", done.Session, budget)
		if counts[i] = tokens(t, pack); counts[i] > budget {
			t.Errorf("%s: %d tokens", pack, counts[i])
		}
		if text := read(t, pack); len(text) == 0 {
			t.Errorf("%s is empty", pack)
		}
	}
	if os.Getenv("CTXFS_IMPORT_TABLE") != "" {
		fmt.Printf("| %s | %.24s | %d | %d | %d | %d | %d |\n", format, filepath.Base(done.Session), done.Report.Records, done.Report.Messages, done.Report.Events, counts[0], counts[1])
	}
}
