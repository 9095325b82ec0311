package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Export says what is exported.
type Export struct {
	Messages  io.ReadSeeker // the lines of a messages.jsonl
	Events    io.Reader     // otel: the lines of an events.jsonl; may be nil
	Name      string        // of the session, for people
	SessionID string        // for the formats that have one
	CWD       string        // where the session worked; may be empty
	Content   bool          // otel: what was said, too
	// Blob gives the data of a blob; an error leaves the reference.
	Blob func(ref string) ([]byte, error)
}

// Exported is what an export did.
type Exported struct {
	Messages int            // written
	LeftOut  map[string]int // what the format has no place for: number of records or blocks
	fate     string         // of what is in LeftOut
}

// String returns a line with what was left out, "" when nothing was.
func (r Exported) String() string {
	if len(r.LeftOut) == 0 {
		return ""
	}
	return fmt.Sprintf("%s written, %s %s", plural(r.Messages, "message"), reasons(r.LeftOut), r.fate)
}

// outForm is one form that records are exported in.
type outForm interface {
	begin() error
	message(s *utterance) error
	end() error
}

// Exports lists the forms that Write knows.
func Exports() []string { return []string{"openai", "anthropic", "claude-code", "markdown", "otel"} }

// Write writes a session to w in a form of Exports: as messages of OpenAI's or Anthropic's API, as a log of Claude Code,
// or for people to read. It reads records of any shape that ctxfs understands, not only imported ones. What the form has
// no place for is left out and counted. Errors are those of w and of reading, and ErrFormat.
//
// Reading back what was written gives the same records as far as the form goes (docs/import.md has the fields of each).
func (x Export) Write(w io.Writer, form string) (Exported, error) {
	e := &exporter{in: x, w: bufio.NewWriterSize(w, 1<<16), rep: Exported{LeftOut: map[string]int{}, fate: "left out"}, inline: map[string][]byte{}}
	e.norm = newMessages(newWriter(e, Messages)).(*messages)
	var s outForm
	switch form {
	case "openai":
		s = &openAI{exporter: e}
	case "anthropic":
		s = &anthropic{exporter: e}
	case "claude-code":
		s = &claudeLog{exporter: e}
	case "markdown":
		s = &markdown{exporter: e}
	case "otel":
		s = &otel{exporter: e}
	default:
		return e.rep, fmt.Errorf("%w: cannot export %q; there are %s", ErrFormat, form, strings.Join(Exports(), ", "))
	}
	if err := e.all(s); err != nil {
		return e.rep, err
	}
	return e.rep, e.w.Flush()
}

// exporter is one export. It is also the Sink of the handler that gives records one shape: inline data stays at hand.
type exporter struct {
	in     Export
	w      *bufio.Writer
	rep    Exported
	norm   *messages
	inline map[string][]byte
	quiet  bool // leave counts nothing: the record is counted as a whole
}

func (e *exporter) Message([]byte) error { return nil }
func (e *exporter) Event([]byte) error   { return nil }

// Blob names inline data for as long as its record is written.
func (e *exporter) Blob(data []byte) (string, error) {
	ref := "inline-" + fmt.Sprint(len(e.inline))
	e.inline[ref] = data
	return ref, nil
}

func (e *exporter) all(s outForm) error {
	if err := s.begin(); err != nil {
		return err
	}
	if err := e.each(func(line []byte, n int) error { return e.line(s, line, n) }); err != nil {
		return err
	}
	return s.end()
}

// each calls fn with each line of the messages that is not blank, and its number.
func (e *exporter) each(fn func(line []byte, n int) error) error {
	return eachLine(e.in.Messages, "messages", func(line []byte, n int) error {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		clear(e.inline)
		return fn(bytes.ToValidUTF8(line, []byte("\uFFFD")), n)
	})
}

// eachLine calls fn with each line of a log, and its number; errors name the line.
func eachLine(log io.Reader, name string, fn func(line []byte, n int) error) error {
	r := bufio.NewReaderSize(log, 1<<16)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if werr := fn(line, n); werr != nil {
			return fmt.Errorf("%s:%d: %w", name, n, werr)
		}
		if err == io.EOF {
			return nil
		}
	}
}

func (e *exporter) line(s outForm, line []byte, n int) error {
	m, err := e.read(line, n)
	if err != nil {
		return err
	}
	if m == nil {
		e.rep.LeftOut["records that are no messages"]++
		return nil
	}
	return s.message(m)
}

func (e *exporter) leave(what string) {
	if !e.quiet {
		e.rep.LeftOut[what]++
	}
}

// utterance is a record in the form that exports start from: its content is a list of blocks as an import writes them.
type utterance struct {
	n                                      int // of the record
	id, role, name, created, parent, model string
	typ                                    string
	usage                                  json.RawMessage
	sidechain, meta                        bool
	content                                []json.RawMessage
	native                                 object
}

// read gives a record in that form, nil for one that is no message.
func (e *exporter) read(line []byte, n int) (*utterance, error) {
	if !json.Valid(line) {
		return nil, nil
	}
	o := parseObject(line)
	m := o
	if o.str("role") == "" {
		m = o.obj("message") // as coding agents wrap it
	}
	if m.str("role") == "" {
		return nil, nil
	}
	if m.str("role") == "toolResult" { // pi's
		m = append(object{{"role", quote("tool")}, {"tool_call_id", m.get("toolCallId")}, {"is_error", m.get("isError")}}, m.without("role")...)
	}
	content, err := e.norm.blocks(m)
	if err != nil || len(content) == 0 {
		return nil, err
	}
	return &utterance{n: n, id: firstSet(o.str("id"), o.str("uuid")), role: m.str("role"), name: o.str("name"), created: created(o),
		parent: firstSet(o.str("parent"), o.str("parent_id"), o.str("parentUuid")), model: firstSet(o.str("model"), m.str("model")),
		typ: o.str("type"), usage: firstSaid(o.get("usage"), m.get("usage")), sidechain: o.truth("sidechain") || o.truth("isSidechain"),
		meta: o.truth("is_meta") || o.truth("isMeta"), content: content, native: o.obj("native")}, nil
}

// compaction tells whether a record stands for what is before it.
func (s *utterance) compaction() bool { return s.typ == "compaction" }

// put writes one line.
func (e *exporter) put(line []byte) error {
	_, err := e.w.Write(line)
	return err
}

// Origin finds out of the events of an imported session what its own id was, and where it worked; "" for what they do not say.
func Origin(events io.Reader) (sessionID, cwd string, err error) {
	r := bufio.NewReaderSize(events, 1<<16)
	for range 1000 { // it stands near the beginning
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return "", "", err
		}
		data := parseObject(line).obj("data")
		info := data.obj("info")
		sessionID = firstSet(sessionID, data.str("sessionId"), info.str("id"), data.str("session_id"))
		if oneOf(parseObject(line).str("type"), "session", "session_meta") {
			sessionID = firstSet(sessionID, data.str("id"))
		}
		cwd = firstSet(cwd, data.str("cwd"), data.obj("context").str("cwd"), info.str("directory"))
		if err == io.EOF || sessionID != "" && cwd != "" {
			break
		}
	}
	return sessionID, cwd, nil
}
