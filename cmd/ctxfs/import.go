package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ctxfs/internal/cas"
	"ctxfs/internal/importer"
	"ctxfs/internal/intake"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"
	"ctxfs/internal/watch"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// importFlags say where imported sessions go.
type importFlags struct {
	storeFlags
	agent, session, format string
	asJSON                 bool
}

func newImport() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: "import FILE...", Short: "turn logs of other agents into sessions",
		Long: `Turn each FILE, a session log of another agent, into a session of its own: messages in order with tool calls, results and
thinking, pictures kept by reference, compactions marked, native ids kept. Every source record is accounted for. The format
is told by content (see docs/import.md): ` + strings.Join(importer.Formats(), ", ") + `.
A FILE that holds several conversations becomes as many sessions. A FILE that was imported before goes on in its session with
what is new in it; when its earlier records changed, it becomes NAME-2. One that cannot be imported keeps no other from it.
The subagents of a session of Claude Code come with it: each is a session, which the parent's links in context/child/.
With a mount, sessions are written through it; without, straight into the store.`,
		Example: "  ctxfs import ~/.claude/projects/*/*.jsonl\n  ctxfs import rollout.jsonl --agent coder --session fix-42\n  ctxfs import --format pi torn.jsonl",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{"usage: ctxfs import FILE... (see ctxfs import --help)"}
			}
			return nil
		},
		PreRunE: func(*cobra.Command, []string) error { return f.check() },
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.agent, "agent", "", "agent that gets the sessions (default: the name of the format)")
	cmd.Flags().StringVar(&f.session, "session", "", "name of the session (default: the file's name; one FILE only)")
	cmd.Flags().StringVar(&f.format, "format", "", "what the files are, where their content does not tell")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print a JSON object a session")
	return cmd
}

// imported is what one file, or a conversation of it, became.
type imported struct {
	File    string          `json:"file"`
	Session string          `json:"session"`          // its directory
	New     bool            `json:"new"`              // it was made
	Added   intake.Counts   `json:"appended"`         // to it; of a file that was imported before, what is new in it
	Parent  string          `json:"parent,omitempty"` // of a subagent's: the directory of the session that links it as a child
	Report  importer.Report `json:"report"`
}

func (f *importFlags) check() error {
	if f.agent != "" {
		if err := session.CheckName(f.agent); err != nil {
			return usageError{"--agent: " + err.Error()}
		}
	}
	if f.session != "" {
		if err := session.CheckSessionName(f.session); err != nil {
			return usageError{"--session: " + err.Error()}
		}
	}
	if f.format == "" {
		return nil
	}
	return isOneOf("--format", f.format, importer.Formats())
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
	bad, failed := 0, []error(nil)
	logs, relatives := f.sources(files), family{}
	for _, log := range logs {
		all, err := f.one(cmd, to, log)
		if err != nil { // those that follow have nothing to do with it
			failed = append(failed, fmt.Errorf("%s: %w", log.path, withoutPath(err, log.path)))
		}
		for _, done := range all {
			if done.Report.Child == nil {
				relatives[filepath.Clean(log.path)] = done
			} else if done.Parent, err = relatives.link(done); err != nil {
				failed = append(failed, fmt.Errorf("%s: link it in the session of its parent: %w", log.path, err))
			}
			if done.changed() {
				for _, n := range done.Report.Bad {
					bad += n
				}
			}
			if err := f.print(cmd, done); err != nil {
				return errors.Join(append(failed, err)...)
			}
		}
	}
	return outcome(len(logs), failed, bad)
}

// withoutPath takes a path out of the error of a system call, where it is said already.
func withoutPath(err error, name string) error {
	if said := (*fs.PathError)(nil); errors.As(err, &said) && said.Path == name {
		return said.Err
	}
	return err
}

// outcome is the error of an import: why each file that failed did, and how many lines of others could not be read.
func outcome(files int, failed []error, bad int) error {
	var unread error
	if bad > 0 {
		unread = problems{fmt.Sprintf("%d source lines could not be read; each is kept whole in an import_error event", bad)}
	}
	if len(failed) == 0 {
		return unread
	}
	if files > 1 {
		failed = append(failed, fmt.Errorf("%d of %d files were not imported", len(failed), files))
	}
	if unread != nil { // the code is that of what failed
		failed = append(failed, errors.New(unread.Error()))
	}
	return errors.Join(failed...)
}

func (f *importFlags) print(cmd *cobra.Command, done imported) error {
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), done)
	}
	said := printable(done.Report.String())
	switch {
	case !done.changed():
		said = ": nothing new"
	case !done.New:
		said = fmt.Sprintf("\n  appended %s and %s; %s", count(done.Added.Messages, "message"), count(done.Added.Events, "event"), said)
	default:
		said = "\n  " + said
	}
	if done.Parent != "" && done.changed() {
		said += "\n  child " + printable(done.Report.Child.ID) + " of " + printable(done.Parent)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s -> %s%s\n", printable(done.File), printable(done.Session), said)
	return err
}

// changed reports whether the import wrote anything.
func (done imported) changed() bool { return done.New || done.Added != intake.Counts{} }

// one imports one file. What was made of one that fails is taken away again.
func (f *importFlags) one(cmd *cobra.Command, to target, log source) ([]imported, error) {
	name := log.path
	file, err := openAgain(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	format, err := f.formatOf(bufio.NewReaderSize(file, 256<<10))
	if err != nil {
		return nil, err
	}
	agent, stem := orElse(f.agent, string(format)), log.session
	bar := newProgress(cmd.ErrOrStderr(), filepath.Base(name), sizeOf(file), true)
	results, err := intake.File{Log: file, Format: format, Store: to, Agent: agent, Progress: bar.set,
		Name: func(label string, n int) string { return numbered(labelled(stem, label), n) }}.Import()
	bar.end()
	if err != nil {
		for _, r := range results {
			if r.Made {
				err = errors.Join(err, takeAway(to, agent, r.Session))
			}
		}
		return nil, err
	}
	if len(results) == 0 {
		return nil, errors.New("it is empty")
	}
	var all []imported
	for _, r := range results {
		all = append(all, imported{File: name, Session: to.dir(agent, r.Session), New: r.Made, Added: r.Added, Report: r.Report})
		err = errors.Join(err, r.Report.Check())
	}
	return all, err
}

// openAgain opens a file that can be read more than once: what comes from a pipe is copied first, into a file without a name.
func openAgain(name string) (*os.File, error) {
	in, err := os.Open(name)
	if err != nil || sizeOf(in) >= 0 {
		return in, err
	}
	defer in.Close()
	if st, err := in.Stat(); err != nil || st.IsDir() {
		return nil, errors.Join(err, fmt.Errorf("%w: name the logs in it, or follow them with: ctxfs watch --once --from %s", unix.EISDIR, mounts.Quote(name)))
	}
	out, err := os.CreateTemp("", "ctxfs-import-")
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(out, in); err == nil {
		_, err = out.Seek(0, io.SeekStart)
	}
	if err = errors.Join(os.Remove(out.Name()), err); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

// sizeOf is the length of a file in bytes; -1 when it has none, as a pipe.
func sizeOf(f *os.File) int64 {
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return -1
	}
	return st.Size()
}

func (f *importFlags) formatOf(r *bufio.Reader) (importer.Format, error) {
	head, err := r.Peek(256 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if f.format != "" {
		return importer.Format(f.format), nil
	}
	format, err := importer.Detect(head)
	if err != nil {
		return "", fmt.Errorf("%w (name one with --format)", err)
	}
	return format, nil
}

// labelled gives the name of one of several sessions of a file: the label stays whole where it can.
func labelled(stem, label string) string {
	if label == "" {
		return stem
	}
	label = nameLetters(label)
	if room := session.MaxName - 1 - len(label); len(stem) > room {
		stem = stem[:max(room, 8)]
	}
	name := stem + "-" + label
	return strings.TrimRight(name[:min(len(name), session.MaxName)], "._+-")
}

// nameLetters replaces what is no letter of a session's name by '-'.
func nameLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("._+-", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, s)
}

// sessionName makes a session's name of a log's file name: that of a subagent's begins with the name of its parent's.
func sessionName(file string) string {
	if parent, ok := watch.SessionOf(file); ok {
		return labelled(sessionName(parent), strings.TrimSuffix(filepath.Base(file), ".jsonl"))
	}
	stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if dir := filepath.Base(filepath.Dir(file)); stem == "events" && dir != "." && dir != string(filepath.Separator) {
		stem = dir // Copilot keeps each session's events.jsonl in a folder of its name
	}
	name := strings.TrimLeft(nameLetters(stem), "._+-")
	if len(name) > session.MaxName { // names that only differ behind that stay apart
		const hex = 8
		name = name[:session.MaxName-1-hex] + "-" + strings.TrimPrefix(cas.Sum([]byte(stem)).String(), "blake3-")[:hex]
	}
	if session.CheckSessionName(name) != nil {
		return "imported-" + strings.TrimRight(name[:min(len(name), 40)], ".")
	}
	return name
}
