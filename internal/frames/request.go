package frames

import (
	"bytes"
	"encoding/json"

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

// DefaultSession is the session of a request that names none.
const DefaultSession = "default"

// Request is a frame that was read. A field that the frame did not have is empty.
type Request struct {
	Op      string
	ID      string // the request's; of the agents' ops: the run's
	Session string
	Scope   string // never empty
	Share   string // which share, when Scope is Shared; "": the frame does not say
	CWD     string
	Input   string
	After   string // a cursor, a record number or a record id
	Follow  bool   // a resume goes on with what comes

	Run     string // of the agents' ops, and of cancel where it has one
	ItemID  string // of an agent's message or tool call: its own id
	CallID  string // of an agent's message: the tool call that it answers
	IsError bool   // of an agent's message: the tool failed
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
