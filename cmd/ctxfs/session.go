package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"ctxfs/internal/mounts"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func newSession() *cobra.Command {
	cmd := &cobra.Command{
		Use: "session", Short: "list, archive, export, restore and delete sessions",
		Example: "  ctxfs session list\n  ctxfs session delete /ctx/home/1000/agent/coder/session/fix-42 --yes",
		Args:    knownCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSessionList(), newSessionExport(), newSessionArchive(), newSessionRestore(), newSessionDelete(), newRelocate())
	return cmd
}

// sessionRow is a session in a list.
type sessionRow struct {
	Container string `json:"container"` // home/<uid>/agent/<agent>
	Name      string `json:"session"`
	Bytes     int64  `json:"bytes"` // of its logs
	Updated   string `json:"updated_at"`
	State     string `json:"state"`
}

func newSessionList() *cobra.Command {
	var s storeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "list the sessions of a store, newest first by agent", Example: "  ctxfs session list --json | jq -r .[].session", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := s.open()
			if err != nil {
				return err
			}
			defer store.Close()
			rows := []sessionRow{}
			err = store.EachContainer(func(c *session.Container) error {
				more, err := listContainer(c)
				rows = append(rows, more...)
				return err
			})
			if asJSON {
				return errors.Join(printJSON(cmd.OutOrStdout(), rows), err)
			}
			tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(tw, "UPDATED\tSTATE\tBYTES\tSESSION")
			for _, r := range rows {
				fmt.Fprintf(tw, "%.19s\t%s\t%d\t%s\n", printable(r.Updated), printable(r.State), r.Bytes, printable(r.Container+"/session/"+r.Name))
			}
			return errors.Join(tw.Flush(), err)
		},
	}
	s.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listContainer lists the sessions that can be read; the error tells of the others.
func listContainer(c *session.Container) ([]sessionRow, error) {
	names, err := c.List()
	var rows []sessionRow
	for _, name := range names {
		x, xerr := c.Session(name)
		if xerr != nil {
			err = errors.Join(err, xerr)
			continue
		}
		r, xerr := listSession(c, x)
		if xerr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", x.Rel(), xerr))
			continue
		}
		rows = append(rows, r)
	}
	return rows, err
}

func listSession(c *session.Container, x *session.Session) (sessionRow, error) {
	r := sessionRow{Container: c.Rel, Name: x.Name()}
	for _, log := range []string{session.Messages, session.Events} {
		n, _, err := x.LogStat(log)
		if err != nil {
			return r, err
		}
		r.Bytes += n
	}
	state, err := x.ReadControl("state")
	if err != nil {
		return r, err
	}
	at, err := x.View("updated_at")
	r.State, r.Updated = strings.TrimSpace(string(state)), strings.TrimSpace(string(at))
	return r, err
}

func newSessionArchive() *cobra.Command {
	cmd := &cobra.Command{
		Use: "archive SESSION...", Short: "move the logs of sessions at rest into compressed storage",
		Long: `Move the logs of sessions that nobody has open into their owner's cold store, where they take about a tenth. The mount
shows the same bytes, and takes appends, as before. A log's plain file goes only when what was stored has been read back
and compared. To have it done by age, say archive_after=90d in context/gc.policy.`,
		Example: "  ctxfs session archive /ctx/home/1000/agent/coder/session/fix-42", Args: someArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			bar := newProgress(cmd.ErrOrStderr(), "archive", int64(len(args)), false)
			defer bar.end()
			var errs []error
			for i, p := range args {
				bar.set(int64(i))
				dir, err := findSession(p)
				if err == nil {
					err = orderSession(dir, "archive", func(x *session.Session) error { _, err := x.Archive(); return err })
				}
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
	}
	namesSessions(cmd)
	return cmd
}

func newSessionRestore() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use: "restore [--from FILE] SESSION", Short: "give an archived session its plain logs back, or make one of an exported one",
		Long: `Give an archived session its plain logs back. With --from, make a session of a file that ctxfs session export wrote:
history byte for byte, and what stood under context/. That is a new session, with an identity of its own, idle, at the
root's top.`,
		Example: "  ctxfs session restore /ctx/home/1000/agent/coder/session/fix-42\n  ctxfs session restore --from fix-42.tar /ctx/home/1000/agent/coder/session/fix-42-again", Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if from != "" {
				return restoreFrom(cmd.ErrOrStderr(), from, args[0])
			}
			dir, err := findSession(args[0])
			if err != nil {
				return err
			}
			return orderSession(dir, "restore", func(x *session.Session) error { return x.Unarchive() })
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "file that ctxfs session export wrote")
	return cmd
}

func newSessionDelete() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete SESSION", Short: "delete a session for good, its history too",
		Example: "  ctxfs session delete /ctx/home/1000/agent/coder/session/fix-42 --yes", Args: exactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !yes {
				return usageError{"this deletes the session's history for good; say --yes if you mean it (ctxfs session export keeps a copy)"}
			}
			return orderSession(args[0], "delete", func(x *session.Session) error { return x.Container().Delete(x.Name()) })
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "yes, delete it")
	return takesSession(cmd, findSession)
}

// orderSession has something done to a session by whoever holds its store: the daemon of the mount, or, where nothing
// holds it, this process.
func orderSession(p, order string, here func(*session.Session) error) error {
	abs := mounts.Real(p)
	at, ok := placeOf(abs)
	if !ok || at.folder == temporary {
		return notASession(p, abs)
	}
	if at.mounted() {
		return mountOrder(abs, order)
	}
	store, err := session.Open(at.root, session.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	x, err := lookSession(store, at.container(), at.session)
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	return here(x)
}

// mountOrder asks the daemon, by an extended attribute that it carries out.
func mountOrder(dir, order string) error {
	err := unix.Setxattr(dir, "user.ctxfs.do", []byte(order), 0)
	switch {
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%s: the session is open; close what reads or writes it, then try again: %w", filepath.Base(dir), err)
	case err != nil:
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
