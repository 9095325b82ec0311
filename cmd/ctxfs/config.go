package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newConfig() *cobra.Command {
	var example, changed, asJSON bool
	cmd := &cobra.Command{
		Use: "config [COMMAND...]", Short: "show the settings that count, and where each comes from",
		Long: `Show the value of each setting, and where it comes from: the environment, a file with the line, or the default. What the command
line of a call says counts before all of them.

Flags that are habits can be set in /etc/ctxfs/config for all users, and in ~/.config/ctxfs/config ($XDG_CONFIG_HOME) for one: the
flag --budget of ctxfs mount is the key budget in the section [mount]. The environment counts before the files (CTXFS_MOUNT_BUDGET),
the user's file before the host's. Keys that are not known are errors. CTXFS_CONFIG names another file for the host's.
What not every user can have is root's in the host's file: store, metrics of [mount] and textfile of [gc].

Exit codes: 0, or 2 when a file is wrong; stderr says in which line.`,
		Example: "  ctxfs config\n  ctxfs config mount\n  ctxfs config --changed\n  ctxfs config --example >~/.config/ctxfs/config",
		RunE: func(cmd *cobra.Command, args []string) error {
			if example {
				return writeExample(cmd.OutOrStdout(), cmd.Root())
			}
			return showSettings(cmd, strings.Join(args, " "), changed, asJSON)
		},
	}
	cmd.Flags().BoolVar(&example, "example", false, "print a file with every setting, as a comment, with its default")
	cmd.Flags().BoolVar(&changed, "changed", false, "only those that are not the default")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: a list of settings")
	return cmd
}

func showSettings(cmd *cobra.Command, only string, changed, asJSON bool) error {
	root := cmd.Root()
	if _, ok := knownSettings(root)[only]; !ok {
		return usageError{fmt.Sprintf("%q is no command that has settings (see ctxfs config --example)", only)}
	}
	files, wrong := readSettings(root)
	list, err := effectiveSettings(root, files)
	wrong = errors.Join(wrong, err)
	shown := []effective{}
	for _, e := range list {
		if (only == "" || e.Section == only) && (!changed || e.From != fromDefault) {
			shown = append(shown, e)
		}
	}
	if err := printSettings(cmd.OutOrStdout(), shown, asJSON); err != nil {
		return err
	}
	if wrong != nil {
		return usageError{wrong.Error()}
	}
	return nil
}

func printSettings(w io.Writer, list []effective, asJSON bool) error {
	if asJSON {
		return printJSON(w, list)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SECTION\tKEY\tVALUE\tFROM")
	for _, e := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", either(e.Section, "-"), e.Key, printable(either(e.Value, "-")), printable(e.origin()))
	}
	return t.Flush()
}

// effectiveSettings gives all settings, and which values are wrong, each by itself.
func effectiveSettings(root *cobra.Command, files []settingsFile) (list []effective, wrong error) {
	var errs []error
	list = []effective{lookup(files, "", storeKey, defaultStore()), lookup(files, "", pointKey, "")}
	eachSetting(root, func(c *cobra.Command, f *pflag.Flag) {
		e := lookup(files, section(c), f.Name, shownDefault(f))
		list, errs = append(list, e), append(errs, wrongValue(c, e))
	})
	return list, errors.Join(errs...)
}

// eachSetting visits the flags that are settings, a command after the other.
func eachSetting(root *cobra.Command, visit func(*cobra.Command, *pflag.Flag)) {
	known := knownSettings(root)
	eachCommand(root, func(c *cobra.Command) {
		for _, key := range known[section(c)] {
			visit(c, c.LocalFlags().Lookup(key))
		}
	})
}

// shownDefault is a flag's default; of a list, what would be written for it.
func shownDefault(f *pflag.Flag) string {
	if f.DefValue == "[]" {
		return ""
	}
	return f.DefValue
}

const exampleHead = `# Settings of ctxfs. /etc/ctxfs/config is for all users of a host, ~/.config/ctxfs/config ($XDG_CONFIG_HOME) for one, and counts
# before it. Before both count the environment (CTXFS_MOUNT_BUDGET for budget in [mount]) and the command line. A section is named
# like a command, a key like one of its flags. What is not known is an error. "ctxfs config" shows what counts. In the host's file
# store, metrics of [mount] and textfile of [gc] are for root alone: no two users can have the same.
`

// writeExample writes a file of settings that sets nothing and tells of all.
func writeExample(w io.Writer, root *cobra.Command) error {
	var b strings.Builder
	b.WriteString(exampleHead)
	b.WriteString("\n# directory of the store (" + defaultStoreText + ")\n#store =\n\n# the mount that commands work on, when --mount names none\n#mountpoint = /ctx\n")
	last := ""
	eachSetting(root, func(c *cobra.Command, f *pflag.Flag) {
		if section(c) != last {
			last = section(c)
			b.WriteString("\n[" + last + "]\n# ctxfs " + last + ": " + c.Short + "\n")
		}
		fmt.Fprintf(&b, "\n# %s\n%s\n", f.Usage, strings.TrimSpace("#"+f.Name+" = "+shownDefault(f)))
	})
	_, err := io.WriteString(w, b.String())
	return err
}
