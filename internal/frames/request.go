package frames

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"ctxfs/internal/record"
)

// MaxFrame is the longest frame, in bytes without its '\n': 1 MiB. A longer one is EMSGSIZE.
const MaxFrame = 1 << 20

// MaxID is the longest id of a request, in bytes.
const MaxID = 128

// The ops of clients, and from Serve on those of agents.
const (
	Send   = "send"
	Resume = "resume"
	Follow = "follow"
	Cancel = "cancel"
	Ping   = "ping"

	Serve    = "serve"
	Delta    = "delta"
	Message  = "message"
	ToolCall = "tool_call"
	Usage    = "usage"
	Done     = "done"
	Fail     = "error"
)

// The scopes of a session (Session ABI, scope).
const (
	Private = "private"
	Shared  = "shared"
	Temp    = "temp"
)

// DefaultSession is the session of a send that names none.
const DefaultSession = "default"

// Request is a frame that was read. A field that the frame did not have is empty.
type Request struct {
	Op      string
	ID      string // the request's; of the agents' ops: the run's
	Session string
	Scope   string // never empty
	Share   string // which share, when Scope is Shared
	CWD     string
	Input   string
	After   string // a cursor
	Follow  bool   // a resume goes on with what comes

	Run     string // of the agents' ops, and of cancel where it has one
	Text    string
	HasText bool
	Status  string
	Code    string
	Name    string          // of a tool
	Content json.RawMessage // of an agent's message or tool call
	Role    string
	Tokens  [2]int64 // of usage: input, output
}

// members are the frame's fields by exact name; encoding/json would take "ID" for "id".
type members map[string]json.RawMessage

// Parse reads one frame, with or without its '\n'. The checks come in this order (docs/sockets.md): size, empty, one
// line, an object, valid JSON, op, id, session, scope and share, cwd, input, and what else the op has. The error is an
// *Error; the request then has the id, where one could be read, for the answer.
func Parse(line []byte) (Request, error) {
	m, err := object(line)
	if err != nil {
		return Request{}, err
	}
	r := Request{Scope: Private}
	if err := r.op(m); err != nil {
		_ = r.id(m, false) // only to answer with it
		return r, err
	}
	for _, read := range []func(members) error{r.ids, r.session, r.scope, r.cwd, r.input, r.cursor, r.agent} {
		if err := read(m); err != nil {
			return r, err
		}
	}
	return r, nil
}

// object does the checks of the frame as a whole.
func object(line []byte) (members, error) {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	if len(line) > MaxFrame {
		return nil, Refuse(EMSGSIZE, "a frame is at most %d bytes", MaxFrame)
	}
	line = bytes.TrimSuffix(line, []byte{'\r'})
	trimmed := bytes.Trim(line, " \t\r\n")
	if len(trimmed) == 0 {
		return nil, Refuse(EINVAL, "the frame is empty")
	}
	if bytes.ContainsAny(line, "\n\r") {
		return nil, Refuse(EINVAL, "a frame is one line")
	}
	if trimmed[0] != '{' {
		return nil, Refuse(EINVAL, "a frame is a JSON object")
	}
	if record.Check(line) != nil {
		return nil, Refuse(EINVAL, "the frame is not valid JSON")
	}
	var m members
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, Refuse(EINVAL, "the frame is not valid JSON")
	}
	return m, nil
}

// text reads a string field; ok tells whether the frame has it.
func (m members) text(key string) (s string, ok bool, err error) {
	raw, ok := m[key]
	if !ok || string(raw) == "null" {
		return "", false, nil
	}
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", true, Refuse(EINVAL, "%s must be a string", key)
	}
	return s, true, nil
}

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
	return Refuse(ENOSYS, "op %.20q is not known", op)
}

// OfAgent tells whether the op is one that an agent says about a run.
func (r *Request) OfAgent() bool {
	switch r.Op {
	case Delta, Message, ToolCall, Usage, Done, Fail:
		return true
	}
	return false
}

func (r *Request) ids(m members) error {
	if r.OfAgent() {
		return r.runID(m)
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

func checkID(what, id string) error {
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
		if !isName(share) {
			return Refuse(EINVAL, "the scope shared needs the name of a share in share, not %.20q", share)
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
