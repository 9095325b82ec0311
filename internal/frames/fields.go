package frames

import (
	"strings"
	"unicode/utf8"
)

func (r *Request) op(m members) error {
	op, ok, err := m.text("op")
	if err != nil {
		return err
	}
	if !ok {
		return Refuse(EINVAL, "op is missing")
	}
	switch op {
	case Send, Resume, Follow, Cancel, Ping, Serve, Delta, Message, ToolCall, Usage, Done, Fail:
		r.Op = op
		return nil
	}
	return Refuse(EINVAL, "op %.20q is not known", op)
}

// OfAgent reports whether an agent process sends the op about one of its runs.
func (r *Request) OfAgent() bool {
	switch r.Op {
	case Delta, Message, ToolCall, Usage, Done, Fail:
		return true
	}
	return false
}

func (r *Request) ids(m members) error {
	if r.OfAgent() {
		return r.agentIDs(m)
	}
	if err := r.id(m, r.Op == Send || r.Op == Cancel); err != nil {
		return err
	}
	if r.Op == Cancel {
		_, ok, _ := m.text("run")
		if ok {
			return r.runID(m)
		}
	}
	return nil
}

// agentIDs reads the ids of an agent's frame: the run, and of a message or tool call its own id. Errors are answered under
// the run.
func (r *Request) agentIDs(m members) error {
	if err := r.runID(m); err != nil || r.Op != Message && r.Op != ToolCall {
		return err
	}
	for _, f := range []struct {
		key string
		to  *string
	}{{"id", &r.ItemID}, {"tool_call_id", &r.CallID}} {
		id, ok, err := m.text(f.key)
		if err == nil && ok {
			err = checkText(f.key, id)
		}
		if err != nil {
			return err
		}
		*f.to = id
	}
	return nil
}

func (r *Request) runID(m members) error {
	run, ok, err := m.text("run")
	if err != nil {
		return err
	}
	if !ok {
		return Refuse(EINVAL, "run is missing")
	}
	if err := checkID("run", run); err != nil {
		return err
	}
	r.Run = run
	if r.ID == "" {
		r.ID = run
	}
	return nil
}

func (r *Request) id(m members, needed bool) error {
	id, ok, err := m.text("id")
	if err != nil {
		return err
	}
	if !ok {
		if needed {
			return Refuse(EINVAL, "id is missing")
		}
		return nil
	}
	if err := checkID("id", id); err != nil {
		return err
	}
	r.ID = id
	return nil
}

// checkID checks an id that a client chooses. A slash is refused: an id may name a file in other programs of the Session ABI.
func checkID(what, id string) error {
	if strings.Contains(id, "/") {
		return Refuse(EINVAL, "%s has a slash", what)
	}
	return checkText(what, id)
}

// checkText checks the length and the characters of an id. The ids of tool calls come from models and may have a slash.
func checkText(what, id string) error {
	if id == "" || len(id) > MaxID {
		return Refuse(EINVAL, "%s is 1 to %d bytes", what, MaxID)
	}
	for _, c := range id {
		if c < 0x20 || c == 0x7f || c == utf8.RuneError {
			return Refuse(EINVAL, "%s has a control character", what)
		}
	}
	return nil
}

func (r *Request) session(m members) (err error) {
	var ok bool
	if r.Session, ok, err = m.text("session"); err != nil {
		return err
	}
	if ok && !isName(r.Session) || r.Session == "index" {
		return Refuse(EINVAL, "session %.20q is not a name", r.Session)
	}
	return nil
}

func (r *Request) scope(m members) error {
	scope, ok, err := m.text("scope")
	if err != nil {
		return err
	}
	if ok {
		r.Scope = scope
	}
	share, named, err := m.text("share")
	if err != nil {
		return err
	}
	switch r.Scope {
	case Private, Temp:
		if named {
			return Refuse(EINVAL, "share is for the scope shared")
		}
	case Shared:
		if named && !isName(share) {
			return Refuse(EINVAL, "share %.20q is not a name", share)
		}
		r.Share = share
	default:
		return Refuse(EINVAL, "scope is private, shared or temp, not %.20q", r.Scope)
	}
	return nil
}

func (r *Request) cwd(m members) error {
	cwd, ok, err := m.text("cwd")
	if err != nil {
		return err
	}
	if ok && (!strings.HasPrefix(cwd, "/") || strings.ContainsAny(cwd, "\x00\n")) {
		return Refuse(EINVAL, "cwd is an absolute path in the agent's root")
	}
	r.CWD = cwd
	return nil
}

func (r *Request) input(m members) error {
	if r.Op != Send {
		return nil
	}
	input, ok, err := m.text("input")
	if err != nil {
		return err
	}
	if !ok || input == "" {
		return Refuse(EINVAL, "input is missing")
	}
	if strings.ContainsRune(input, 0) {
		return Refuse(EINVAL, "input has a NUL")
	}
	r.Input = input
	return nil
}

// isName is the rule of names (design: section 2).
func isName(s string) bool {
	if s == "" || len(s) > 64 || strings.HasSuffix(s, ".sock") || strings.HasSuffix(s, ".d") {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._+-", rune(c))) {
			return false
		}
	}
	return true
}
