package main

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// newGen is for those who build packages: it writes what is made of the commands themselves.
func newGen() *cobra.Command {
	cmd := &cobra.Command{
		Use: "gen", Short: "write what an installation has beside the program", Hidden: true,
		Example: "  ctxfs gen man /usr/share/man", Args: knownCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newGenMan())
	return cmd
}

func newGenMan() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "write the manual pages into DIR/man1 and DIR/man8",
		Long:    "Write the manual pages. Their date is that of SOURCE_DATE_EPOCH, so that the same source gives the same bytes.",
		Example: "  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) ctxfs gen man /usr/share/man", Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return writeManual(args[0], cmd.Root()) },
	}
}

// writeManual writes a page for each command, and one for the helper of mount(8).
func writeManual(dir string, root *cobra.Command) error {
	date, err := sourceDate()
	if err != nil {
		return err
	}
	var write func(c *cobra.Command) error
	write = func(c *cobra.Command) error {
		if err := writePage(dir, page{cmd: c, section: 1, date: date}); err != nil {
			return err
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "help" {
				if err := write(sub); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := write(root); err != nil {
		return err
	}
	return writePage(dir, page{cmd: new(helperFlags).command("mount.ctxfs"), section: 8, date: date})
}

func writePage(dir string, p page) error {
	name := filepath.Join(dir, "man"+strconv.Itoa(p.section), p.name()+"."+strconv.Itoa(p.section))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { // #nosec G301 -- manual pages are for everybody
		return err
	}
	return os.WriteFile(name, p.roff(), 0o644) // #nosec G306 -- likewise
}

// sourceDate is the day of SOURCE_DATE_EPOCH (reproducible-builds.org), "" without one.
func sourceDate() (string, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return "", nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", usageError{"SOURCE_DATE_EPOCH: not a number of seconds"}
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly), nil
}
