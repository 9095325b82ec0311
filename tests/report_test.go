package tests

import (
	"bytes"
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
