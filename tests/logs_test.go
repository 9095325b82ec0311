package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// With --log-format json each line of the daemon's is an object, of the supervisor and of each worker; --debug's requests are too, and no
// line of a log is in them.
func TestLogsJSON(t *testing.T) {
	m := newMount(t, "--log-format", "json", "--debug")
	log := m.session("s") + "/messages.jsonl"
	add(t, log, message("user", "nobody may log this"))
	read(t, log)
	read(t, filepath.Dir(log)+"/context/pack.md")
	m.killWorker()
	add(t, log, message("user", "nor this: nobody may log it"))
	run(t, "umount", m.point)
	if err := m.cmd.Wait(); err != nil {
		t.Error(err)
	}
	levels := map[string]int{}
	for line := range strings.Lines(m.log.String()) {
		var r struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Time == "" || r.Msg == "" {
			t.Errorf("%v: %s", err, line)
		}
		if levels[r.Level]++; strings.Contains(line, "nobody may log") {
			t.Errorf("content is logged: %s", line)
		}
	}
	if levels["INFO"] != 1 || levels["WARN"] != 1 || levels["DEBUG"] < 10 || levels["ERROR"] != 0 {
		t.Errorf("%v:\n%s", levels, m.log)
	}
	m.start()
}

// In the background there is a file: each line begins with the time.
func TestLogsOfBackground(t *testing.T) {
	needFUSE(t)
	point, store := t.TempDir(), filepath.Join(t.TempDir(), "store")
	run(t, "mount", point, "--store", store, "--background")
	run(t, "umount", point)
	data, err := os.ReadFile(filepath.Join(store, ".ctxfs/daemon.log"))
	if err != nil || !regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ctxfs: serving store=\S+ mountpoint=\S+ version=\S+\n\z`).Match(data) {
		t.Errorf("%v: %s", err, data)
	}
}
