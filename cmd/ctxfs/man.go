package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// page is a manual page in the language of man(7).
type page struct {
	cmd     *cobra.Command
	section int
	date    string
	out     bytes.Buffer
}

// name is that of the page: of `ctxfs session list`, ctxfs-session-list.
func (p *page) name() string { return strings.ReplaceAll(p.cmd.CommandPath(), " ", "-") }

func (p *page) roff() []byte {
	c := p.cmd
	p.line(".TH %q %q %q %q %q", strings.ToUpper(p.name()), fmt.Sprint(p.section), p.date, "ctxfs "+version, "ctxfs manual")
	p.line(".nh")
	p.heading("NAME")
	p.line("%s \\- %s", escape(p.name()), escape(c.Short))
	p.heading("SYNOPSIS")
	p.line(".B %s", escape(c.UseLine()))
	p.heading("DESCRIPTION")
	p.paragraphs(either(c.Long, strings.ToUpper(c.Short[:1])+c.Short[1:]+"."))
	p.commands()
	p.options("OPTIONS", c.NonInheritedFlags())
	p.options("OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if !c.HasParent() && p.section == 1 {
		p.around()
	}
	p.heading("EXAMPLES")
	p.verbatim(c.Example)
	p.seeAlso()
	return p.out.Bytes()
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

func (p *page) heading(text string) { p.line(".SH %s", text) }

// paragraphs writes plain text: paragraphs with blank lines between, and lines that begin with a space as they are.
func (p *page) paragraphs(text string) {
	for i, para := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(para, " ") {
			p.verbatim(para)
			continue
		}
		if i > 0 {
			p.line(".PP")
		}
		p.line("%s", escape(para))
	}
}

func (p *page) verbatim(text string) {
	p.line(".PP\n.nf\n%s\n.fi", escape(text))
}

// commands lists those below this one.
func (p *page) commands() {
	var out bytes.Buffer
	for _, sub := range p.cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			fmt.Fprintf(&out, ".TP\n.BR %s (1)\n%s\n", escape(strings.ReplaceAll(sub.CommandPath(), " ", "-")), escape(sub.Short))
		}
	}
	if out.Len() > 0 {
		p.heading("COMMANDS")
		p.out.Write(out.Bytes())
	}
}

func (p *page) options(heading string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.heading(heading)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		p.line(".TP\n.B %s", escape(strings.TrimSpace(name+" "+kind)))
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && !strings.Contains(usage, "default") {
			usage += " (default " + f.DefValue + ")"
		}
		p.line("%s", escape(usage))
	})
}

// around is what the page of ctxfs itself says beside what its commands say.
func (p *page) around() {
	p.heading("EXIT STATUS")
	for _, e := range exitMeanings() {
		p.line(".TP\n.B %d\n%s", e.code, escape(e.meaning))
	}
}

func (p *page) seeAlso() {
	var names []string
	if p.cmd.HasParent() {
		names = append(names, strings.ReplaceAll(p.cmd.Parent().CommandPath(), " ", "-")+"(1)")
	}
	switch p.name() {
	case "ctxfs":
		names = append(names, "mount.ctxfs(8)", "fuse(4)")
	case "ctxfs-mount":
		names = append(names, "mount.ctxfs(8)", "fusermount3(1)")
	case "mount.ctxfs":
		names = append(names, "ctxfs-mount(1)", "mount(8)", "fstab(5)")
	}
	p.heading("SEE ALSO")
	p.line("%s", escape(strings.Join(names, ", ")))
}

// escape makes text that roff(7) shows as it is: its own characters, those that it would make typographic ones of, and lines
// that begin as its requests do.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
