package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// event is one of `go doc test2json`, or of `go help buildjson`.
type event struct {
	Time    time.Time
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// pkg is a package whose tests run.
type pkg struct {
	running []string             // tests, the last one that began at the end
	began   map[string]time.Time // by test
	output  map[string][]string  // by test; "": the package's own
	done    int                  // top-level tests
	failed  bool                 // a test's output was printed
}

// view shows the events of one run.
type view struct {
	out      io.Writer
	status   fder // a terminal, or nil
	total    int
	begun    time.Time
	ended    int
	packages map[string]*pkg
	skipped  map[string][]string // names of tests, by reason
	shown    time.Time           // when the line on the terminal was written
}

func newView(out io.Writer) *view {
	return &view{out: out, packages: map[string]*pkg{}, skipped: map[string][]string{}, begun: time.Now()}
}

type fder interface {
	io.Writer
	Fd() uintptr
}

// slow is how long a test takes that is worth a line.
const slow = time.Second

func (v *view) take(e event) {
	p := v.packages[e.Package]
	if p == nil && e.Package != "" {
		p = &pkg{began: map[string]time.Time{}, output: map[string][]string{}}
		v.packages[e.Package] = p
	}
	switch e.Action {
	case "build-output":
		v.print(e.Output)
	case "run":
		p.running = append(p.running, e.Test)
		p.began[e.Test] = e.Time
	case "output":
		p.output[e.Test] = append(p.output[e.Test], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			v.endPackage(e, p)
		} else {
			v.endTest(e, p)
		}
	}
	v.showNow(e.Time)
}

func (v *view) endTest(e event, p *pkg) {
	p.running = slices.DeleteFunc(p.running, func(name string) bool { return name == e.Test })
	took := e.Time.Sub(p.began[e.Test])
	switch {
	case e.Action == "fail":
		p.failed = true
		v.print(fmt.Sprintf("FAIL  %s %s  %s\n%s", e.Package, e.Test, seconds(took), strings.Join(p.output[e.Test], "")))
	case e.Action == "skip":
		why := reason(p.output[e.Test])
		v.skipped[why] = append(v.skipped[why], e.Test)
	case took >= slow && strings.Count(e.Test, "/") < 2:
		v.print(fmt.Sprintf("      %s %s  %s\n", e.Package, e.Test, seconds(took)))
	}
	if !strings.Contains(e.Test, "/") {
		p.done++
	}
	delete(p.output, e.Test)
	delete(p.began, e.Test)
}

// endPackage prints the result of a package. Where it failed for no single test, its output and that of the tests that had not
// ended are printed.
func (v *view) endPackage(e event, p *pkg) {
	v.ended++
	delete(v.packages, e.Package)
	took := time.Duration(e.Elapsed * float64(time.Second))
	count := fmt.Sprintf("(%d of %d)", v.ended, v.total)
	switch {
	case e.Action == "fail":
		for _, name := range slices.Sorted(maps.Keys(p.output)) {
			if name != "" || !p.failed {
				v.print(strings.Join(p.output[name], ""))
			}
		}
		v.print(fmt.Sprintf("FAIL  %s  %s  %s\n", e.Package, seconds(took), count))
	case e.Action == "pass":
		v.print(fmt.Sprintf("ok    %s  %s  %s\n", e.Package, seconds(took), count))
	}
}

// where is what package testing writes before a message: the place in a file.
var where = regexp.MustCompile(`^\s*(\S+\.go:\d+: )?`)

// reason returns why a test was skipped: its last words.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		text := strings.TrimSpace(where.ReplaceAllString(line, ""))
		if text != "" && !strings.HasPrefix(text, "--- SKIP") && !strings.HasPrefix(text, "=== ") {
			return text
		}
	}
	return "no reason"
}

// end prints what was skipped, and how long the run took.
func (v *view) end() {
	for _, why := range slices.Sorted(maps.Keys(v.skipped)) {
		names := v.skipped[why]
		v.print(fmt.Sprintf("skipped %d: %s: %s\n", len(names), why, strings.Join(slices.Sorted(slices.Values(names)), " ")))
	}
	v.print(fmt.Sprintf("%d packages in %s\n", v.ended, time.Since(v.begun).Round(time.Second)))
}

// print prints lines in the place of the line on the terminal.
func (v *view) print(text string) {
	if v.status != nil {
		fmt.Fprint(v.status, "\r\x1b[K")
		v.shown = time.Time{}
	}
	fmt.Fprint(v.out, text)
}

// showNow writes what runs on the terminal's last line, a few times a second.
func (v *view) showNow(now time.Time) {
	if v.status == nil || now.Sub(v.shown) < 200*time.Millisecond {
		return
	}
	v.shown = now
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(v.packages)) {
		if p := v.packages[name]; len(p.running) > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%d done)", name, p.running[len(p.running)-1], p.done))
		}
	}
	line := fmt.Sprintf("%s  %d of %d  %s", now.Sub(v.begun).Round(time.Second), v.ended, v.total, strings.Join(parts, ", "))
	if width, _, err := term.GetSize(int(v.status.Fd())); err == nil && len(line) >= width {
		line = line[:max(width-1, 0)]
	}
	fmt.Fprint(v.status, "\r\x1b[K"+line)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
