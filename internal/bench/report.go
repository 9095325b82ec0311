package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// report is all that was measured.
type report struct {
	machine string
	rows    []result
	bounds  []bound
	growth  []*growth
}

// grow measures what is not side by side.
func (r *report) grow(b *bench) error {
	records, err := b.byRecords()
	if err != nil {
		return err
	}
	sessions, err := b.bySessions()
	if err != nil {
		return err
	}
	writers, err := b.byWriters()
	if err != nil {
		return err
	}
	rest, err := b.rest()
	if err != nil {
		return err
	}
	r.growth = []*growth{records, sessions, writers}
	r.bounds = append(growthBounds(records, sessions), rest...)
	return nil
}

// write writes the report into a folder, and prints it.
func (r *report) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := r.plot(dir); err != nil {
		return err
	}
	text := r.text()
	fmt.Print("\n", text)
	return os.WriteFile(filepath.Join(dir, "README.md"), []byte(text), 0o644)
}

func (r *report) text() string {
	var s strings.Builder
	s.WriteString("# What ctxfs costs\n\nWritten by `make bench`. What limits each figure is in [../speed.md](../speed.md).\n\n" + r.machine)
	s.WriteString("\n## Side by side\n\nTime an operation. The floor is a FUSE server that takes every write and does nothing.\n\n| |")
	for _, c := range appender {
		fmt.Fprintf(&s, " %s |", c)
	}
	s.WriteString(" ratio | goal | reached |\n|" + strings.Repeat(" --- |", len(appender)+4) + "\n")
	for _, row := range r.rows {
		s.WriteString(row.line())
	}
	s.WriteString("\n![ratios beside the goals](ratios.svg)\n\n## ctxfs alone\n\n| | measured | goal | reached |\n| --- | --- | --- | --- |\n")
	for _, b := range r.bounds {
		fmt.Fprintf(&s, "| %s | %s | %s | %s |\n", b.name, b.value, b.goal, yes(b.reached))
	}
	s.WriteString("\n## As work grows\n")
	for _, g := range r.growth {
		s.WriteString(g.text())
	}
	return s.String()
}

func (g *growth) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "\n### %s\n\n| %s |", g.title, g.label)
	for _, c := range g.columns {
		fmt.Fprintf(&s, " %s |", c.name)
	}
	s.WriteString("\n|" + strings.Repeat(" --- |", len(g.columns)+1) + "\n")
	for i, n := range g.at {
		fmt.Fprintf(&s, "| %d |", n)
		for j, c := range g.columns {
			fmt.Fprintf(&s, " %s |", c.value(g.cells[i][j]))
		}
		s.WriteString("\n")
	}
	fmt.Fprintf(&s, "\n![%s](%s)\n", strings.ToLower(g.title), g.file)
	return s.String()
}

// value writes a measured value for people.
func (c column) value(v float64) string {
	switch {
	case c.unit == "B" && v >= 1e6:
		return fmt.Sprintf("%.1f MB", v/1e6)
	case c.unit == "B":
		return fmt.Sprintf("%.0f B", v)
	case c.unit == "/s":
		return fmt.Sprintf("%.0f", v)
	}
	return short(v)
}
