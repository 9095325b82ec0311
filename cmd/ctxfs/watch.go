package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ctxfs/internal/cas"
	"ctxfs/internal/flock"
	"ctxfs/internal/importer"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"
	"ctxfs/internal/watch"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// watchFlags say what is followed, and where to.
type watchFlags struct {
	mount, from, format, agent string
	once, rescan               bool
}

func newWatch() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use: "watch", Short: "follow the logs of coding agents into sessions, as they are written",
		Long: `Follow your logs of these programs into the mount: each is a session of its own, which grows as the log does.

  claude-code   projects/ in $CLAUDE_CONFIG_DIR or ~/.claude
  codex         sessions/ in $CODEX_HOME or ~/.codex
  gemini-cli    .gemini/tmp/*/chats/ in $GEMINI_CLI_HOME or ~
  opencode      opencode/opencode.db in $XDG_DATA_HOME or ~/.local/share; or $OPENCODE_DB
  pi            sessions/ in $PI_CODING_AGENT_DIR or ~/.pi/agent
  copilot-cli   session-state/ in $COPILOT_HOME or ~/.copilot

It runs until it gets SIGTERM or SIGINT; docs/import.md has a unit for systemd. Folders that are not there yet are followed when
they appear.

A watch that ended in any way goes on where it was and writes nothing twice: it reads in the sessions what they have. Half a line
waits until it is whole. A log that is another than it was, at the same place, becomes a new session, NAME-2.`,
		Example: "  ctxfs watch\n  ctxfs watch --once --format codex\n  ctxfs watch --from ~/.pi/agent/sessions",
		Args:    exactArgs(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	addMountFlag(cmd, &f.mount)
	cmd.Flags().StringVar(&f.from, "from", "", "follow the .jsonl files in this folder, at any depth, instead")
	cmd.Flags().StringVar(&f.format, "format", "", "follow this format only (default: all; with --from, by content)")
	cmd.Flags().StringVar(&f.agent, "agent", "", "agent that gets the sessions (default: the name of the format)")
	cmd.Flags().BoolVar(&f.once, "once", false, "read what is there now, then end")
	cmd.Flags().BoolVar(&f.rescan, "rescan", false, "read all logs, also those that did not change since they were read")
	return cmd
}

func (f *watchFlags) run(cmd *cobra.Command) error {
	sources, libraries, err := f.sources()
	if err != nil {
		return err
	}
	point, err := pickMount(f.mount)
	if err != nil {
		return err
	}
	status, err := mounts.Status(point)
	if err != nil {
		return err
	}
	file, err := watchState(status["store"], point)
	if err != nil {
		return err
	}
	unlock, err := lockState(file)
	if err != nil {
		return err
	}
	defer unlock()
	to := &watchTarget{point: mounts.Real(point), tell: func(format string, args ...any) {
		fmt.Fprintln(cmd.OutOrStdout(), printable(fmt.Sprintf(format, args...)))
	}}
	w, err := watch.New(watch.Config{Sources: sources, Libraries: libraries, Agent: f.agent, Name: numberedName, State: file, Fresh: f.rescan,
		Tell: func(format string, args ...any) {
			fmt.Fprintln(cmd.ErrOrStderr(), "ctxfs:", printable(fmt.Sprintf(format, args...)))
		},
		Sync: 2 * time.Second, Settle: 5 * time.Minute, Poll: 20 * time.Second, Idle: 10 * time.Minute}, to)
	if err != nil {
		return err
	}
	if f.once {
		return w.Once()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	for _, s := range sources {
		to.tell("following %s into %s", s.Root, point)
	}
	for _, l := range libraries {
		if !slices.ContainsFunc(sources, func(s watch.Source) bool { return s.Root == l.File() }) {
			to.tell("following %s into %s", l.File(), point)
		}
	}
	return w.Run(ctx)
}

// sources returns what is followed.
func (f *watchFlags) sources() ([]watch.Source, []watch.Library, error) {
	format := importer.Format(f.format)
	if format != "" && !slices.Contains(followed(), f.format) {
		return nil, nil, usageError{fmt.Sprintf("--format %s cannot be followed; these can: %s", f.format, strings.Join(followed(), ", "))}
	}
	if f.from != "" {
		if format != "" && !importer.Streams(format) {
			return nil, nil, usageError{fmt.Sprintf("--format %s cannot be followed in another folder", f.format)}
		}
		root, err := filepath.Abs(f.from)
		if err != nil {
			return nil, nil, err
		}
		if _, err := os.Stat(root); err != nil {
			return nil, nil, err
		}
		return []watch.Source{{Root: root, Format: format, Must: true}}, nil, nil
	}
	list, libraries, err := knownSources()
	if err != nil {
		return nil, nil, err
	}
	if format != "" {
		list = slices.DeleteFunc(list, func(s watch.Source) bool { return s.Format != format })
		libraries = slices.DeleteFunc(libraries, func(l watch.Library) bool { return l.Format() != format })
	}
	return list, libraries, nil
}

// knownSources returns where the programs keep their logs, of those that can be followed.
func knownSources() ([]watch.Source, []watch.Library, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, nil, err
	}
	dir := func(env, usual string, below ...string) string {
		return filepath.Join(append([]string{orElse(os.Getenv(env), filepath.Join(home, usual))}, below...)...)
	}
	gemini := dir("GEMINI_CLI_HOME", "", ".gemini", "tmp")
	return []watch.Source{
			{Root: dir("CLAUDE_CONFIG_DIR", ".claude", "projects"), Format: importer.ClaudeCode, Depth: 2, Below: watch.Subagents},
			{Root: dir("CODEX_HOME", ".codex", "sessions"), Format: importer.Codex, Prefix: "rollout-"},
			{Root: gemini, Format: importer.GeminiCLI, Depth: 3, In: "chats", Prefix: "session-"},
			{Root: dir("PI_CODING_AGENT_DIR", ".pi/agent", "sessions"), Format: importer.Pi, Depth: 2},
			{Root: dir("COPILOT_HOME", ".copilot", "session-state"), Format: importer.CopilotCLI, Depth: 2, Prefix: "events."},
		}, []watch.Library{
			openCodeDB{openCodePath(home)},
			watch.Files{Root: gemini, Pattern: "*/chats/session-*.json", Of: importer.GeminiCLI},
		}, nil
}

// followed lists the formats that can be followed.
func followed() []string {
	return slices.DeleteFunc(importer.Formats(), func(f string) bool {
		return !importer.Streams(importer.Format(f)) && f != string(importer.OpenCode)
	})
}

// numberedName is the name of the nth session of logs at a path.
func numberedName(path string, n int) string { return numbered(sessionName(path), n) }

// numbered is the name of the nth session of what is called name.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	return labelled(name, strconv.Itoa(n))
}

// watchState names the file that remembers what was read into a store: a folder of the user's own.
func watchState(store, point string) (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	id := strings.TrimPrefix(cas.Sum([]byte(orElse(store, point))).String(), "blake3-")[:16]
	file := filepath.Join(dir, "ctxfs", "watch-"+id+".json")
	return file, os.MkdirAll(filepath.Dir(file), 0o700) // #nosec G703 -- the user's own folder
}

// lockState sees that one watch at a time writes into a user's sessions. The file of the lock says which process that is.
func lockState(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file+".lock", os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	err = lockNow(f, "another ctxfs watch follows these logs")
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil // which unlocks
}

// lockNow takes a lock that lasts until f is closed. When another process has it, the error says what that is.
func lockNow(f *os.File, other string) error {
	err := flock.Take(f)
	held := (*flock.Held)(nil)
	if !errors.As(err, &held) {
		return err
	}
	if held.PID == 0 {
		held.PID = writtenPID(f)
	}
	hint := "wait for its end, or end it"
	if held.PID != 0 {
		hint += ": kill " + strconv.Itoa(held.PID)
	}
	return &session.Error{Kind: session.Locked, Msg: other + held.By(), Hint: hint}
}

// writtenPID returns the number of the process that the file of a lock names, 0 when it names none that runs.
func writtenPID(f *os.File) int {
	var text [16]byte
	n, _ := f.ReadAt(text[:], 0) // a file that cannot be read names none
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil || !flock.Runs(pid) {
		return 0
	}
	return pid
}
