package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"ctxfs/internal/frames"
	"ctxfs/internal/mounts"
	"ctxfs/internal/record"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
)

// agentFlags say which session of an agent a command is about.
type agentFlags struct {
	mount, session, share string
	model, temp           bool
}

func (a *agentFlags) add(cmd *cobra.Command) {
	a.addMount(cmd)
	a.addTemp(cmd)
	cmd.Flags().StringVar(&a.session, "session", "", "session (default: the agent's current one)")
}

func (a *agentFlags) addTemp(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.temp, "temp", false, "look among the temporary sessions")
	cmd.MarkFlagsMutuallyExclusive("temp", "share")
}

func (a *agentFlags) addMount(cmd *cobra.Command) {
	addMountFlag(cmd, &a.mount)
	cmd.Flags().StringVar(&a.share, "share", "", "look in shared/SHARE, not in your home")
	cmd.Flags().BoolVar(&a.model, "model", false, "AGENT names a model")
}

// find returns the agent that arg names, and its session: arg's own where it is AGENT/SESSION, a path or the name of a session, else
// that of --session, which may be "".
func (a *agentFlags) find(arg string) (place, error) {
	if isPath(arg) || strings.Count(arg, "/") > 1 {
		dir, err := findSession(arg)
		p, _ := placeOf(dir)
		return p, errors.Join(err, a.alone(arg))
	}
	at, err := a.owner()
	if err == nil {
		err = a.shareThere(at)
	}
	if err != nil {
		return at, err
	}
	if agent, name, both := strings.Cut(arg, "/"); both {
		if err := a.alone(arg); err != nil {
			return at, err
		}
		return at.named(agent, name)
	}
	p, err := at.agentNamed(arg)
	p.session = a.session
	if err == nil || a.session != "" {
		return p, err
	}
	if found := at.sessionsNamed(arg); len(found) > 0 {
		return findName(at, arg)
	}
	return p, err
}

// alone refuses --session beside arg, which names a session by itself.
func (a *agentFlags) alone(arg string) error {
	if a.session == "" {
		return nil
	}
	return usageError{fmt.Sprintf("%s names a session, and --session %s too: name one of them", arg, a.session)}
}

// owner returns the part of the mount that the flags look in, as a place without an agent.
func (a *agentFlags) owner() (place, error) {
	point, err := pickMount(a.mount)
	at := place{root: point, owner: ownHome(), folder: permanent}
	if a.model {
		at.kind = ofModel
	}
	if a.temp {
		at.folder = temporary
	}
	if a.share != "" {
		at.owner = path.Join("shared", a.share)
	}
	return at, err
}

// shareThere returns an error where the flags name a share that is not there.
func (a *agentFlags) shareThere(at place) error {
	if a.share == "" || session.CheckName(a.share) == nil && exists(filepath.Join(at.root, at.owner)) {
		return nil
	}
	hint := orElse(thereAre(a.share, folders(filepath.Join(at.root, "shared"))), "ctxfs share create makes one")
	return &session.Error{Kind: session.NotFound, Msg: "there is no share " + a.share, Hint: hint}
}

// agent returns the agent that arg names, for what is about all of its sessions.
func (a *agentFlags) agent(arg string) (place, error) {
	p, err := a.find(arg)
	if err == nil && p.session != "" {
		err = usageError{fmt.Sprintf("%s names a session, and this is about an agent: name %s", arg, p.agent)}
	}
	return p, err
}

// dir returns the directory of the session that arg and the flags name, in the mount: by default the agent's current one.
func (a *agentFlags) dir(arg string) (string, error) {
	p, err := a.find(arg)
	if err != nil {
		return "", err
	}
	if p.session == "" && a.temp {
		p.session = frames.DefaultSession // temporary sessions have no index
	}
	if p.session == "" {
		if p.session = value(p.sessions(), "index/current"); p.session == "" {
			return "", &session.Error{Kind: session.NotFound, Msg: fmt.Sprintf("agent %s has no session yet", p.agent), Hint: "make one: mkdir " + mounts.Quote(filepath.Join(p.sessions(), "NAME"))}
		}
	}
	if !exists(p.dir()) {
		return "", p.notFound("session", p.name(), p.session, p.list())
	}
	return p.dir(), nil
}

func newHistory() *cobra.Command {
	var a agentFlags
	var last int
	var asJSON, more bool
	cmd := &cobra.Command{
		Use: "history AGENT", Short: "show the messages of an agent's session",
		Long:    "Show the messages of an agent's session, as the log has them. Secrets are not masked: what ctxfs pack and latest print is.",
		PreRunE: func(*cobra.Command, []string) error { return isWithin("--last", last, 0, math.MaxInt32) },
		Example: "  ctxfs history coder\n  ctxfs history coder --session fix-42 -n 20\n  ctxfs history coder -n 5 --follow\n  ctxfs history coder --json | jq -r .role", Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := a.dir(args[0])
			if err != nil {
				return err
			}
			f, err := os.Open(filepath.Join(dir, "messages.jsonl"))
			if err != nil {
				return err
			}
			defer f.Close()
			h := history{w: cmd.OutOrStdout(), last: last, asJSON: asJSON}
			if err := h.show(f); err != nil || !more {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			w := follow(ctx, f)
			defer w.Close()
			h.last = 0
			return h.show(w)
		},
	}
	a.add(cmd)
	cmd.Flags().IntVarP(&last, "last", "n", 0, "only the last N records")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the records as they are, a line each")
	cmd.Flags().BoolVarP(&more, "follow", "f", false, "go on with what anybody appends, until Ctrl-C")
	return cmd
}

// history prints records, all or the last ones.
type history struct {
	w      io.Writer
	last   int // 0: all
	asJSON bool
	n      int // records read
}

// show prints the records of log up to its end.
func (h *history) show(log io.Reader) error {
	var ring [][]byte
	r := bufio.NewReaderSize(log, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		h.n++
		if h.last <= 0 {
			if err := h.one(line, h.n); err != nil {
				return err
			}
			continue
		}
		if ring = append(ring, line); len(ring) > h.last {
			ring = ring[1:]
		}
	}
	for i, line := range ring {
		if err := h.one(line, h.n-len(ring)+1+i); err != nil {
			return err
		}
	}
	return nil
}

// one prints a record in one write: who follows sees it at once.
func (h *history) one(line []byte, n int) error {
	if h.asJSON {
		return show(h.w, line)
	}
	var out bytes.Buffer
	if err := showRecord(&out, line, n); err != nil {
		return err
	}
	_, err := h.w.Write(out.Bytes())
	return err
}

// showRecord prints one record for people: a head line with number, time and speaker, then its blocks.
func showRecord(w io.Writer, line []byte, n int) error {
	r, err := record.Parse(line, n, 0)
	if err != nil {
		_, err = fmt.Fprintf(w, "── %d  unreadable: %v\n", n, err)
		return err
	}
	head := fmt.Sprintf("── %d  %s", n, orElse(r.Role, "record"))
	if !r.Time.IsZero() {
		head += "  " + r.Time.Format("2006-01-02 15:04:05")
	}
	fmt.Fprintln(w, head)
	for i := range r.Blocks {
		fmt.Fprintln(w, printable(blockText(&r.Blocks[i])))
	}
	if len(r.Blocks) == 0 {
		fmt.Fprintln(w, printable(strings.TrimSpace(string(line))))
	}
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func blockText(b *record.Block) string {
	switch b.Kind {
	case record.Thinking:
		return "(thinking) " + b.Text
	case record.ToolUse:
		return "→ " + b.Name + " " + b.Input
	case record.ToolResult:
		return "← " + b.Text
	case record.Image:
		return b.Placeholder()
	}
	return b.Text
}

func newLatest() *cobra.Command {
	var a agentFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "latest AGENT", Short: "show an agent's latest words",
		Example: "  ctxfs latest coder", Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := a.dir(args[0])
			if err != nil {
				return err
			}
			data, err := os.ReadFile(filepath.Join(dir, "latest.md"))
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]string{"agent": args[0], "session": filepath.Base(dir), "text": string(data)})
			}
			fmt.Fprint(cmd.OutOrStdout(), printable(string(data)))
			return nil
		},
	}
	a.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
