package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"ctxfs/internal/frames"
	"ctxfs/internal/record"

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

// sessions gives the directory of the agent's sessions in the mount.
func (a *agentFlags) sessions(agent string) (string, error) {
	point, err := pickMount(a.mount)
	if err != nil {
		return "", err
	}
	kind := filepath.Join("agent", agent)
	if a.model {
		kind = filepath.Join("model", agent+".d")
	}
	owner := filepath.Join("home", strconv.Itoa(os.Getuid()))
	if a.share != "" {
		owner = filepath.Join("shared", a.share)
	}
	folder := "session"
	if a.temp {
		folder = "temp"
	}
	return filepath.Join(point, owner, kind, folder), nil
}

// dir gives the session's directory in the mount.
func (a *agentFlags) dir(agent string) (string, error) {
	sessions, err := a.sessions(agent)
	if err != nil {
		return "", err
	}
	if a.session == "" && a.temp {
		a.session = frames.DefaultSession // they have no index
	}
	if a.session == "" {
		data, err := os.ReadFile(filepath.Join(sessions, "index", "current"))
		if err != nil {
			return "", fmt.Errorf("agent %s: %w", agent, err)
		}
		if a.session = strings.TrimSpace(string(data)); a.session == "" {
			return "", fmt.Errorf("agent %s has no session yet: %w", agent, os.ErrNotExist)
		}
	}
	return filepath.Join(sessions, a.session), nil
}

func newHistory() *cobra.Command {
	var a agentFlags
	var last int
	var asJSON, more bool
	cmd := &cobra.Command{
		Use: "history AGENT", Short: "show the messages of an agent's session",
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
