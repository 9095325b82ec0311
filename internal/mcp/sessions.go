package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Session is one session, as its files say.
type Session struct {
	Session string `json:"session" jsonschema:"path of the session's folder in the mount"`
	Name    string `json:"name" jsonschema:"short name: AGENT/SESSION"`
	State   string `json:"state" jsonschema:"idle, active, done or error"`
	CWD     string `json:"cwd,omitempty"`
	Updated string `json:"updated_at" jsonschema:"RFC 3339"`
}

// errNoSession: a name leads to no session.
var errNoSession = errors.New("no such session")

// find gives the folder, in the mount, of a session that a client names: AGENT/SESSION, AGENT for its current session, or a path.
func (s *Server) find(name string) (string, error) {
	parts := strings.Split(strings.Trim(name, "/"), "/")
	dir := ""
	switch {
	case len(parts) >= 5 && (parts[0] == "home" || parts[0] == "shared"):
		dir = path.Join(parts...)
	case len(parts) == 2:
		dir = path.Join(s.home(), "agent", parts[0], "session", parts[1])
	case len(parts) == 1 && parts[0] != "":
		sessions := path.Join(s.home(), "agent", parts[0], "session")
		current, err := s.value(sessions, "index/current")
		if errors.Is(err, ErrNotMounted) {
			return "", err
		}
		if err == nil && current != "" {
			dir = path.Join(sessions, current)
		}
	}
	if !isSession(dir) {
		return "", s.unknown(name)
	}
	if _, err := s.root.Stat(dir); errors.Is(err, ErrNotMounted) {
		return "", err
	} else if err != nil {
		return "", s.unknown(name)
	}
	return dir, nil
}

// maxNamed is how many sessions an error lists.
const maxNamed = 10

// unknown is the error of a name that leads to no session. It lists the agent's sessions, else the newest of all.
func (s *Server) unknown(name string) error {
	agent, _, _ := strings.Cut(strings.Trim(name, "/"), "/")
	list, err := s.sessions(agent, maxNamed)
	if err == nil && len(list) == 0 {
		list, err = s.sessions("", maxNamed)
	}
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("%q: %w: there is none yet (append with create makes AGENT/SESSION)", name, errNoSession)
	}
	var names []string
	for _, x := range list {
		names = append(names, x.Name)
	}
	return fmt.Errorf("%q: %w: a session is AGENT/SESSION, AGENT for its current one, or a path in the mount; there are %s (the tool sessions lists more)", name, errNoSession, strings.Join(names, ", "))
}

// isSession tells whether a clean path is one of a session's folder (Session ABI, Paths).
func isSession(dir string) bool {
	p := strings.Split(dir, "/")
	return len(p) == 6 && path.Clean(dir) == dir && (p[0] == "home" || p[0] == "shared") && (p[2] == "agent" || p[2] == "model") &&
		(p[4] == "session" || p[4] == "temp") && p[5] != "" && p[5] != ".." && p[5] != "index"
}

// shortName is how people name a session of their own.
func (s *Server) shortName(dir string) string {
	rest, own := strings.CutPrefix(dir, s.home()+"/agent/")
	agent, name, ok := strings.Cut(rest, "/session/")
	if !own || !ok {
		return dir
	}
	return agent + "/" + name
}

// value reads a file of one line.
func (s *Server) value(dir, name string) (string, error) {
	data, err := s.read(path.Join(dir, name))
	return strings.TrimSuffix(string(data), "\n"), err
}

// sessions lists the newest sessions that the user has, and those of shares, of one agent or ("") of all.
func (s *Server) sessions(agent string, limit int) ([]Session, error) {
	list := []Session{}
	err := s.folders(agent, func(dir string) { list = append(list, s.ofAgent(dir, limit)...) })
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b Session) int { return strings.Compare(b.Updated, a.Updated) })
	return list[:min(limit, len(list))], nil
}

// folders has see each folder of sessions, of one agent or ("") of all.
func (s *Server) folders(agent string, see func(dir string)) error {
	for _, owner := range s.owners() {
		for _, kind := range []string{"agent", "model"} {
			agents, err := s.names(path.Join(owner, kind))
			if err != nil {
				return err
			}
			for _, a := range agents {
				if agent == "" || strings.TrimSuffix(a, ".d") == agent {
					see(path.Join(owner, kind, a, "session"))
				}
			}
		}
	}
	return nil
}

// indexes tells what sessions there are, in their order: the same text while none comes, goes, or is written to after another was.
func (s *Server) indexes() string {
	var b strings.Builder
	err := s.folders("", func(dir string) {
		index, _ := s.read(path.Join(dir, "index/list")) // none yet
		fmt.Fprintf(&b, "%s\n%s\n", dir, index)
	})
	if err != nil {
		return err.Error()
	}
	return b.String()
}

// ofAgent lists the newest sessions in a folder, in the order of its index. One that is gone by now is left out.
func (s *Server) ofAgent(dir string, limit int) (list []Session) {
	index, _ := s.read(path.Join(dir, "index/list"))
	for _, name := range strings.Fields(string(index)) {
		if len(list) == limit {
			break
		}
		at := path.Join(dir, name)
		updated, err := s.value(at, "updated_at")
		if err != nil {
			continue
		}
		x := Session{Session: at, Name: s.shortName(at), Updated: updated}
		x.State, _ = s.value(at, "state")
		x.CWD, _ = s.value(at, "cwd")
		list = append(list, x)
	}
	return list
}

// owners are the parts of the mount that the user may look into.
func (s *Server) owners() []string {
	owners := []string{s.home()}
	shares, _ := s.names("shared") // none: there are no shares
	for _, name := range shares {
		owners = append(owners, path.Join("shared", name))
	}
	return owners
}

// names lists the folders in a folder; none when it is not there, or closed to the user.
func (s *Server) names(dir string) ([]string, error) {
	f, err := s.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, err
}
