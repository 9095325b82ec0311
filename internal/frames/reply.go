package frames

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// The types of what the daemon says. Input and Cancel (the type has the op's name) go to agents, the others to clients;
// Message, Delta, ToolCall, Usage, Done and Fail have the names of the agents' ops.
const (
	Start = "start"
	Pong  = "pong"
	Input = "input"
)

// How a run ends.
const (
	StatusOK        = "ok"
	StatusError     = "error"
	StatusCancelled = "cancelled"
)

// Reply is a frame of the daemon's. ID is that of the request that it answers; an agent's input has the id of the send.
type Reply struct {
	Type    string  `json:"type"`
	ID      string  `json:"id"`
	Run     string  `json:"run,omitempty"`
	Session string  `json:"session,omitempty"`
	Scope   string  `json:"scope,omitempty"`
	Share   string  `json:"share,omitempty"`
	Agent   string  `json:"agent,omitempty"`
	Model   string  `json:"model,omitempty"`
	Replay  bool    `json:"replay,omitempty"` // of a start: the id was sent before
	UID     *uint32 `json:"uid,omitempty"`    // of an input: who sent it
	CWD     string  `json:"cwd,omitempty"`
	Path    string  `json:"path,omitempty"` // of the session in the mount

	N          int             `json:"n,omitempty"`      // a record's number
	Cursor     string          `json:"cursor,omitempty"` // to resume after this
	Role       string          `json:"role,omitempty"`
	RecordID   string          `json:"record_id,omitempty"`
	CreatedAt  string          `json:"created_at,omitempty"`
	Content    []Block         `json:"content,omitempty"`
	Truncated  bool            `json:"truncated,omitempty"`  // Path has the whole
	Incomplete bool            `json:"incomplete,omitempty"` // the run of the record ended before the answer did
	Text       string          `json:"text,omitempty"`
	CallID     string          `json:"call_id,omitempty"` // of a tool_call
	Name       string          `json:"name,omitempty"`
	ToolInput  json.RawMessage `json:"tool_input,omitempty"`
	Input      string          `json:"input,omitempty"`

	InputTokens  int64 `json:"input_tokens,omitempty"`
	OutputTokens int64 `json:"output_tokens,omitempty"`

	Code    Code   `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Status  string `json:"status,omitempty"`
}

// Encode writes a frame with its '\n'. A message that would be longer than MaxFrame has its content cut.
func Encode(r Reply) []byte {
	b := encode(r)
	for keep := MaxFrame / 2; len(b) > MaxFrame+1 && len(r.Content) > 0; keep /= 2 {
		r.Truncated = true
		r.Content = cut(r.Content, keep)
		b = encode(r)
	}
	return b
}

func encode(r Reply) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil { // only a ToolInput that is no JSON could do it, and Parse has seen that it is
		return []byte(`{"type":"error","id":"","code":"EIO","message":"a frame could not be written"}` + "\n")
	}
	return buf.Bytes()
}

// cut keeps the first bytes of a content.
func cut(content []Block, keep int) []Block {
	var out []Block
	for _, b := range content {
		if keep <= 0 {
			break
		}
		b.Input = nil
		b.Text = head(b.Text, keep)
		keep -= len(b.Text) + 64
		out = append(out, b)
	}
	return out
}

// head gives at most n bytes of s, whole characters.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Pieces cuts a text into parts that each fit into a frame.
func Pieces(text string) []string {
	var out []string
	for len(text) > MaxFrame/4 {
		p := head(text, MaxFrame/4)
		out, text = append(out, p), text[len(p):]
	}
	return append(out, text)
}
