package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"ctxfs/internal/keep"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
)

// version is set when a release is built: -ldflags "-X main.version=v1.2.3".
var version = "0.1.0-dev"

func newRoot(program string) *cobra.Command {
	name := filepath.Base(program)
	if name != "ctx" {
		name = "ctxfs"
	}
	root := &cobra.Command{
		Use:   name,
		Short: "keep agents' sessions as plain files and pack their context under a token budget",
		Long: `ctxfs mounts a tree of agent sessions as ordinary files. Agents append lines to messages.jsonl;
context/pack.md is what a model should see next, under the budget in context/budget.`,
		Example:       "  ctxfs mount /ctx --background\n  mkdir -p /ctx/home/$(id -u)/agent/coder/session/fix-42\n  cat /ctx/home/$(id -u)/agent/coder/session/fix-42/context/pack.md",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		Version:       version,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newMount(), newUmount(), newUpgrade(), newStatus(), newHistory(), newLatest(), newSend(), newResume(), newSessions(), newShare(), newPack(), newCompact(), newInject(), newReplay(), newBundle(), newSession(), newImport(), newWatch(), newGC(), newVerify(), newMCP(), newReport(), newTop(), newVersion())
	root.AddCommand(newConfig(), newDoctor(), newGen())
	refuseUnknownTopics(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := cmd.ValidateFlagGroups(); err != nil { // which cobra asks too, later, and its error is none of a command line
			return usageError{err.Error()}
		}
		return applySettings(cmd)
	}
	return root
}

// refuseUnknownTopics has cobra's own commands, help and completion, refuse what they do not know, as all others do.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				of, rest, _ := root.Find(args) // what it does not find is the rest
				return knownCommand(of, rest)
			}
		case "completion":
			c.Args, c.RunE = knownCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// mountHelperArgs understands the call of mount(8) for `mount -t fuse.ctxfs STORE MOUNTPOINT -o OPTIONS` and fstab:
// mount.fuse3 runs `ctxfs STORE MOUNTPOINT -o OPTIONS` and expects it to go to the background. A STORE that is no path
// (fstab: the default store) is taken for one only with -o, or a mistyped command would mount.
func mountHelperArgs(root *cobra.Command, args []string) []string {
	if len(args) < 2 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[1], "-") || !filepath.IsAbs(args[1]) {
		return args
	}
	for _, c := range root.Commands() {
		if c.Name() == args[0] || c.HasAlias(args[0]) {
			return args
		}
	}
	if !filepath.IsAbs(args[0]) && (len(args) < 3 || args[2] != "-o") {
		return args
	}
	if slices.Contains([]string{"help", "completion", "__complete", "__completeNoDesc"}, args[0]) {
		return args
	}
	out := []string{"mount", args[1], "--background"}
	if filepath.IsAbs(args[0]) {
		out = append(out, "--store", args[0])
	}
	return append(out, args[2:]...)
}

// The exit codes of ctxfs. They are part of its interface (README.md, Exit codes).
const (
	exitOK       = 0
	exitFailed   = 1  // the work could not be done
	exitUsage    = 2  // the command line is wrong
	exitProblems = 3  // verify found problems, a bundle is not valid, or an import met bad lines
	exitLocked   = 10 // another ctxfs holds the store or the mountpoint
	exitNoMount  = 11 // no ctxfs is mounted, or its mountpoint is stale
	exitNotFound = 12 // the session, agent or file is not there
	exitNoAgent  = 13 // a message is recorded, and no agent serves the session
)

type exitMeaning struct {
	code    int
	meaning string
}

// exitMeanings says what the exit codes say, for the manual.
func exitMeanings() []exitMeaning {
	return []exitMeaning{
		{exitOK, "done"},
		{exitFailed, "the work could not be done; stderr says why"},
		{exitUsage, "the command line is wrong"},
		{exitProblems, "verify found problems, a bundle is not valid, or an import met lines that it could not read"},
		{exitLocked, "another ctxfs holds the store or the mountpoint"},
		{exitNoMount, "no ctxfs is mounted there, or its mountpoint is stale"},
		{exitNotFound, "the session, agent or file is not there"},
		{exitNoAgent, "a message is recorded, and no agent serves the session now"},
	}
}

// problems is an error that was already shown in full.
type problems struct{ text string }

func (p problems) Error() string { return p.text }

// exitCode tells people what went wrong, and programs by the code.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	if told := (logged{}); !isWorker() && !errors.As(err, &told) { // a worker has told its supervisor
		fmt.Fprintln(stderr, "ctxfs:", printable(err.Error()))
	}
	return codeOf(err)
}

// codeOf gives the code of an error.
func codeOf(err error) int {
	var rule *session.Error
	var p problems
	var child childError
	switch {
	case errors.As(err, &child):
		return child.code
	case errors.As(err, &p), errors.Is(err, errProblems):
		return exitProblems
	case errors.As(err, &rule) && rule.Kind == session.Locked, errors.Is(err, mounts.ErrMounted):
		return exitLocked
	case errors.As(err, &rule) && rule.Kind == session.NotFound, errors.Is(err, fs.ErrNotExist):
		return exitNotFound
	case errors.Is(err, errNoAgent):
		return exitNoAgent
	case errors.Is(err, errNoMount), errors.Is(err, mounts.ErrStale):
		return exitNoMount
	case errors.As(err, new(usageError)):
		return exitUsage
	}
	return exitFailed
}

// usageError is a wrong command line.
type usageError struct{ text string }

func (u usageError) Error() string { return u.text }

// knownCommand is for what stands where a command should: there is none of that name.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command %q", args[0])
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	} else if cmd.HasParent() {
		text += " of " + cmd.CommandPath() + "; there are " + strings.Join(commandNames(cmd), ", ")
	}
	return usageError{text + " (see " + cmd.CommandPath() + " --help)"}
}

// commandNames returns the names of the commands below cmd.
func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// exactArgs is cobra's, with an error that says how the command is called.
func exactArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Sprintf("usage: %s (see %s --help)", cmd.UseLine(), cmd.CommandPath())}
		}
		return nil
	}
}

func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exactArgs(1)(cmd, args)
	}
	return nil
}

func someArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return exactArgs(1)(cmd, args)
	}
	return nil
}

func atMostOneArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exactArgs(1)(cmd, args)
	}
	return nil
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "show the version", Example: "  ctxfs version --json", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := map[string]string{"version": version, "open_files": keep.Layout, "renew": renewByFile}
			if info, ok := debug.ReadBuildInfo(); ok {
				v["go"] = info.GoVersion
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), v)
			}
			fmt.Fprintln(cmd.OutOrStdout(), "ctxfs", v["version"], v["go"])
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
