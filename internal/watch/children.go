package watch

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ctxfs/internal/importer"
)

// Link is what context/child/ID/ of a parent's session says of a subagent.
type Link struct {
	ID              string
	Agent, Session  string // the subagent's session
	Status          string // ChildActive, importer.AgentDone or importer.AgentFailed
	Handoff, Result string // "" when there is none
}

// ChildActive is the status of a subagent whose turn goes on, as far as is known.
const ChildActive = "active"

// File is a file of context/child/ID/.
type File struct{ Name, Text string }

// The file with a child's status. It is written last: a child without it was not linked completely.
const statusFile = "status"

// LinkOf returns the link to the session of a subagent's log.
func LinkOf(c *importer.Child, agent, session string) Link {
	l := Link{ID: c.ID, Agent: agent, Session: session, Status: ChildActive, Handoff: c.Handoff, Result: c.Result}
	if c.Ended {
		l.Status = importer.AgentDone
	}
	return l
}

// Changes returns the files that must be written, in this order, where context/child/ID/ holds have. A status never goes back:
// the log of the child and that of its parent both say when it ended, and either may be read first.
func (l Link) Changes(have map[string]string) []File {
	if rank(strings.TrimSpace(have[statusFile])) > rank(l.Status) {
		l.Status = strings.TrimSpace(have[statusFile])
	}
	var list []File
	for _, f := range []File{{"agent", line(l.Agent)}, {"session", line(l.Session)}, {"handoff.md", line(l.Handoff)}, {"result.md", line(l.Result)}, {statusFile, line(l.Status)}} {
		if f.Text != "" && have[f.Name] != f.Text {
			list = append(list, f)
		}
	}
	return list
}

func rank(status string) int {
	switch status {
	case importer.AgentDone:
		return 2
	case importer.AgentFailed:
		return 1
	}
	return 0
}

// line ends a text that is not empty with '\n'.
func line(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// Subagents names the folder below that of a session of Claude Code with the logs of its subagents.
const Subagents = "subagents"

// SessionOf returns the log of the session that a subagent's log belongs to: SESSION.jsonl for SESSION/subagents/agent-ID.jsonl,
// or for one in a folder of subagents. ok is false for another path.
func SessionOf(path string) (parent string, ok bool) {
	if !IsAgentLog(path) {
		return "", false
	}
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == Subagents {
			return filepath.Dir(dir) + ".jsonl", true
		}
	}
	return "", false
}

// ParentOf returns where the log of a subagent's parent is. Versions before 2.1 kept both in one folder.
func ParentOf(path string, c *importer.Child) string {
	if parent, ok := SessionOf(path); ok {
		return parent
	}
	return filepath.Join(filepath.Dir(path), filepath.Base(c.Parent)+".jsonl")
}

// parentage is what a follower knows of the session that its log, a subagent's, belongs to.
type parentage struct {
	Log string `json:"parent_log,omitempty"`     // of the parent
	ID  string `json:"parent_session,omitempty"` // the id of the parent's session when the child was linked; "" when there was none
}

// link brings context/child/ of the parent's session up to date with a subagent's log, and with what the log of a parent says of its
// subagents.
func (f *follower) link() error {
	if f.sink.Session() == nil {
		return nil
	}
	rep := f.stream.Report()
	if err := f.returned(rep.Agents); err != nil || rep.Child == nil {
		return err
	}
	link := LinkOf(rep.Child, f.sink.Agent(), f.sink.Name())
	f.parent.Log = ParentOf(f.log.path, rep.Child)
	var parent string
	if parent, f.parent.ID = f.w.sessionOf(f.sink.Agent(), f.parent.Log); parent == "" {
		return nil
	}
	have, err := f.w.store.Child(f.sink.Agent(), parent, link.ID)
	if err != nil {
		return passOver(err)
	}
	if have[statusFile] == "" && link.Status == ChildActive {
		if said := f.w.says(f.parent.Log, link.ID); said != "" {
			link.Status = said
		}
	}
	return f.w.write(f.sink.Agent(), parent, link, have)
}

// passOver drops the errors of a child that cannot be linked: its id is no name, or its parent's session was deleted just now.
func passOver(err error) error {
	if errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// returned enters the status of subagents that returned since the last call. Those that are not linked yet ask for it then.
func (f *follower) returned(agents map[string]string) error {
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		if f.agents[id] == agents[id] {
			continue
		}
		have, err := f.w.store.Child(f.sink.Agent(), f.sink.Name(), id)
		if err == nil && len(have) > 0 {
			err = f.w.write(f.sink.Agent(), f.sink.Name(), Link{ID: id, Status: agents[id]}, have)
		}
		if err = passOver(err); err != nil {
			return err
		}
		if f.agents == nil {
			f.agents = map[string]string{}
		}
		f.agents[id] = agents[id]
	}
	return nil
}

func (w *Watcher) write(agent, parent string, l Link, have map[string]string) error {
	files := l.Changes(have)
	if len(files) == 0 {
		return nil
	}
	return passOver(w.store.SetChild(agent, parent, l.ID, files))
}

// sessionOf returns the session of the log at a path: its name, "" when it is not there, and the id that it has or had.
func (w *Watcher) sessionOf(agent, path string) (name, id string) {
	if f := w.logs[path]; f != nil && f.sink != nil && f.sink.Session() != nil {
		if mark, err := f.sink.Session().Mark(); err == nil {
			return f.sink.Name(), mark.ID
		}
	}
	return w.named(agent, path), w.state.logs[path].Mark.ID
}

// says returns what a parent's log says of a subagent's status. A log that is not followed now is read for it.
func (w *Watcher) says(path, id string) string {
	if f := w.logs[path]; f != nil && f.stream != nil {
		return f.stream.Report().Agents[id]
	}
	return AgentStatus(path, id)
}

// AgentStatus returns what a parent's log says of a subagent's status; "" when it says nothing, or cannot be read.
func AgentStatus(path, id string) string {
	file, err := openLog(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	rep, _ := importer.Import(file, importer.ClaudeCode, nowhere{}, nil) // as far as it can be read
	return rep.Agents[id]
}

// nowhere is an importer.Sink that keeps nothing.
type nowhere struct{}

func (nowhere) Message([]byte) error        { return nil }
func (nowhere) Event([]byte) error          { return nil }
func (nowhere) Blob([]byte) (string, error) { return "", nil }

// orphaned reports whether the parent's session of a subagent's log came since the log was read.
func (f *follower) orphaned() bool {
	if f.stream == nil || f.parent.Log == "" {
		return false
	}
	p := f.w.logs[f.parent.Log]
	if p == nil || p.sink == nil || p.sink.Session() == nil {
		return false
	}
	mark, err := p.sink.Session().Mark()
	return err == nil && mark.ID != f.parent.ID
}

// parentsFirst sorts logs so that those of subagents come last: then they find the sessions of their parents.
func parentsFirst(list []found) {
	slices.SortStableFunc(list, func(a, b found) int {
		switch x, y := IsAgentLog(a.path), IsAgentLog(b.path); {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	})
}

// IsAgentLog reports whether a log has the name of one of a subagent.
func IsAgentLog(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, "agent-") && strings.HasSuffix(name, ".jsonl")
}
