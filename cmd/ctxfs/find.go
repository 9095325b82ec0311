package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ctxfs/internal/mounts"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
)

// sessionWords is the part of a command's help that says how a session is named.
const sessionWords = `A session is named as AGENT/SESSION (ctxfs top and packs print it so), as MODEL.d/SESSION, or by its path. Its name alone will do,
or its agent's for the current session, where only one session can be meant.`

// namesSessions adds to the help of cmd how its arguments name sessions.
func namesSessions(cmd *cobra.Command) {
	cmd.Long = strings.TrimPrefix(cmd.Long+"\n\n"+sessionWords, "\n\n")
}

// takesSession has the argument of cmd name a session in every way that findSession takes. cmd runs with the directory that find returns.
func takesSession(cmd *cobra.Command, find func(ref string) (string, error)) *cobra.Command {
	namesSessions(cmd)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := find(args[0])
		if err != nil {
			return err
		}
		return run(cmd, []string{dir})
	}
	return cmd
}

// findMounted is findSession, for what is done through a mount.
func findMounted(ref string) (string, error) {
	dir, err := findSession(ref)
	if err != nil || inMount(dir) {
		return dir, err
	}
	return "", fmt.Errorf("%s is in a store, and this works through its mount: %w", dir, noMount{})
}

// findSession returns the directory of the session that ref names: by its path, as AGENT/SESSION or MODEL.d/SESSION, by the session's
// name alone, or by its agent's name, which is for the current session. A path in the mount, like home/1000/agent/coder/session/fix-42,
// is one wherever the working directory is. Names are those of the caller's own sessions in the mount of pickMount; where nothing is
// mounted, in the default store.
func findSession(ref string) (string, error) {
	if ref == "" { // an unset variable of a script must not stand for the working directory
		return "", usageError{`"" is not a session: name one as AGENT/SESSION, or by its path`}
	}
	abs := mounts.Real(ref)
	if _, ok := placeOf(abs); ok && exists(abs) {
		return abs, nil
	}
	if isPath(ref) {
		return "", notThere(ref, abs)
	}
	root, unmounted := pickMount("")
	if errors.Is(unmounted, errNoMount) {
		root = defaultStore()
	} else if unmounted != nil {
		return "", unmounted
	}
	if inRoot := filepath.Join(root, ref); strings.Count(ref, "/") > 1 {
		if _, ok := placeOf(inRoot); ok && exists(inRoot) {
			return inRoot, nil
		}
		return "", notThere(ref, inRoot)
	}
	p, err := findName(place{root: root, owner: ownHome(), folder: permanent}, ref)
	switch {
	case err == nil:
		return p.dir(), nil
	case codeOf(err) != exitNotFound:
		return "", err
	case exists(abs):
		return "", notASession(ref, abs)
	case unmounted != nil:
		return "", fmt.Errorf("%w; that is the store %s: %w", err, root, unmounted)
	}
	return "", err
}

// isPath reports whether ref is a path and no name, by how it is written.
func isPath(ref string) bool {
	return ref == "" || filepath.IsAbs(ref) || strings.HasPrefix(ref, ".") || strings.HasSuffix(ref, "/")
}

// notThere is the error of a path that is no session's, or of no session that is there.
func notThere(ref, abs string) error {
	p, ok := placeOf(abs)
	if ok && !exists(abs) {
		return p.notFound("session", ref, p.session, p.list())
	}
	if !exists(abs) {
		return &session.Error{Kind: session.NotFound, Msg: ref + ": no such file or directory"}
	}
	return notASession(ref, abs)
}

// findName finds a session of at.owner by AGENT/SESSION, SESSION or AGENT. at.kind, when set, is the only one to look at.
func findName(at place, ref string) (place, error) {
	agent, name, both := strings.Cut(ref, "/")
	if both {
		return at.named(agent, name)
	}
	found := at.sessionsNamed(ref)
	if p, err := at.agentNamed(ref); err == nil {
		if p.session = value(p.sessions(), "index/current"); p.session != "" && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return at, at.notFound("session", ref, ref, at.allNames())
	}
	var names []string
	for _, p := range found {
		names = append(names, p.name())
	}
	return at, usageError{fmt.Sprintf("%s can be several sessions: name one as %s", ref, strings.Join(names, " or "))}
}

// named returns the session of an agent, or of a model, which must be there.
func (p place) named(agent, name string) (place, error) {
	p, err := p.agentNamed(agent)
	if err != nil {
		return p, err
	}
	p.session = name
	if session.CheckSessionName(name) == nil && exists(p.dir()) {
		return p, nil
	}
	return p, p.notFound("session", p.name(), name, p.names())
}

// agentNamed returns the agent of that name, else the model; NAME.d is always a model.
func (p place) agentNamed(name string) (place, error) {
	var list []string
	kinds := p.kinds()
	p.agent = strings.TrimSuffix(name, modelSuffix)
	for _, p.kind = range kinds {
		if p.kind == ofAgent && p.agent != name {
			continue
		}
		if session.CheckName(p.agent) == nil && exists(p.home()) {
			return p, nil
		}
		list = append(list, folders(filepath.Dir(p.home()))...)
	}
	return p, p.notFound(kinds[0], name, name, list)
}

// kinds are those in which a name is looked up.
func (p place) kinds() []string {
	if p.kind != "" {
		return []string{p.kind}
	}
	return []string{ofAgent, ofModel}
}

// each calls fn with every agent and model of the owner.
func (p place) each(fn func(of place)) {
	for _, kind := range p.kinds() {
		p.kind = kind
		for _, p.agent = range p.agents() {
			fn(p)
		}
	}
}

// sessionsNamed returns the sessions of that name of all agents.
func (p place) sessionsNamed(name string) (found []place) {
	if session.CheckSessionName(name) != nil {
		return nil
	}
	p.each(func(of place) {
		if of.session = name; exists(of.dir()) {
			found = append(found, of)
		}
	})
	return found
}

// allNames returns the names of all sessions of the owner.
func (p place) allNames() (names []string) {
	p.each(func(of place) { names = append(names, of.names()...) })
	return names
}

// notFound is the error of a session, agent or model that is not there: as named it was asked for as name, and list is what there is.
func (p place) notFound(what, named, name string, list []string) error {
	hint := thereAre(name, list)
	if hint == "" {
		hint = "there are none yet; ctxfs import FILE makes one, and mkdir -p " + mounts.Quote(filepath.Join(p.root, ownHome())) + "/agent/AGENT/session/SESSION"
	}
	return &session.Error{Kind: session.NotFound, Msg: fmt.Sprintf("there is no %s %s", what, named), Hint: hint}
}
