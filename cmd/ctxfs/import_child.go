package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ctxfs/internal/importer"
	"ctxfs/internal/watch"
)

// source is a log that is imported, and the name of its session.
type source struct{ path, session string }

// sources lists the files with the subagents of each, those last: they find the sessions of their parents. A subagent's log that is
// named too comes once.
func (f *importFlags) sources(files []string) []source {
	var list []source
	seen := map[string]bool{}
	for _, name := range files {
		list = append(list, source{name, orElse(f.session, sessionName(name))})
		seen[filepath.Clean(name)] = true
	}
	for _, parent := range slices.Clone(list) {
		for _, path := range f.subagents(parent.path) {
			if !seen[path] {
				list = append(list, source{path, labelled(parent.session, strings.TrimSuffix(filepath.Base(path), ".jsonl"))})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b source) int { return agentRank(a.path) - agentRank(b.path) })
	return list
}

func agentRank(path string) int {
	if watch.IsAgentLog(path) {
		return 1
	}
	return 0
}

// subagents lists the logs of the subagents of a session of Claude Code, by its log.
func (f *importFlags) subagents(log string) (list []string) {
	stem, ok := strings.CutSuffix(log, ".jsonl")
	if !ok || f.format != "" && f.format != string(importer.ClaudeCode) {
		return nil
	}
	_ = filepath.WalkDir(filepath.Join(stem, watch.Subagents), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && watch.IsAgentLog(path) {
			list = append(list, filepath.Clean(path))
		}
		return nil // what cannot be read has no logs that could be imported
	})
	return list
}

// family knows the sessions of the logs that were imported by a command.
type family map[string]imported // by the paths of the logs

// link brings context/child/ of the parent's session up to date with the log of a subagent, and returns the parent's directory; "" when
// its session is not there.
func (all family) link(done imported) (parent string, err error) {
	child := done.Report.Child
	log := watch.ParentOf(done.File, child)
	p, ok := all[filepath.Clean(log)]
	if !ok {
		p.Session = filepath.Join(filepath.Dir(done.Session), sessionName(log))
		if !isSessionOf(p.Session, child.Parent) {
			return "", nil
		}
	}
	// Both are in the folder of one agent: AGENT/session/SESSION.
	link := watch.LinkOf(child, filepath.Base(filepath.Dir(filepath.Dir(done.Session))), filepath.Base(done.Session))
	have, err := readChild(p.Session, child.ID)
	if errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if link.Status == watch.ChildActive {
		link.Status = orElse(watch.AgentStatus(log, child.ID), link.Status)
	}
	files := link.Changes(have)
	if len(files) == 0 {
		return p.Session, nil
	}
	return p.Session, writeChild(p.Session, child.ID, files)
}

// isSessionOf reports whether a session is there, and its meta.json does not name another session of the program's.
func isSessionOf(dir, id string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "meta.json")) // #nosec G304 -- a session of the user's
	if err != nil {
		return false
	}
	var meta struct {
		ClientSession any `json:"client_session"`
	}
	_ = json.Unmarshal(data, &meta) // then it names none
	return meta.ClientSession == nil || meta.ClientSession == id
}
