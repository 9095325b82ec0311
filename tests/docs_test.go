package tests

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ctxfs/tests/testhost"
)

func itoa(n int) string { return strconv.Itoa(n) }

func hasText(file, text string) bool {
	data, err := os.ReadFile(file)
	return err == nil && bytes.Contains(data, []byte(text))
}

// Every command of README.md and docs/*.md runs as it stands there, page by page, in a home of its own, and prints what the page
// shows. What does not run here says why.
func TestDocs(t *testing.T) {
	testhost.NeedUsers(t)
	notUnderRace(t)
	needs(t, "jq", "getfattr", "setfattr", "python3", "node", "socat")
	for _, p := range pages(t) {
		t.Run(strings.TrimSuffix(filepath.Base(p.name), ".md"), func(t *testing.T) {
			t.Parallel()
			for _, fault := range p.faults {
				t.Error(fault)
			}
			for _, block := range p.notRun {
				t.Log(block)
			}
			if len(p.steps) > 0 {
				p.run(t)
			}
		})
	}
}

// run runs a page's steps in a sandbox.
func (p *page) run(t *testing.T) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	repository, err := filepath.Abs("..")
	must(t, err)
	script := filepath.Join(base, "page")
	must(t, os.WriteFile(script, []byte(p.script()), 0o600))
	user := "dev"
	if p.root {
		user = "root"
	}
	c := exec.Command("testdata/docs/sandbox", base, program, repository, user, script)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	must(t, c.Start())
	stop := time.AfterFunc(3*time.Minute, func() { _ = c.Process.Kill() }) // and, with it, all of its namespace
	ended := c.Wait()
	stop.Stop()
	if ended != nil {
		t.Errorf("the page ended with %v: %s", ended, said.String())
	}
	out, err := os.ReadFile(filepath.Join(base, "out"))
	must(t, err)
	for i, s := range p.steps {
		p.check(t, s, i, string(out))
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// script is for bash: each step between lines that say where it begins, and how it ended.
func (p *page) script() string {
	var b strings.Builder
	for i, s := range p.steps {
		fmt.Fprintf(&b, "printf '\\n@@begin %d\\n'\neval '%s'\nprintf '\\n@@end %d %%d\\n' $?\n", i, strings.ReplaceAll(s.command, "'", `'\''`), i)
	}
	return b.String()
}

// bashSays is what a script says before a message of bash's, where a shell that one types into says less.
var bashSays = regexp.MustCompile(`(?m)^/run/page: (?:eval: )?line \d+: `)

// check holds what a step printed to what the page shows. A command that shows nothing of its own must have worked.
func (p *page) check(t *testing.T, s step, i int, out string) {
	t.Helper()
	_, rest, ok := strings.Cut(out, fmt.Sprintf("\n@@begin %d\n", i))
	got, end, done := strings.Cut(rest, fmt.Sprintf("\n@@end %d ", i))
	where := fmt.Sprintf("%s:%d: %s", p.name, s.line, s.command)
	if !ok || !done {
		t.Errorf("%s: it did not come to its end", where)
		return
	}
	status, _, _ := strings.Cut(end, "\n")
	got = bashSays.ReplaceAllString(got, "bash: ")
	switch {
	case s.shown && !shows(s.want).MatchString(words(got)):
		t.Errorf("%s\nprinted (status %s)\n%s\nthe page shows\n%s", where, status, got, s.want)
	case strings.Trim(s.want, "… \n") == "" && status != "0":
		t.Errorf("%s: status %s\n%s", where, status, got)
	}
}

// words gives text with a single space where there is any.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }

// shows is a pattern for what a page shows: … is anything, and white space is not compared.
func shows(want string) *regexp.Regexp {
	parts := strings.Split(words(want), "…")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimSpace(part))
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, ` ?.*? ?`) + `$`)
}
