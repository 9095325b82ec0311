package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"ctxfs/internal/frames"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
)

func newResume() *cobra.Command {
	var a agentFlags
	var scope, cwd, after string
	var follow, asJSON bool
	cmd := &cobra.Command{
		Use: "resume AGENT", Short: "show an agent's session from a cursor on, over its socket",
		Long: `Show the records of a session of AGENT, those behind --after only: a record's number or id, or the cursor that an earlier resume
or send told of. A cursor stays good when the daemon is restarted. The session is --session, else the one that stands in
--cwd, else the agent's current one.`,
		Example: "  ctxfs resume coder\n  ctxfs resume coder --cwd /work/brewlog --follow\n  ctxfs resume coder --after 40 --json | jq -r .cursor", Args: exactArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return checkScope(scope) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if cwd != "" && a.session == "" {
				if err := a.byCWD(args[0], cwd); err != nil {
					return err
				}
			}
			s, err := a.socket(args[0])
			if err != nil {
				return err
			}
			defer s.close()
			a.current(args[0], scope)
			err = s.ask(map[string]any{"op": frames.Resume, "session": a.session, "scope": a.scope(scope), "share": a.share, "after": after, "follow": follow})
			if err != nil {
				return err
			}
			return showResume(cmd.OutOrStdout(), cmd.ErrOrStderr(), s, asJSON)
		},
	}
	a.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&scope, "scope", "", "private, shared (--share, else the only share), or temp (default private)")
	fl.StringVar(&cwd, "cwd", "", "take the session that stands in this directory of the agent's root")
	fl.StringVar(&after, "after", "", "only what comes behind this cursor, record number or record id")
	fl.BoolVarP(&follow, "follow", "f", false, "go on with what comes, until interrupted")
	fl.BoolVar(&asJSON, "json", false, "print the frames as they come")
	return cmd
}

// current chooses the agent's current session when none is named: clients read the index (Session ABI), and the daemon would
// take the session default. Temporary sessions have no index, and which share counts when none is named, the daemon knows.
func (a *agentFlags) current(agent, scope string) {
	if a.session != "" || scope == frames.Temp || scope == frames.Shared && a.share == "" {
		return
	}
	if p, err := a.agent(agent); err == nil { // else the agent has no session
		a.session = value(p.sessions(), "index/current")
	}
}

// byCWD takes the session that stands in cwd.
func (a *agentFlags) byCWD(agent, cwd string) error {
	p, err := a.agent(agent)
	if err != nil {
		return err
	}
	dir := p.sessions()
	cwd = filepath.Clean("/" + cwd)
	stands := func(name string) bool { return value(filepath.Join(dir, name), "cwd") == cwd }
	a.session = value(dir, "index/by-cwd/"+session.CWDKey(cwd))
	if a.session != "" && !stands(a.session) { // another directory has the same key
		names, err := sessionNames(dir)
		if err != nil {
			return err
		}
		a.session = ""
		if i := slices.IndexFunc(names, stands); i >= 0 {
			a.session = names[i]
		}
	}
	if a.session == "" {
		return &session.Error{Kind: session.NotFound, Msg: fmt.Sprintf("agent %s has no session in %s", agent, cwd), Hint: "if the folder has moved: ctxfs session relocate"}
	}
	return nil
}

// showResume prints records as history does, and at the end where to go on.
func showResume(w, status io.Writer, s *socket, asJSON bool) error {
	return s.answers(func(line []byte, r *frames.Reply) error {
		var err error
		switch {
		case asJSON:
			err = show(w, line)
		case r.Type == frames.Message:
			err = showMessage(w, r)
		case r.Type == frames.Done && r.Run == "" && r.Cursor != "":
			_, err = fmt.Fprintf(status, "go on with: --after %s\n", r.Cursor)
		}
		return err
	})
}

func showMessage(w io.Writer, r *frames.Reply) error {
	head := fmt.Sprintf("── %d  %s", r.N, orElse(r.Role, "record"))
	if r.CreatedAt != "" {
		head += "  " + r.CreatedAt
	}
	if _, err := fmt.Fprintln(w, printable(head)); err != nil {
		return err
	}
	for _, b := range r.Content {
		text := b.Text
		switch b.Type {
		case "thinking":
			text = "(thinking) " + text
		case "tool_use":
			text = "→ " + b.Name + " " + text + string(b.Input)
		case "tool_result":
			text = "← " + text
		}
		if _, err := fmt.Fprintln(w, printable(text)); err != nil {
			return err
		}
	}
	if r.Truncated && r.Path != "" {
		_, err := fmt.Fprintf(w, "[... cut; the whole: %s]\n", printable(r.Path))
		return err
	}
	return nil
}
