package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What of a page is run, and what is a fault of the page's.
func TestDocsPage(t *testing.T) {
	p := parsePage("docs/x.md", strings.Join([]string{
		"<!-- as: root -->", "Text.", "",
		"    $ one", "    printed", "", "    more", "    $ two \\", "    > three", "",
		"<!-- varies: by the hour -->", "", "    $ date", "    Monday", "",
		"<!-- not run: needs systemd -->", "```console", "$ systemctl reboot", "```", "",
		"```sh", "four", "five", "```", "",
		"<!-- first: hidden -->", "",
		"<!-- file: f.py -->", "```python", "import os", "```", "",
		"    {\"role\":\"user\"}", "",
		"    make it so", "",
		"<!-- run by: TestNobodyWroteThis, TestDocsPage -->", "", "    $ six", "",
	}, "\n"))
	var did []string
	for _, s := range p.steps {
		did = append(did, s.command+"|"+s.want)
	}
	want := []string{"cat >f.py <<'@@end@@'\nimport os\n@@end@@|", "one|printed\nmore\n", "two \\\nthree|", "date|", "four\nfive|", "hidden|"}
	if !slices.Equal(did, want) {
		t.Errorf("%q\nwant %q", did, want)
	}
	if !p.root || len(p.notRun) != 2 || !strings.Contains(p.notRun[0], "docs/x.md:17: not run: needs systemd") {
		t.Errorf("root %v, not run %q", p.root, p.notRun)
	}
	if len(p.faults) != 2 || !strings.HasPrefix(p.faults[0], "docs/x.md:33: commands without") || !strings.Contains(p.faults[1], "there is no TestNobodyWroteThis") {
		t.Errorf("faults %q", p.faults)
	}
}

// What a page shows is what is printed, but for white space and where it has ….
func TestDocsShows(t *testing.T) {
	for _, c := range []struct {
		page, printed string
		is            bool
	}{
		{"a  b\nc", "a\nb c\n", true},
		{"a … d", "a b c d", true},
		{"run-… is", "run-1f is", true},
		{"a\n…\nd", "a d", true},
		{"a", "a b", false},
		{"a.c", "abc", false},
		{"… b", "a c", false},
	} {
		if got := shows(c.page).MatchString(words(c.printed)); got != c.is {
			t.Errorf("%q shows %q: %v", c.page, c.printed, got)
		}
	}
}

// Pages that a page names are there.
func TestDocsLinks(t *testing.T) {
	names := regexp.MustCompile(`\bdocs/[a-z-]+\.md\b|\]\((?:\.\./)?[a-zA-Z./_-]+\)`)
	n := 0
	for _, p := range append(pages(t), parsePage("ARCHITECTURE.md", "")) {
		for _, name := range names.FindAllString(read(t, "../"+p.name), -1) {
			n++
			place := filepath.Join("..", name)
			if link, ok := strings.CutPrefix(name, "]("); ok {
				place = filepath.Join("..", filepath.Dir(p.name), strings.TrimSuffix(link, ")"))
			}
			if _, err := os.Stat(place); err != nil {
				t.Errorf("%s names %s: %v", p.name, name, err)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d links", n)
	}
}
