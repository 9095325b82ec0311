package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"ctxfs/internal/cas"
	"ctxfs/internal/context/token"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
)

// compaction is the record of a compaction (Agent Context, Compaction and summaries).
type compaction struct {
	ID          string         `json:"compaction_id"`
	Scope       string         `json:"scope"`
	Sources     []string       `json:"source_item_refs"`
	Summary     string         `json:"summary_ref"`
	SummaryHash string         `json:"summary_hash"`
	Method      string         `json:"method"`
	Trigger     string         `json:"trigger"`
	Coverage    map[string]int `json:"coverage"`
	LossNotes   []string       `json:"loss_notes"`
	Replacement string         `json:"replacement_policy"`
	CreatedAt   string         `json:"created_at"`
}

func newCompact() *cobra.Command {
	var command string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "compact SESSION --command CMD", Short: "let a command write a session's summary, and record the compaction",
		Long: `Run CMD (with sh, as you) with the session's records on its standard input; what it prints becomes
context/summary.md. History stays as it is. An event in events.jsonl records what was covered, the tokens before and
after, and what the summary lost: files that the records name and the summary does not, and every line that CMD prints
to standard error after "loss: ". When CMD fails, nothing changes. CMD sees CTXFS_SESSION and CTXFS_RANGE.`,
		Example: "  ctxfs compact /ctx/home/1000/agent/coder/session/fix-42 --command 'jq -r .role | sort | uniq -c'", Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if command == "" {
				return usageError{"--command names the program that writes the summary"}
			}
			dir, err := findMounted(args[0])
			if err != nil {
				return err
			}
			c, err := compact(dir, command)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), c)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "compacted %s: %d tokens of history, a summary of %d\n", c.Sources[0], c.Coverage["estimated_tokens_before"], c.Coverage["estimated_tokens_after"])
			for _, n := range c.LossNotes {
				fmt.Fprintf(cmd.OutOrStdout(), "  lost: %s\n", printable(n))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&command, "command", "", "the command; it reads records, a JSON object a line, and prints the summary")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the record of the compaction")
	namesSessions(cmd)
	return cmd
}

// compact works through the mount, on one view of the log: records that are appended meanwhile are not covered.
func compact(dir, command string) (*compaction, error) {
	history, err := os.ReadFile(filepath.Join(dir, session.Messages))
	if err != nil {
		return nil, err
	}
	records := bytes.Count(history, []byte{'\n'})
	if records == 0 {
		return nil, fmt.Errorf("%s: the session has no records to compact", dir)
	}
	span := fmt.Sprintf("messages:1-%d", records)
	summary, notes, err := summarize(command, dir, span, history)
	if err != nil {
		return nil, err
	}
	lost, err := filesLost(dir, summary)
	if err != nil {
		return nil, err
	}
	enc, err := token.New(token.Default)
	if err != nil {
		return nil, err
	}
	before, after := enc.CountBytes(history), enc.CountBytes(summary)
	sum := cas.Sum(summary).String()
	c := &compaction{
		ID: "compact-" + cas.Sum(bytes.Join([][]byte{history, summary}, nil)).String()[7:23], Scope: "session", Sources: []string{span},
		Summary: "context/summary.md", SummaryHash: sum, Method: "custom", Trigger: "manual",
		Coverage:  map[string]int{"items_covered": records, "estimated_tokens_before": before, "estimated_tokens_after": after},
		LossNotes: append(notes, lost...), Replacement: "summary_beside_source", CreatedAt: time.Now().UTC().Format(time.RFC3339Nano),
	}
	return c, keepCompaction(dir, summary, c)
}

// summarize runs the command and gives what it printed, and the losses that it told of.
func summarize(command, dir, span string, history []byte) ([]byte, []string, error) {
	run := exec.Command("/bin/sh", "-c", command)
	run.Stdin = bytes.NewReader(history)
	run.Env = append(os.Environ(), "CTXFS_SESSION="+dir, "CTXFS_RANGE="+span)
	var out, words bytes.Buffer
	run.Stdout, run.Stderr = &limited{w: &out, left: session.MaxControl}, &limited{w: &words, left: 1 << 20}
	if err := run.Run(); err != nil {
		return nil, nil, fmt.Errorf("--command failed, nothing was changed: %s", strings.TrimSpace(err.Error()+"\n"+words.String()))
	}
	if len(bytes.TrimSpace(out.Bytes())) == 0 {
		return nil, nil, errors.New("--command printed no summary, nothing was changed")
	}
	notes := []string{}
	for _, line := range strings.Split(words.String(), "\n") {
		if n, ok := strings.CutPrefix(line, "loss: "); ok {
			notes = append(notes, n)
		}
	}
	return out.Bytes(), notes, nil
}

// limited takes so many bytes and no more.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errors.New("it printed too much")
	}
	return l.w.Write(p)
}

// filesLost names the files that the records touch and the summary does not name.
func filesLost(dir string, summary []byte) ([]string, error) {
	refs, err := os.ReadFile(filepath.Join(dir, "context", "refs.jsonl"))
	if err != nil {
		return nil, err
	}
	var lost []string
	dec := json.NewDecoder(bytes.NewReader(refs))
	for {
		var r struct{ Path, Kind string }
		if err := dec.Decode(&r); err == io.EOF {
			return lost, nil
		} else if err != nil {
			return nil, fmt.Errorf("refs.jsonl: %w", err)
		}
		if r.Kind == "file" && !bytes.Contains(summary, []byte(filepath.Base(r.Path))) {
			lost = append(lost, "the summary does not name "+r.Path)
		}
	}
}

// keepCompaction puts the summary and the event of it into the session.
func keepCompaction(dir string, summary []byte, c *compaction) error {
	tmp := filepath.Join(dir, "context", ".summary."+c.ID)
	if err := os.WriteFile(tmp, summary, 0o600); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(dir, "context", "summary.md")); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return appendEvent(dir, c.ID, "ctxfs.context.compaction", c.CreatedAt, c)
}

// appendEvent adds an event of this program's to a session's events.jsonl, as CloudEvents has it.
func appendEvent(dir, id, kind, at string, data any) error {
	line, err := json.Marshal(map[string]any{"specversion": "1.0", "id": id, "source": "ctxfs", "type": kind, "time": at, "data": data})
	if err != nil {
		return err
	}
	f, err := openAppend(filepath.Join(dir, session.Events))
	if err != nil {
		return err
	}
	return errors.Join(f.line(line), f.close())
}
