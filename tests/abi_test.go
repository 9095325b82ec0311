package tests

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// abiPage is the page whose tables this file writes and checks.
const abiPage = "../docs/abi.md"

// foundByName are paths of a session that no listing has, as examples of their kind.
func foundByName() [][2]string {
	return [][2]string{
		{"context/pack@8000.md", "context/pack@N.md"}, {"context/pack.tool.json", "context/pack.TARGET.json"},
		{"context/pack?why.md", "context/pack?QUESTION.md"}, {"context/pack#1.md", "context/pack#RECORD.md"},
		{"context/recall/why", "context/recall/QUESTION"}, {"context/recall/@500?why", "context/recall/@N?QUESTION"},
		{"context/swap/open/messages:1", "context/swap/open/messages:RANGE"}, {"context/swap/open/messages:1.1", "context/swap/open/messages:RECORD.BLOCK"},
	}
}

// abiRow is what the program does at a path.
type abiRow struct{ name, mode, appending, replacing, removing string }

// docs/abi.md has every path of a mount, with what the program gives there, and the keys of what is read and written.
func TestABI(t *testing.T) {
	if os.Getuid() != 0 {
		skip(t, "the page is written as root")
	}
	notUnderRace(t)
	m := newMount(t)
	dir := m.session("s")
	add(t, dir+"/messages.jsonl", message("user", "hello"))
	run(t, "share", "create", "team", "--group", "root", "--mount", m.point)
	page := read(t, abiPage)
	page = abiTable(t, page, "mount", m.abiOf(t, m.point, m.abiName))
	rows := m.abiOf(t, dir, func(p string) string { return strings.TrimPrefix(p, dir+"/") })
	for _, x := range foundByName() {
		rows = append(rows, abiProbe(t, filepath.Join(dir, x[0]), x[1]))
	}
	page = abiTable(t, page, "session", rows)
	switch {
	case *updateDoc:
		must(t, os.WriteFile(abiPage, []byte(page), 0o600))
	case page != read(t, abiPage):
		t.Errorf("the tables of %s are not what was found; write them with: go test ./tests -run TestABI -update\n%s", abiPage, page)
	}
	abiKeys(t, m, dir, page)
}

// abiName gives a path of the mount as the page names it; "" for what is told elsewhere on the page.
func (m *mount) abiName(p string) string {
	name := strings.TrimPrefix(p, m.point)
	for _, r := range [][2]string{{fmt.Sprintf("/home/%d", os.Getuid()), "/home/UID"}, {"/agent/coder", "/agent/AGENT"}, {"/shared/team", "/shared/NAME"}, {"/session/s", "/session/SESSION"}} {
		name = strings.Replace(name, r[0], r[1], 1)
	}
	if dir, _, ok := strings.Cut(name, "/by-cwd/"); ok {
		name = dir + "/by-cwd/KEY"
	}
	if strings.Contains(name, "/SESSION/") {
		return ""
	}
	return name
}

// abiOf walks a folder, and then tries each path.
func (m *mount) abiOf(t *testing.T, top string, name func(string) string) (rows []abiRow) {
	t.Helper()
	var paths []string
	must(t, filepath.WalkDir(top, func(p string, _ fs.DirEntry, err error) error {
		if err == nil && p != top && name(p) != "" {
			paths = append(paths, p)
		}
		return err
	}))
	for _, p := range paths {
		rows = append(rows, abiProbe(t, p, name(p)))
	}
	return rows
}

// abiProbe opens a path in two ways, and removes it, where that can be undone: what ctxfs shows comes back.
func abiProbe(t *testing.T, p, name string) abiRow {
	t.Helper()
	st, err := os.Lstat(p)
	must(t, err)
	if st.IsDir() {
		name += "/"
	}
	mode := st.Sys().(*syscall.Stat_t).Mode & 0o7777
	row := abiRow{name: name, mode: fmt.Sprintf("%04o", mode), appending: "–", replacing: "–", removing: "–"}
	if st.Mode().IsRegular() {
		row.appending, row.replacing = errnoName(tryAdd(p, "")), errnoName(write(p, ""))
		row.removing = errnoName(syscall.Unlink(p))
	}
	return row
}

func errnoName(err error) string {
	var no syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &no):
		return unix.ErrnoName(no)
	}
	return err.Error()
}

// abiTable writes rows into their place in the page. What is said of a path there is kept, and must be there.
func abiTable(t *testing.T, page, name string, rows []abiRow) string {
	t.Helper()
	begin, end := "<!-- "+name+": go test ./tests -run TestABI -update -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(page, begin)
	table, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table %s", abiPage, name)
	}
	said := map[string]string{}
	for line := range strings.Lines(table) {
		if cells := strings.SplitN(strings.TrimSpace(line), " | ", 6); len(cells) == 6 && strings.HasPrefix(line, "| `") {
			said[strings.Trim(cells[0], "|` /")] = strings.TrimSuffix(cells[5], " |")
		}
	}
	var b strings.Builder
	b.WriteString("\n| path | mode | `>>` | `>` | `rm` | what it is |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, r := range rows {
		what := said[strings.Trim(r.name, "/")]
		if what == "" {
			t.Errorf("%s does not say what %s is", abiPage, r.name)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", r.name, r.mode, r.appending, r.replacing, r.removing, cmp.Or(what, "?"))
	}
	return before + begin + b.String() + "\n" + end + after
}

// abiKeys holds the page's lists of keys, values and attributes to the program.
func abiKeys(t *testing.T, m *mount, dir, page string) {
	t.Helper()
	var status, meta []string
	for line := range strings.Lines(read(t, m.point+"/status")) {
		key, _, _ := strings.Cut(line, ":")
		status = append(status, key)
	}
	var object map[string]any
	must(t, json.Unmarshal([]byte(read(t, dir+"/meta.json")), &object))
	for key := range object {
		meta = append(meta, key)
	}
	slices.Sort(meta)
	if got := firstCells(t, page, "## status"); !slices.Equal(got, status) {
		t.Errorf("%s has the keys %q of status, not %q", abiPage, got, status)
	}
	if got := firstCells(t, page, "## meta.json"); !slices.Equal(got, meta) {
		t.Errorf("%s has the keys %q of meta.json, not %q", abiPage, got, meta)
	}
	for _, cells := range tableOf(t, page, "## Control files") {
		file := dir + "/" + strings.Trim(cells[0], "`")
		for _, good := range examples(cells[2]) {
			if err := write(file, good+"\n"); err != nil {
				t.Errorf("%s does not take %q: %v", file, good, err)
			}
		}
		for _, bad := range examples(cells[3]) {
			text, no, _ := strings.Cut(bad, " → ")
			if got := errnoName(write(file, text+"\n")); got != no {
				t.Errorf("%s takes %q with %s, not %s", file, text, got, no)
			}
		}
	}
	for _, cells := range tableOf(t, page, "## Attributes") {
		name := strings.Trim(cells[0], "`")
		for place, want := range map[string]string{"context/pack.md": cells[1], "state": cells[2], "messages.jsonl": cells[3], "": cells[4]} {
			buf := make([]byte, 4096)
			_, err := unix.Getxattr(filepath.Join(dir, place), name, buf)
			if got := errnoName(err); got != want {
				t.Errorf("%s of %q is %s, not %s", name, place, got, want)
			}
		}
	}
}

// examples are what a cell has in backquotes; `\n` in them begins a new line.
func examples(cell string) (out []string) {
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			out = append(out, strings.ReplaceAll(part, `\n`, "\n"))
		}
	}
	return out
}

// tableOf gives the rows of the first table below a heading.
func tableOf(t *testing.T, page, heading string) (rows [][]string) {
	t.Helper()
	_, text, _ := strings.Cut(page, "\n"+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `") {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	if len(rows) == 0 {
		t.Errorf("%s has no table below %s", abiPage, heading)
	}
	return rows
}

func firstCells(t *testing.T, page, heading string) (out []string) {
	t.Helper()
	for _, cells := range tableOf(t, page, heading) {
		out = append(out, strings.Trim(cells[0], "`"))
	}
	return out
}
