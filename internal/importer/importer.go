// Package importer turns the log that a coding agent left into ctxfs records: messages for messages.jsonl, events for
// events.jsonl, pictures for the blob store. It reads a stream and writes to a Sink; it opens no file and keeps no
// state between imports. One conversation is one session; most logs hold one. The same bytes in give the same bytes out.
//
// A log is lines of JSON, or one JSON document, or text: see read.go. Every JSON object of it (of a document: every
// element of its list of messages) is a source record and has exactly one fate (a message, part of a message, an event,
// or skipped for a named reason), and Report adds them up: see Report.Check.
//
// What the formats look like, and their traps: the file of each, claude.go, codex.go, copilot.go, ...
package importer

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Sink takes what an import writes, in order. Lines are JSON objects without '\n'; the Sink may keep them.
type Sink interface {
	// Message takes a line for messages.jsonl.
	Message(line []byte) error
	// Event takes a line for events.jsonl.
	Event(line []byte) error
	// Blob keeps data (a decoded image or document) and returns its reference, as "blake3-<hex>". It is called
	// before the record that names it.
	Blob(data []byte) (ref string, err error)
}

// Format names a kind of log.
type Format string

// The formats that are understood, and where their programs leave them.
const (
	ClaudeCode Format = "claude-code" // ~/.claude/projects/<cwd>/<session>.jsonl
	Codex      Format = "codex"       // ~/.codex/sessions/<date>/rollout-<time>-<session>.jsonl
	CopilotCLI Format = "copilot-cli" // ~/.copilot/session-state/<session>/events.jsonl
	Aider      Format = "aider"       // .aider.chat.history.md
	GeminiCLI  Format = "gemini-cli"  // ~/.gemini/tmp/<project>/chats/session-<time>-<session>.json or .jsonl
	Messages   Format = "messages"    // lists of messages as the APIs of OpenAI and Anthropic take them; tau-bench
	OpenCode   Format = "opencode"    // what `opencode export <session>` prints
	OpenHands  Format = "openhands"   // trajectories, and output.jsonl of its evaluations and its resolver
	Pi         Format = "pi"          // ~/.pi/agent/sessions/<cwd>/<time>_<session>.jsonl
	SWEAgent   Format = "swe-agent"   // trajectories/.../<instance>.traj
)

// handler knows one format. It is made for one session.
type handler interface {
	// isRecord tells whether o can be a record of this format. Detect and the salvage of torn lines ask it; o may
	// lack its last members.
	isRecord(o object) bool
	// starts lists how a record of this format begins, to find one behind a torn line.
	starts() []string
	// record takes one object of the log and says what became of it.
	record(src source) (outcome, error)
	// end writes what was held back.
	end() error
}

// format is one entry of the list of formats.
type format struct {
	name Format
	make func(*writer) handler
}

// formats lists what is understood.
func formats() []format {
	return []format{
		{ClaudeCode, newClaude},
		{Codex, newCodex},
		{CopilotCLI, newCopilot},
		{GeminiCLI, newGemini},
		{OpenCode, newOpenCode},
		{Pi, newPi},
		{OpenHands, newOpenHands},
		{SWEAgent, newSWE},
		{Messages, newMessages},
		{Aider, newAider},
	}
}

// Formats lists the names of what is understood.
func Formats() []string {
	var list []string
	for _, f := range formats() {
		list = append(list, string(f.name))
	}
	return list
}

func formatOf(f Format) (format, error) {
	for _, k := range formats() {
		if k.name == f {
			return k, nil
		}
	}
	return format{}, fmt.Errorf("%w: %q; understood are %s", ErrFormat, f, names())
}

func names() string { return strings.Join(Formats(), ", ") }

// ErrFormat is the reason why a log cannot be imported: it is in no format that is understood here.
var ErrFormat = errors.New("not a session log of a known format")

// ErrSeveral is the reason why a log cannot be imported as one session: it holds several. ImportAll takes them.
var ErrSeveral = errors.New("the log holds more than one session")

// Import reads r whole as one session in format f and writes it to s. onProgress, which may be nil, is told the
// number of bytes consumed so far. What cannot be read is no error: it becomes an event of type "import_error" and is
// counted in Report.Bad. Errors are those of r and s, ErrFormat and ErrSeveral; the Report then tells how far the import
// came.
func Import(r io.Reader, f Format, s Sink, onProgress func(bytes int64)) (Report, error) {
	begun := false
	list, err := ImportAll(r, f, func(string) (Sink, error) {
		if begun {
			return nil, ErrSeveral
		}
		begun = true
		return s, nil
	}, onProgress)
	if len(list) == 0 {
		return newWriter(s, f).report(), err
	}
	return list[0], err
}

// ImportAll is Import for logs that may hold several sessions. open is asked for each session's Sink before anything of
// it is written; label tells the sessions of one log apart, and is "" when there is one. A log of nothing has no session.
func ImportAll(r io.Reader, f Format, open func(label string) (Sink, error), onProgress func(bytes int64)) ([]Report, error) {
	k, err := formatOf(f)
	if err != nil {
		return nil, err
	}
	d := newReader(k, open, onProgress)
	err = d.readAll(r)
	if err == nil {
		err = d.end()
	}
	if err != nil {
		err = fmt.Errorf("import %s: %w", f, err)
		if d.w != nil {
			d.reports = append(d.reports, d.report())
		}
	}
	return d.reports, err
}
