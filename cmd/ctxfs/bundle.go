package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"ctxfs/internal/context/bundle"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
)

func newBundle() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bundle", Short: "carry a session's working context to another runtime, and back",
		Long: `A working-context bundle is a folder with manifest.json, snapshot.json, lifecycle.jsonl and snapshot.md: what an agent holds in
force, and how that came about. Each session has its own at context/bundle; cp -r exports it.`,
		Example: "  cp -r context/bundle ./wc\n  ctxfs bundle validate ./wc\n  ctxfs bundle import ./wc --session /ctx/home/1000/agent/coder/session/next",
		Args:    knownCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBundleImport(), newBundleValidate(), newBundleDiff())
	return cmd
}

// errProblems: a bundle is not of its format; what is wrong was printed.
var errProblems = errors.New("it is not a valid bundle")

func newBundleValidate() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "validate DIR", Short: "tell what is wrong with a bundle",
		Example: "  ctxfs bundle validate ./wc", Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, _, found, err := readBundle(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				if found == nil {
					found = []bundle.Problem{}
				}
				if err := printJSON(cmd.OutOrStdout(), found); err != nil {
					return err
				}
			} else {
				printProblems(cmd.OutOrStdout(), found)
			}
			if len(found) > 0 {
				return fmt.Errorf("%s: %w: %s", args[0], errProblems, count(len(found), "problem"))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printProblems(w io.Writer, found []bundle.Problem) {
	for _, p := range found {
		fmt.Fprintln(w, printable(p.String()))
	}
}

func newBundleImport() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "import DIR", Short: "take a bundle's entries into a session's packs",
		Long: `Check the bundle, and merge it into the session's context/imported.json, in one step: its entries that are in force show in the
next pack, with their status; those that are superseded or deprecated do not. The same bundle again changes nothing.
rm context/imported.json takes all of it back.`,
		Example: "  ctxfs bundle import ./wc --session /ctx/home/1000/agent/coder/session/next", Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, files, found, err := readBundle(args[0])
			if err != nil {
				return err
			}
			if len(found) > 0 {
				printProblems(cmd.ErrOrStderr(), found)
				return fmt.Errorf("%s: %w: nothing was imported", args[0], errProblems)
			}
			dir, err := findMounted(dir)
			if err != nil {
				return fmt.Errorf("--session: %w", err)
			}
			return importBundle(cmd.OutOrStdout(), b, files, dir)
		},
	}
	cmd.Flags().StringVar(&dir, "session", ".", "the session: AGENT/SESSION, or its path")
	return cmd
}

func importBundle(w io.Writer, b *bundle.Bundle, files map[string][]byte, dir string) error {
	text := map[string]string{}
	for name, data := range files {
		text[name] = string(data)
	}
	doc, err := json.Marshal(text)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, session.Imported)
	before, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, append(doc, '\n'), 0o600); err != nil {
		return fmt.Errorf("%w: nothing was imported", err)
	}
	after, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	in, statuses := 0, b.Statuses()
	for _, e := range b.Snapshot.Entries {
		if bundle.InForce(statuses[e.ID]) {
			in++
		}
	}
	what := "imported"
	if string(before) == string(after) {
		what = "was imported already:"
	}
	fmt.Fprintf(w, "%s %d entries, of which %d are in force; see context/imported/\n", what, len(b.Snapshot.Entries), in)
	return nil
}

func newBundleDiff() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "diff DIR DIR", Short: "tell what differs between two bundles",
		Long:    "Tell what differs between two bundles: entries that came, went or changed, and their lifecycle. Exit code 1 when anything does.",
		Example: "  ctxfs bundle diff ./wc context/bundle", Args: exactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var two [2]*bundle.Bundle
			for i, dir := range args {
				b, _, found, err := readBundle(dir)
				if err != nil {
					return err
				}
				if len(found) > 0 {
					printProblems(cmd.ErrOrStderr(), found)
					return fmt.Errorf("%s: %w", dir, errProblems)
				}
				two[i] = b
			}
			rows := bundle.Diff(two[0], two[1])
			if err := printDiff(cmd.OutOrStdout(), rows, asJSON); err != nil {
				return err
			}
			if len(rows) > 0 {
				return errDiffer
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

var errDiffer = errors.New("the bundles differ")

func printDiff(w io.Writer, rows []bundle.Difference, asJSON bool) error {
	if asJSON {
		if rows == nil {
			rows = []bundle.Difference{}
		}
		return printJSON(w, rows)
	}
	if len(rows) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "PART\tCHANGE\tID\tFIELD\tA\tB")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Part, r.Change, printable(r.ID), printable(r.Field), printable(cell(r.A)), printable(cell(r.B)))
	}
	return t.Flush()
}

// cell shortens a value for a table.
func cell(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}

// readBundle reads a bundle's files, and tells what is wrong with them.
func readBundle(dir string) (*bundle.Bundle, map[string][]byte, []bundle.Problem, error) {
	if _, err := os.ReadDir(dir); err != nil {
		return nil, nil, nil, err
	}
	files := map[string][]byte{}
	for _, name := range session.BundleNames() {
		f, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, nil, err
		}
		data, err := io.ReadAll(io.LimitReader(f, bundle.MaxFile+1))
		f.Close()
		if err != nil {
			return nil, nil, nil, err
		}
		files[name] = data
	}
	b, err := bundle.Parse(files)
	var found bundle.Problems
	if err != nil && !errors.As(err, &found) {
		return nil, nil, nil, err
	}
	return b, files, found, nil
}
