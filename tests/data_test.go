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

// formats are the logs of each format in ../shared/data.
func formats() [][2]string {
	return [][2]string{{"claude-code", "claude-code/*/*.jsonl"}, {"codex", "codex/*/*.jsonl"}, {"copilot-cli", "copilot-cli/*/*.jsonl"},
		{"gemini-cli", "gemini-cli/*/*.json"}, {"pi", "pi/*/*.jsonl"}, {"openhands", "openhands/*.jsonl"}, {"swe-agent", "swe-agent/*.traj"},
		{"messages", "tau-bench/*"}, {"aider", "aider/*.md"}}
}

// Every log imports through a mount, and its packs keep their budgets.
func TestRealSessions(t *testing.T) {
	notUnderRace(t)
	data := sharedData(t, "data")
	m := newMount(t)
	for _, format := range formats() {
		files, err := filepath.Glob(filepath.Join(data, format[1]))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", format, err)
		}
		if testing.Short() {
			files = files[:min(len(files), 5)]
		}
		for _, file := range files {
			out, _ := command(program, "import", "--mount", m.point, "--json", file) // bad source lines are told by the exit code
			var all []imported
			for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
				var done imported
				if err := dec.Decode(&done); err != nil {
					t.Errorf("%s: %v\n%s", filepath.Base(file), err, out)
					break
				}
				all = append(all, done)
			}
			if len(all) == 0 {
				t.Errorf("%s: nothing was imported", filepath.Base(file))
				continue
			}
			checkImported(t, format[0], all)
		}
	}
}

// checkImported checks the sessions of one file.
func checkImported(t *testing.T, format string, all []imported) {
	t.Helper()
	name, sum := filepath.Base(all[0].Session), all[0].Report
	for i, done := range all {
		if lines := strings.Count(read(t, done.Session+"/messages.jsonl"), "\n"); lines != done.Report.Messages {
			t.Errorf("%s: %d messages in the log, the report says %d", done.Session, lines, done.Report.Messages)
		}
		if i > 0 {
			name = fmt.Sprintf("%d sessions", len(all))
			sum.Records, sum.Messages, sum.Events = sum.Records+done.Report.Records, sum.Messages+done.Report.Messages, sum.Events+done.Report.Events
		}
	}
	counts := checkPacks(t, all[0].Session)
	if os.Getenv("CTXFS_IMPORT_TABLE") != "" {
		fmt.Printf("| %s | %.24s | %d | %d | %d | %d | %d |\n", format, name, sum.Records, sum.Messages, sum.Events, counts[0], counts[1])
	}
}

func checkPacks(t *testing.T, session string) (counts [2]int) {
	t.Helper()
	for i, budget := range []int{8000, 32000} {
		pack := fmt.Sprintf("%s/context/pack@%d.md", session, budget)
		if counts[i] = tokens(t, pack); counts[i] > budget {
			t.Errorf("%s: %d tokens", pack, counts[i])
		}
		if text := read(t, pack); len(text) == 0 {
			t.Errorf("%s is empty", pack)
		}
	}
	return counts
}
