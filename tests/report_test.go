package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	_ "image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ctxfs/tests/testhost"
)

// A report is one page that a real browser shows, by keyboard and in the dark too, and that runs nothing of what the log says.
func TestReport(t *testing.T) {
	testhost.Rare(t)
	notUnderRace(t)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		skip(t, "no chromium here: %v", err)
	}
	m := newMount(t)
	dir := m.session("story")
	add(t, dir+"/messages.jsonl", message("user", `<script>alert(1)</script><img src=x onerror=alert(2)> "'</title>`)+conversation(60))
	add(t, dir+"/messages.jsonl", message("user", "</script><svg onload=alert(3)>")+conversation(60))
	add(t, dir+"/messages.jsonl", `{"role":"assistant","content":"done","usage":{"input_tokens":3,"cache_read_input_tokens":2000,"output_tokens":90}}`+"\n")
	add(t, dir+"/events.jsonl", `{"type":"compaction","created_at":"2026-01-01T00:00:00Z","data":{"compactMetadata":{"trigger":"<b>auto","preTokens":1000}}}`+"\n")
	page := filepath.Join(t.TempDir(), "report.html")
	run(t, "report", dir, "--budget", "3000", "--steps", "20", "-o", page)
	out := os.Getenv("CTXFS_TEST_SCREENSHOTS")
	if out == "" {
		out = t.TempDir()
	}
	c := exec.Command("node", "look.mjs", chromium, page, out)
	c.Dir = npmModules(t, "testdata/report", "look.mjs")
	said, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Logf("%s", said)
	for _, name := range []string{"light.png", "dark.png"} {
		colours(t, filepath.Join(out, name))
	}
	again := page + ".again"
	run(t, "report", dir, "--budget", "3000", "--steps", "20", "-o", again)
	if read(t, page) != read(t, again) {
		t.Error("the same log gives another page")
	}
	if st, err := os.Stat(page); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", st.Mode(), err)
	}
	store := run(t, "report", strings.Replace(dir, m.point, m.store, 1), "--budget", "3000", "--steps", "20")
	if store != read(t, page) {
		t.Error("the store gives another page than the mount")
	}
}

// The page of an imported session says that its packs are not what the model saw, and has what the model's API counted.
func TestReportOfImport(t *testing.T) {
	m := newMount(t)
	for _, c := range []struct {
		file, session, usage string
	}{
		{"../samples/claude-code.jsonl", "claude-code/session/used", "records say what their call took"},
		{"../samples/codex.jsonl", "codex/session/used", "The log has no record with a usage."},
	} {
		run(t, "import", c.file, "--mount", m.point, "--session", "used")
		dir := filepath.Join(filepath.Dir(m.agent), c.session)
		page := strings.Join(strings.Fields(run(t, "report", dir, "--steps", "3")), " ")
		agent, _, _ := strings.Cut(c.session, "/")
		for _, want := range []string{"imported from a log of " + agent, "are not what its model saw", "Packs that ctxfs would have built", c.usage} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page does not say %q", c.file, want)
			}
		}
		var in, cached, wrote, out int
		for line := range strings.Lines(read(t, dir+"/messages.jsonl")) {
			var r struct {
				Usage struct {
					In    int `json:"input_tokens"`
					Read  int `json:"cache_read_input_tokens"`
					Wrote int `json:"cache_creation_input_tokens"`
					Out   int `json:"output_tokens"`
				}
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			in, cached, wrote, out = in+r.Usage.In, cached+r.Usage.Read, wrote+r.Usage.Wrote, out+r.Usage.Out
		}
		want := fmt.Sprintf("%d tokens read from the cache, %d written to it, %d sent and not cached, %d answered", cached, wrote, in, out)
		if out > 0 != strings.Contains(page, want) {
			t.Errorf("%s: the page and the log differ: %s", c.file, want)
		}
	}
	own := m.session("own")
	add(t, own+"/messages.jsonl", conversation(6))
	if page := run(t, "report", own); strings.Contains(page, "imported") || strings.Contains(page, "would have") {
		t.Error("the page says that a session was imported, which was not")
	}
}

// colours checks that a screenshot shows something: bars of several colours.
func colours(t *testing.T, file string) {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader([]byte(read(t, file))))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y += 4 {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x += 4 {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[fmt.Sprintf("%x %x %x", r>>12, g>>12, b>>12)]++
		}
	}
	many := 0
	for _, n := range seen {
		if n > 300 {
			many++
		}
	}
	if many < 4 {
		t.Errorf("%s has %d colours", file, many)
	}
}
