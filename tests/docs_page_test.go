package tests

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is a block of code of a page: indented by four spaces, or fenced.
type block struct {
	page  string
	line  int    // where it begins, from 1
	lang  string // behind the fence; "" for an indented one
	marks []mark // comments right before it
	text  []string
}

// mark is a comment `<!-- KIND: TEXT -->` of a page. Before a block:
//
//	not run: REASON   it cannot run in CI
//	run by: TEST...   tests of their own run it, or what it is about
//	varies: REASON    it runs, but its output is not compared
//	file: NAME        it is a file, which is written before anything runs
//
// and anywhere, without being seen by readers:
//
//	as: root          the whole page is for root, not for an ordinary user
//	first: COMMAND    runs here
type mark struct{ kind, text string }

// step is what a sandbox does for a page: a command with what it must print, or a file.
type step struct {
	line    int
	command string
	want    string // with … for anything
	hidden  bool   // not on the page: it must succeed
	shown   bool   // the page shows output
}

// page is a page of the documentation.
type page struct {
	name   string // relative to the repository
	root   bool
	steps  []step
	notRun []string // blocks that are marked so, with reasons
	faults []string // what is wrong with its marks
}

var marker = regexp.MustCompile(`^<!-- (not run|run by|varies|file|as|first): (.*) -->$`)

// commands are what a block of commands begins with.
var commandLine = regexp.MustCompile(`^(sudo )?(ctxfs|make|mount|umount|systemctl|apt|apt-get|rsync|tar|cd|mkdir|echo|cat|git|python3|node|bash|curl|docker|fusermount3)( |$)|^[a-z_]+=\S`)

// pages reads README.md and all of docs.
func pages(t *testing.T) []*page {
	t.Helper()
	names, err := filepath.Glob("../docs/*.md")
	must(t, err)
	if len(names) < 10 {
		t.Fatalf("only %d pages", len(names))
	}
	var out []*page
	for _, name := range slices.Concat([]string{"../README.md"}, names) {
		out = append(out, parsePage(strings.TrimPrefix(name, "../"), read(t, name)))
	}
	return out
}

func parsePage(name, text string) *page {
	p := &page{name: name}
	var marks []mark
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		b := block{page: name, line: i + 1, marks: marks}
		switch m := marker.FindStringSubmatch(line); {
		case m != nil && m[1] == "as":
			p.root = m[2] == "root"
		case m != nil && m[1] == "first":
			p.steps = append(p.steps, step{line: i + 1, command: m[2], hidden: true})
		case m != nil:
			marks = append(marks, mark{m[1], m[2]})
		case strings.HasPrefix(line, "```"):
			b.lang = strings.TrimSpace(strings.TrimPrefix(line, "```"))
			end := i + 1 + slices.Index(append(slices.Clone(lines[i+1:]), "```"), "```")
			b.text, i = lines[i+1:min(end, len(lines))], end
			p.add(b)
			marks = nil
		case strings.HasPrefix(line, "    ") && (i == 0 || strings.TrimSpace(lines[i-1]) == "" || marks != nil):
			for ; i < len(lines) && (strings.HasPrefix(lines[i], "    ") || lines[i] == ""); i++ {
				b.text = append(b.text, strings.TrimPrefix(lines[i], "    "))
			}
			i--
			p.add(b)
			marks = nil
		case line != "" && !strings.HasPrefix(line, "<!--"):
			marks = nil
		}
	}
	return p
}

// add takes in a block: as steps, as what is not run, or as what is no matter of commands.
func (p *page) add(b block) {
	where := func(what string) string { return p.name + ":" + itoa(b.line) + ": " + what }
	compare := true
	for _, m := range b.marks {
		switch m.kind {
		case "not run", "run by":
			if m.kind == "run by" {
				p.faults = append(p.faults, missingTests(m.text, where)...)
			}
			p.notRun = append(p.notRun, where(m.kind+": "+m.text))
			return
		case "varies":
			compare = false
		case "file":
			p.steps = slices.Insert(p.steps, 0, step{line: b.line, hidden: true, command: "cat >" + m.text + " <<'@@end@@'\n" + strings.Join(b.text, "\n") + "\n@@end@@"})
			return
		}
	}
	switch {
	case b.lang == "sh":
		p.steps = append(p.steps, step{line: b.line, command: strings.Join(b.text, "\n")})
	case b.lang == "console" || b.lang == "" && slices.ContainsFunc(b.text, func(l string) bool { return strings.HasPrefix(l, "$ ") }):
		p.steps = append(p.steps, b.console(compare)...)
	case b.lang == "" && slices.ContainsFunc(b.text, commandLine.MatchString):
		p.faults = append(p.faults, where("commands without `$ `, and without a mark that says why they are not run"))
	}
}

// console takes a block apart: `$ ` before each command, `> ` before its further lines, and what it prints.
func (b block) console(compare bool) (out []step) {
	for i, line := range b.text {
		cmd, is := strings.CutPrefix(line, "$ ")
		more, goesOn := strings.CutPrefix(line, "> ")
		switch last := len(out) - 1; {
		case is:
			out = append(out, step{line: b.line + i, command: cmd})
		case last < 0:
		case goesOn && !out[last].shown:
			out[last].command += "\n" + more
		case line != "" && compare:
			out[last].shown = true
			out[last].want += line + "\n"
		}
	}
	return out
}

// missingTests tells of tests that a mark names and that are not there.
func missingTests(text string, where func(string) string) (out []string) {
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,", r) }) {
		if !strings.HasPrefix(name, "Test") {
			continue
		}
		files, _ := filepath.Glob("*_test.go")
		if more, err := filepath.Glob("../*/*/*_test.go"); err == nil {
			files = append(files, more...)
		}
		if !slices.ContainsFunc(files, func(f string) bool { return hasText(f, "func "+name+"(") }) {
			out = append(out, where("there is no "+name))
		}
	}
	return out
}
