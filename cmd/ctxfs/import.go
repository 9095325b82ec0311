package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ctxfs/internal/importer"
	"ctxfs/internal/session"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// importFlags say where imported sessions go.
type importFlags struct {
	storeFlags
	agent, session string
	asJSON         bool
}

func newImport() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: "import FILE...", Short: "turn logs of Claude Code or Codex into sessions",
		Long: `Turn each FILE, a session log of Claude Code or Codex (told apart by content), into a session of its own: messages in
order with tool calls, results and thinking, pictures kept by reference, compactions marked, native ids kept. Every
source record is accounted for. With a mount, the session is written through it; without, straight into the store.`,
		Example: "  ctxfs import ~/.claude/projects/*/*.jsonl\n  ctxfs import rollout.jsonl --agent coder --session fix-42",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{"usage: ctxfs import FILE... (see ctxfs import --help)"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.agent, "agent", "", "agent that gets the sessions (default: claude-code or codex, as detected)")
	cmd.Flags().StringVar(&f.session, "session", "", "name of the session (default: its own id; one FILE only)")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print a JSON object a file")
	return cmd
}

// imported is what one file became.
type imported struct {
	File    string          `json:"file"`
	Session string          `json:"session"` // its directory
	Report  importer.Report `json:"report"`
}

func (f *importFlags) run(cmd *cobra.Command, files []string) error {
	if f.session != "" && len(files) > 1 {
		return usageError{"--session names one session, for one FILE"}
	}
	to, err := f.target()
	if err != nil {
		return err
	}
	defer to.close()
	bad := 0
	for _, name := range files {
		done, err := f.one(cmd, to, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, n := range done.Report.Bad {
			bad += n
		}
		if f.asJSON {
			err = printJSON(cmd.OutOrStdout(), done)
		} else {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s -> %s\n  %s\n", printable(name), printable(done.Session), printable(done.Report.String()))
		}
		if err != nil {
			return err
		}
	}
	if bad > 0 {
		return problems{fmt.Sprintf("%d source lines could not be read; each is kept whole in an import_error event", bad)}
	}
	return nil
}

// one imports one file.
func (f *importFlags) one(cmd *cobra.Command, to target, name string) (imported, error) {
	file, err := os.Open(name)
	if err != nil {
		return imported{}, err
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 256<<10)
	head, err := r.Peek(256 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return imported{}, err
	}
	format, err := importer.Detect(head)
	if err != nil {
		return imported{}, err
	}
	agent, sess := orElse(f.agent, string(format)), f.session
	if sess == "" {
		sess = sessionName(name)
	}
	sink, err := to.create(agent, sess)
	if err != nil {
		return imported{}, err
	}
	bar := progress(cmd, file)
	report, err := importer.Import(r, format, sink, func(n int64) { _ = bar.Set64(n) }) // a bar that cannot be drawn is no loss
	_ = bar.Finish()
	if cerr := sink.close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = report.Check()
	}
	return imported{File: name, Session: sink.dir, Report: report}, err
}

// progress shows a bar on a terminal, and nothing elsewhere.
func progress(cmd *cobra.Command, file *os.File) *progressbar.ProgressBar {
	w, onTTY := cmd.ErrOrStderr().(*os.File)
	st, err := file.Stat()
	if !onTTY || err != nil || !term.IsTerminal(int(w.Fd())) {
		return progressbar.DefaultBytesSilent(-1)
	}
	return progressbar.NewOptions64(st.Size(), progressbar.OptionSetWriter(w), progressbar.OptionShowBytes(true),
		progressbar.OptionSetDescription(filepath.Base(file.Name())), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
}

// sessionName makes a session's name of a log's file name: what is no letter of a name becomes '-'.
func sessionName(file string) string {
	stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("._+-", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, stem)
	name = strings.TrimLeft(name, "._+-")
	if len(name) > session.MaxName {
		name = name[:session.MaxName]
	}
	if session.CheckSessionName(name) != nil {
		return "imported-" + strings.TrimRight(name[:min(len(name), 40)], ".")
	}
	return name
}
