package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"ctxfs/internal/top"

	"github.com/spf13/cobra"
)

// topFlags are the flags of top.
type topFlags struct {
	mount, order, filter string
	colour               colourFlag
	interval             time.Duration
	last                 int
	once, asJSON         bool
}

func newTop() *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use: "top", Short: "show what the sessions of a mount do, again and again",
		Long: `Show your sessions in a mount, and those of shares; for root, everybody's: the tokens of the newest pack against its budget, whether
the next read of it finds it ready, how fast records are appended, and how long ago the session changed. Nothing is built
for it, and no session is woken. Where standard output is no terminal, or with --once, one table is printed, of what
happened in one --interval; with --json, a JSON object a line.

Keys: q leaves; up, down, PgUp, PgDn, Home and End move; s changes the order (activity, tokens, size, name); / filters: Enter keeps
the filter, Esc drops it. docs/look.md tells what the columns say.`,
		Example: "  ctxfs top\n  ctxfs top --sort tokens --filter coder/\n  ctxfs top --once\n  ctxfs top --json --interval 0 | jq 'select(.pack == \"stale\").session'",
		Args:    exactArgs(0),
		PreRunE: func(cmd *cobra.Command, _ []string) error { return f.check(cmd.OutOrStdout()) },
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fl := cmd.Flags()
	addMountFlag(cmd, &f.mount)
	fl.DurationVar(&f.interval, "interval", 2*time.Second, "time between two looks; with --once or --json, 0: look once, rates are 0")
	fl.BoolVar(&f.once, "once", false, "print one table, and end")
	fl.BoolVar(&f.asJSON, "json", false, "print a JSON object a session, a line each, and end")
	fl.StringVar(&f.order, "sort", string(top.Orders()[0]), "order: activity, tokens, size or name")
	fl.StringVar(&f.filter, "filter", "", "only sessions whose path, state, cwd, title or pack has this text")
	fl.IntVarP(&f.last, "last", "n", 100, "only the N sessions of each agent that changed last; 0: all")
	f.colour.add(cmd)
	return cmd
}

// shortest is the shortest time between two looks.
const shortest = 100 * time.Millisecond

func (f *topFlags) run(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	ink, err := f.colour.paint(out)
	if err != nil {
		return err
	}
	point, err := pickMount(f.mount)
	if err != nil {
		return err
	}
	l := top.New(point, os.Getuid(), f.last)
	if !f.once {
		return watchSessions(cmd.Context(), l, point, f, ink)
	}
	rows, err := f.look(l)
	if err != nil {
		return err
	}
	if f.asJSON {
		return printRows(out, rows)
	}
	return topTable(out, rows, ink)
}

// check looks at what the flags say, for that output.
func (f *topFlags) check(out io.Writer) error {
	if !isTerminal(out) || !isTerminal(os.Stdin) || os.Getenv("TERM") == "dumb" {
		f.once = true
	}
	f.once = f.once || f.asJSON
	if _, err := f.colour.paint(out); err != nil {
		return err
	}
	if err := isOneOf("--sort", f.order, orders()); err != nil {
		return err
	}
	if f.interval < shortest && (!f.once || f.interval != 0) || f.interval > time.Hour {
		return usageError{fmt.Sprintf("--interval is a time from %v to 1h, as 2s; with --once or --json, 0 too", shortest)}
	}
	return isWithin("--last", f.last, 0, math.MaxInt32)
}

// look looks twice, an interval apart, so that there are rates.
func (f *topFlags) look(l *top.Looker) ([]top.Row, error) {
	if err := l.Look(time.Now(), nil); err != nil {
		return nil, err
	}
	if f.interval > 0 {
		time.Sleep(f.interval)
		if err := l.Look(time.Now(), nil); err != nil {
			return nil, err
		}
	}
	return top.Select(l.Rows(), f.filter, top.Order(f.order)), nil
}

// printRows prints an object a line.
func printRows(w io.Writer, rows []top.Row) error {
	for i := range rows {
		if err := encodeJSON(w, &rows[i], ""); err != nil {
			return err
		}
	}
	return nil
}

func topTable(w io.Writer, rows []top.Row, ink pen) error {
	cols, now := top.Columns(0), time.Now()
	var t table
	var heads []string
	for _, c := range cols {
		heads = append(heads, c.Head)
	}
	t.heads(heads...)
	for i := range rows {
		var cells []styled
		for _, c := range cols {
			cells = append(cells, styled{styleOf(c.Head, &rows[i]), c.Text(&rows[i], now)})
		}
		t.add(cells...)
	}
	return t.write(w, ink)
}

// styleOf is the style of a cell of a session's row.
func styleOf(head string, r *top.Row) string {
	const green, yellow, red, cyan = "32", "33", "31", "36"
	switch {
	case head == "WINDOW" && r.Share() > 0.95:
		return red
	case head == "WINDOW" && r.Share() > 0.75:
		return yellow
	case head == "WINDOW":
		return green
	case head == "PACK":
		return map[string]string{"ready": green, "stale": yellow, "busy": cyan}[string(r.Pack)]
	case head == "ABOUT", head == "STATE" && r.State == "idle":
		return faint
	case strings.HasSuffix(head, "/S") && r.BytesPerSecond > 0:
		return bold
	}
	return plain
}
