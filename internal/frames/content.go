package frames

import (
	"encoding/json"

	"ctxfs/internal/record"
)

// Block is a part of a message's content, in the shape of the provider APIs.
type Block struct {
	Type      string          `json:"type"` // text, thinking, tool_use, tool_result, image, or other
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"` // of a tool's call
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	MediaType string          `json:"media_type,omitempty"`
}

// FromRecord makes the message frame of a record. ID, Run and Path are the caller's to fill in.
func FromRecord(r *record.Record, cursor string) Reply {
	m := Reply{Type: Message, N: r.N, Cursor: cursor, Role: r.Role, RecordID: r.ID, Incomplete: r.Incomplete}
	if !r.Time.IsZero() {
		m.CreatedAt = r.Time.Format("2006-01-02T15:04:05.999999999Z07:00")
	}
	for i := range r.Blocks {
		m.Content = append(m.Content, block(&r.Blocks[i]))
	}
	return m
}

func block(b *record.Block) Block {
	switch b.Kind {
	case record.Text:
		return Block{Type: "text", Text: b.Text}
	case record.Thinking:
		return Block{Type: "thinking", Text: b.Text}
	case record.ToolUse:
		out := Block{Type: "tool_use", ID: b.CallID, Name: b.Name}
		if json.Valid([]byte(b.Input)) {
			out.Input = json.RawMessage(b.Input)
		} else {
			out.Text = b.Input
		}
		return out
	case record.ToolResult:
		return Block{Type: "tool_result", ID: b.CallID, Text: b.Text, IsError: b.IsError}
	case record.Image:
		return Block{Type: "image", Text: b.Placeholder(), MediaType: b.MediaType}
	}
	return Block{Type: "other", Text: b.Text}
}
