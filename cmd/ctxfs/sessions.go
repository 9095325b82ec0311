package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// agentSession is a session of an agent, as its index and files in the mount say.
type agentSession struct {
	Name    string `json:"session"`
	State   string `json:"state"`
	CWD     string `json:"cwd"`
	HostCWD string `json:"host_cwd,omitempty"` // as meta.json has it
	Title   string `json:"title,omitempty"`
	Updated string `json:"updated_at"`
	Current bool   `json:"current"`
}

func newSessions() *cobra.Command {
	var a agentFlags
	var asJSON bool
	var newest int
	var cwd string
	cmd := &cobra.Command{
		Use: "sessions AGENT", Short: "list an agent's sessions, newest first", SuggestFor: []string{"agent", "agents"},
		Example: "  ctxfs sessions coder -n 10\n  ctxfs sessions claude-code --cwd $PWD", Args: exactArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return isWithin("--last", newest, 0, math.MaxInt32) },
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.agent(args[0])
			if err != nil {
				return err
			}
			read := readSessions
			if a.temp {
				read = readTemps
			}
			list, err := read(p.sessions(), newest)
			if err != nil {
				return fmt.Errorf("agent %s: %w", args[0], err)
			}
			if cwd != "" {
				list = worksAt(list, cwd)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), list)
			}
			tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(tw, "UPDATED\tSTATE\tCWD\tSESSION")
			for _, s := range list {
				mark := ""
				if s.Current {
					mark = " (current)"
				}
				fmt.Fprintf(tw, "%.19s\t%s\t%s\t%s%s\n", printable(s.Updated), printable(s.State), printable(s.where()), printable(s.Name), mark)
			}
			return tw.Flush()
		},
	}
	a.addMount(cmd)
	a.addTemp(cmd)
	cmd.Flags().IntVarP(&newest, "last", "n", 0, "only the N that were updated last; 0: all")
	cmd.Flags().StringVar(&cwd, "cwd", "", "only those whose cwd, or host_cwd in meta.json, is this directory")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// readTemps reads the newest temporary sessions in dir, which is there while there is one.
func readTemps(dir string, newest int) ([]agentSession, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	list := []agentSession{}
	for _, e := range entries {
		list = append(list, readSession(dir, e.Name()))
	}
	slices.SortStableFunc(list, func(a, b agentSession) int { return strings.Compare(b.Updated, a.Updated) })
	if newest > 0 {
		list = list[:min(newest, len(list))]
	}
	return list, nil
}

func readSession(dir, name string) agentSession {
	at := filepath.Join(dir, name)
	s := agentSession{Name: name, State: value(at, "state"), CWD: value(at, "cwd"), Updated: value(at, "updated_at")}
	var meta struct {
		HostCWD string `json:"host_cwd"`
		Title   string `json:"title"`
	}
	if data, err := os.ReadFile(filepath.Join(at, "meta.json")); err == nil && json.Unmarshal(data, &meta) == nil {
		s.HostCWD, s.Title = meta.HostCWD, meta.Title
	}
	return s
}

// where is the directory to show for a session: the host's, if the session has not entered one of its own.
func (s *agentSession) where() string {
	if s.CWD == "/" && s.HostCWD != "" {
		return s.HostCWD
	}
	return s.CWD
}

// worksAt returns those of the sessions whose cwd or host_cwd is dir.
func worksAt(list []agentSession, dir string) []agentSession {
	dir = path.Clean(dir)
	return slices.DeleteFunc(list, func(s agentSession) bool { return s.CWD != dir && s.HostCWD != dir })
}

// sessionNames reads the index of the sessions in dir, newest first.
func sessionNames(dir string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "index", "list"))
	return strings.Fields(string(data)), err
}

// readSessions reads the newest sessions in dir, 0: all, in the order of its index.
func readSessions(dir string, newest int) ([]agentSession, error) {
	names, err := sessionNames(dir)
	if err != nil {
		return nil, err
	}
	if newest > 0 {
		names = names[:min(newest, len(names))]
	}
	current := value(dir, "index/current")
	list := []agentSession{}
	for _, name := range names {
		s := readSession(dir, name)
		s.Current = s.Name == current
		list = append(list, s)
	}
	return list, nil
}

// value reads a file of one line; one that is gone by now is "".
func value(dir, name string) string {
	data, _ := os.ReadFile(filepath.Join(dir, name))
	return strings.TrimSuffix(string(data), "\n")
}

func newRelocate() *cobra.Command {
	var a agentFlags
	cmd := &cobra.Command{
		Use: "relocate AGENT OLD NEW", Short: "tell an agent's sessions that a folder in its root has moved",
		Long: `Change the cwd of every session of AGENT that stands in OLD, or below it, to the same place in NEW: resuming by cwd finds
them there. OLD and NEW are paths in the agent's root; NEW must be there. A session whose new cwd is not there keeps the
old one, and is told of. Nobody worked in these sessions: each keeps its updated_at, and its place in the index.`,
		Example: "  ctxfs session relocate coder /work/brewlog /work/archive/brewlog", Args: exactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.agent(args[0])
			if err != nil {
				return err
			}
			names, err := sessionNames(p.sessions())
			if err != nil {
				return fmt.Errorf("agent %s: %w", args[0], err)
			}
			moved, err := relocate(p.sessions(), names, path.Clean("/"+args[1]), path.Clean("/"+args[2]))
			fmt.Fprintf(cmd.OutOrStdout(), "%s relocated\n", count(moved, "session"))
			return err
		},
	}
	a.addMount(cmd)
	return cmd
}

func relocate(dir string, names []string, from, to string) (moved int, err error) {
	for _, name := range names {
		at := filepath.Join(dir, name)
		cwd := value(at, "cwd")
		rest, below := strings.CutPrefix(cwd, strings.TrimSuffix(from, "/")+"/")
		if cwd != from && !below {
			continue
		}
		if cwd == from {
			rest = ""
		}
		if werr := mountOrder(at, "relocate "+path.Join(to, rest)); werr != nil {
			err = errors.Join(err, fmt.Errorf("%s stays at %s: %w", name, printable(cwd), errors.Unwrap(werr)))
			continue
		}
		moved++
	}
	return moved, err
}
