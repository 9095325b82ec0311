// Package record reads one line of messages.jsonl: a JSON object that an agent appended. It understands the
// message shapes in common use (OpenAI chat messages, Anthropic content blocks, and the wrapped lines of
// coding agents) and gives them one form. It is a ground-floor room: it knows no other package of ctxfs.
package record

import "time"

// Record is one parsed line. A Record is immutable once parsed; its strings are copies, not views of the log.
type Record struct {
	N      int       // number in the log, from 1; `messages:12` names record 12
	Off    int64     // byte offset of the line in the log
	Len    int       // length of the line in bytes, its '\n' included
	ID     string    // the id that the writer gave ("id", else "uuid"); may be empty
	Parent string    // the id of the record that this one answers, where the writer said so
	Role   string    // user, assistant, tool, system, developer, ... ; empty when the line has none
	Name   string    // the speaker or the tool, where the writer said so
	Type   string    // the line's own "type" field, as written
	Time   time.Time // when it was written, by the writer's own account; zero when unknown
	Blocks []Block   // the content, in order; empty for a line that holds no message
	// Compaction marks the place where a runtime replaced what stands before by this record's text.
	Compaction bool
	// Sidechain marks a record of a child agent that was logged among the parent's.
	Sidechain bool
	// Meta marks a record that a program wrote in the speaker's name: a runtime's caveat, a local command's
	// output, instructions that are sent along ("is_meta", "isMeta").
	Meta bool
	// Incomplete marks an answer that ended early: its run failed, was cancelled or broke off ("incomplete").
	Incomplete bool
	// Replayed marks a record that a forked session repeats from its parent ("replayed").
	Replayed bool
	// Visibility lists the targets that may see the record, where its writer said so ("visibility": Agent Context's words:
	// model, tool, user, reviewer, ...); nil: all.
	Visibility []string
}

// BlockKind says what a Block is.
type BlockKind uint8

// The kinds of block. The names are those of the provider APIs.
const (
	Text       BlockKind = iota + 1 // words of the speaker
	Thinking                        // reasoning; its text may be empty (signed or encrypted)
	ToolUse                         // a call: CallID, Name, Input
	ToolResult                      // its answer: CallID, Text, IsError
	Image                           // a picture or other media: MediaType, Bytes, Ref; never its data
	Other                           // a block of a type not known here; Text is its JSON
)

// Block is one part of a record's content.
type Block struct {
	Kind      BlockKind
	Text      string // the words, the reasoning, the tool's output or the raw JSON of an unknown block
	CallID    string // ties a ToolUse to its ToolResult
	Name      string // the tool's name
	Input     string // ToolUse: the arguments, as JSON text
	IsError   bool   // ToolResult: the tool failed
	MediaType string // Image: as "image/png"
	Bytes     int    // Image: size of the decoded data, 0 when unknown
	Ref       string // Image: where the data is (a blob id, a path or a URL), empty when inline
}

// IsInstructions reports whether r is what a program sends to the model at the start of every session: its prompt, its tools'
// manuals, AGENTS.md, the state of the machine ("is_meta" and the type "instructions").
func (r *Record) IsInstructions() bool { return r.Meta && r.Type == "instructions" }

// IsUser tells whether r is words from the person or program that the agent serves: not a tool's result in a
// user's record, not a runtime's own note.
func (r *Record) IsUser() bool {
	if r.Role != "user" || r.Compaction || r.Sidechain || r.Meta {
		return false
	}
	for i := range r.Blocks {
		if k := r.Blocks[i].Kind; k == Text || k == Image {
			return true
		}
	}
	return false
}

// Words joins the text blocks of r by blank lines: what was said, without thinking, calls and results.
func (r *Record) Words() string {
	var out []byte
	for i := range r.Blocks {
		b := &r.Blocks[i]
		if b.Kind != Text || b.Text == "" {
			continue
		}
		if len(out) > 0 {
			out = append(out, '\n', '\n')
		}
		out = append(out, b.Text...)
	}
	return string(out)
}

// Calls lists the ids of the tool calls that r makes, and Results those that it answers.
func (r *Record) Calls() []string   { return r.callIDs(ToolUse) }
func (r *Record) Results() []string { return r.callIDs(ToolResult) }

func (r *Record) callIDs(kind BlockKind) []string {
	var ids []string
	for i := range r.Blocks {
		if b := &r.Blocks[i]; b.Kind == kind && b.CallID != "" {
			ids = append(ids, b.CallID)
		}
	}
	return ids
}
