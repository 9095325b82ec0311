package main

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/token"
	"ctxfs/internal/frames"
	"ctxfs/internal/importer"
	"ctxfs/internal/logs"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"
	"ctxfs/internal/top"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// lister returns the values that an argument or a flag can have, given what was typed of the command line before it and of itself.
type lister func(cmd *cobra.Command, args []string, typed string) []string

// completeAll has the shell complete the arguments and flags of every command: with their values where those are known, with files or
// folders where they are paths, else with nothing.
func completeAll(root *cobra.Command) {
	values := flagValues()
	eachCommand(root, func(c *cobra.Command) {
		c.ValidArgsFunction = argumentsOf(section(c))
		c.Flags().VisitAll(func(f *pflag.Flag) {
			complete, ok := values[section(c)+" "+f.Name]
			if !ok {
				complete, ok = values[f.Name]
			}
			if ok {
				_ = c.RegisterFlagCompletionFunc(f.Name, complete) // fails only for a flag that is not there
			}
		})
	})
}

// argumentsOf completes the arguments of a command.
func argumentsOf(command string) cobra.CompletionFunc {
	switch command {
	case "mount", "gen man":
		return inTurn(folder)
	case "umount", "status", "upgrade":
		return inTurn(oneFrom(mountpoints))
	case "history", "latest", "send", "resume":
		return inTurn(names(agentOrSession))
	case "sessions":
		return inTurn(oneFrom(agentNames))
	case "session relocate":
		return inTurn(oneFrom(agentNames), oneFrom(cwds))
	case "pack", "compact", "inject", "report", "session export", "session restore", "session delete":
		return inTurn(names(sessionRefs))
	case "session archive":
		return names(sessionRefs)
	case "replay":
		return inTurn(oneFrom(contextIDs))
	case "bundle import", "bundle validate":
		return inTurn(folder)
	case "bundle diff":
		return inTurn(folder, folder)
	case "import":
		return file
	case "config":
		return oneFrom(sections)
	}
	return cobra.NoFileCompletions
}

// flagValues returns what completes the values of flags, by the flag's name, or by the command's and the flag's.
func flagValues() map[string]cobra.CompletionFunc {
	values := map[string]cobra.CompletionFunc{
		"color": these("auto", "always", "never"), "log-format": these(logs.Text, logs.JSON), "log-level": these(logs.Levels()...), "tokenizer": these(token.Names()...),
		"sync": these(syncAsked, syncClose), "log-reads": these(readsDirect, readsPast), "options": options, "sort": these(orders()...),
		"scope": these(frames.Private, frames.Shared, frames.Temp), "pack target": these(pack.Targets()...), "inject target": these(session.InjectionTargets()...),
		"point": these(session.InjectionPoints()...), "import format": these(importer.Formats()...), "watch format": these(streamed()...),
		"session export format": these(exportForms()...),
		"mount":                 oneFrom(mountpoints), "share": oneFrom(shares), "agent": oneFrom(agentNames), "group": oneFrom(groups), "cwd": oneFrom(cwds), "inject file": oneFrom(filesOf),
		"session": oneFrom(sessionsOf), "import session": cobra.NoFileCompletions, "replay session": names(sessionRefs), "bundle import session": names(sessionRefs),
		"store": folder, "resume-in": folder, "watch from": folder, "session restore from": file, "output": file, "textfile": file, "token-file": file,
	}
	for _, name := range []string{"after", "archive-after", "at", "budget", "command", "filter", "http", "id", "interval", "last", "metrics", "native-id", "query", "quota",
		"quota-files", "steps"} { // numbers, times and words that cannot be listed
		values[name] = cobra.NoFileCompletions
	}
	return values
}

// inTurn completes the first argument with the first function, and so on; what comes behind has no completions.
func inTurn(each ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(each) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return each[len(args)](cmd, args, typed)
	}
}

// these completes with fixed values.
func these(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
}

func file(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

func folder(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// options completes -o of mount.
func options(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return noSpace(these(mountOptions()...)(cmd, args, typed))
}

// completionWait is how long the shell waits for values: a mount that hangs must not hang it.
const completionWait = 2 * time.Second

// oneFrom completes with those of list that begin with what was typed.
func oneFrom(list lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		values := inTime(func() []string { return list(cmd, args, typed) })
		values = slices.DeleteFunc(values, func(v string) bool { return !strings.HasPrefix(v, typed) })
		return values, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// noSpace has the shell add no space behind a value that goes on: AGENT/, or an option with =.
func noSpace(values []string, directive cobra.ShellCompDirective) ([]string, cobra.ShellCompDirective) {
	if slices.ContainsFunc(values, func(v string) bool { return strings.HasSuffix(v, "/") || strings.HasSuffix(v, "=") }) {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return values, directive
}

// names completes the names of list, and a path with folders.
func names(list lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if typed != "" && strings.ContainsAny(typed[:1], "/.~") {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return noSpace(oneFrom(list)(cmd, args, typed))
	}
}

// inTime returns what list returns, or nothing when that takes too long.
func inTime(list func() []string) []string {
	done := make(chan []string, 1)
	go func() { done <- list() }()
	select {
	case values := <-done:
		return values
	case <-time.After(completionWait):
		return nil
	}
}

// typedFlags returns the flags that say where agents are, as the command line has them so far.
func typedFlags(cmd *cobra.Command) *agentFlags {
	if files, err := readSettings(cmd.Root()); err == nil {
		_ = setPlaces(files) // the environment can be set
	}
	text := func(name string) string { v, _ := cmd.Flags().GetString(name); return v } // "" for a flag that the command has not
	yes := func(name string) bool { v, _ := cmd.Flags().GetBool(name); return v }
	return &agentFlags{mount: text("mount"), share: text("share"), model: yes("model"), temp: yes("temp")}
}

// typedOwner returns where the agents of a command line are; ok is false where no mount can be chosen.
func typedOwner(cmd *cobra.Command) (at place, ok bool) {
	at, err := typedFlags(cmd).owner()
	return at, err == nil
}

func mountpoints(*cobra.Command, []string, string) (points []string) {
	list, _ := mounts.List() // without it there is nothing to offer
	for _, m := range list {
		if m.LetsIn(os.Geteuid()) {
			points = append(points, m.Point)
		}
	}
	return points
}

// agentNames lists agents, and models as NAME.d.
func agentNames(cmd *cobra.Command, _ []string, _ string) (list []string) {
	at, ok := typedOwner(cmd)
	if ok {
		at.each(func(of place) { list = append(list, filepath.Base(of.home())) })
	}
	return list
}

// agentOrSession lists agents, and behind a slash the sessions of one.
func agentOrSession(cmd *cobra.Command, args []string, typed string) []string {
	if strings.Contains(typed, "/") {
		return sessionRefs(cmd, args, typed)
	}
	return agentNames(cmd, args, typed)
}

// sessionRefs lists agents with a slash behind them, and behind it the sessions of the one that was typed, or of the only one that can be.
func sessionRefs(cmd *cobra.Command, args []string, typed string) (list []string) {
	agent, _, both := strings.Cut(typed, "/")
	at, ok := typedOwner(cmd)
	if !ok {
		return nil
	}
	agents := slices.DeleteFunc(agentNames(cmd, args, typed), func(a string) bool { return both && a != agent || !strings.HasPrefix(a, agent) })
	if len(agents) == 1 {
		at.each(func(of place) {
			if filepath.Base(of.home()) == agents[0] {
				list = append(list, of.names()...)
			}
		})
		return list
	}
	for _, a := range agents {
		list = append(list, a+"/")
	}
	if len(agents) == 0 && !both { // a session's name alone
		at.each(func(of place) { list = append(list, of.list()...) })
	}
	return list
}

// sessionsOf lists the sessions of the agent that the first argument names.
func sessionsOf(cmd *cobra.Command, args []string, _ string) []string {
	p, ok := typedAgent(cmd, args)
	if !ok {
		return nil
	}
	return p.list()
}

func typedAgent(cmd *cobra.Command, args []string) (p place, ok bool) {
	at, ok := typedOwner(cmd)
	if !ok || len(args) == 0 {
		return at, false
	}
	p, err := at.agentNamed(args[0])
	return p, err == nil
}

// mostRead is how many sessions are looked into, the newest first, for their values.
const mostRead = 50

// cwds lists the folders that an agent's newest sessions stand in.
func cwds(cmd *cobra.Command, args []string, _ string) (list []string) {
	p, ok := typedAgent(cmd, args)
	if !ok {
		return nil
	}
	sessions := p.list()
	for _, p.session = range sessions[:min(mostRead, len(sessions))] {
		if cwd := value(p.dir(), "cwd"); !slices.Contains(list, cwd) {
			list = append(list, cwd)
		}
	}
	return list
}

func shares(cmd *cobra.Command, _ []string, _ string) []string {
	at, ok := typedOwner(cmd)
	if !ok {
		return nil
	}
	return folders(filepath.Join(at.root, "shared"))
}

// filesOf lists the files under context/ of the session that the first argument names.
func filesOf(cmd *cobra.Command, args []string, _ string) (list []string) {
	typedFlags(cmd) // for the settings
	if len(args) == 0 {
		return nil
	}
	dir, err := findSession(args[0])
	if err != nil {
		return nil
	}
	entries, _ := os.ReadDir(filepath.Join(dir, "context")) // it may have gone
	for _, e := range entries {
		if !e.IsDir() {
			list = append(list, "context/"+e.Name())
		}
	}
	return list
}

// contextIDs lists the contexts that were shown in the session of --session.
func contextIDs(cmd *cobra.Command, _ []string, _ string) (list []string) {
	typedFlags(cmd)
	ref, _ := cmd.Flags().GetString("session")
	dir, err := findSession(ref)
	if err != nil {
		return nil
	}
	all, _ := readInjections(dir) // a session without any
	for _, inj := range all {
		if !slices.Contains(list, inj.ContextID) {
			list = append(list, inj.ContextID)
		}
	}
	return list
}

// sections lists the commands that have settings. A command of two words is completed a word at a time.
func sections(cmd *cobra.Command, args []string, _ string) (list []string) {
	for name := range knownSettings(cmd.Root()) {
		if words := strings.Fields(name); len(words) > len(args) && slices.Equal(words[:len(args)], args) && !slices.Contains(list, words[len(args)]) {
			list = append(list, words[len(args)])
		}
	}
	slices.Sort(list)
	return list
}

// groups lists the groups of the caller; to root, all of /etc/group.
func groups(*cobra.Command, []string, string) (list []string) {
	if os.Geteuid() == 0 {
		data, _ := os.ReadFile("/etc/group") // none: nothing to offer
		for line := range strings.Lines(string(data)) {
			if name, _, ok := strings.Cut(line, ":"); ok {
				list = append(list, name)
			}
		}
		return list
	}
	ids, _ := os.Getgroups() // likewise
	for _, id := range ids {
		if g, err := user.LookupGroupId(strconv.Itoa(id)); err == nil {
			list = append(list, g.Name)
		}
	}
	return list
}

// streamed are the formats that can be followed.
func streamed() []string {
	return slices.DeleteFunc(importer.Formats(), func(f string) bool { return !importer.Streams(importer.Format(f)) })
}

func orders() (list []string) {
	for _, o := range top.Orders() {
		list = append(list, string(o))
	}
	return list
}
