package record_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ctxfs/internal/record"
)

// The same reading done by encoding/json over maps, one pass for each level: slow, and easy to believe.

// oracle reads one line of a log as record number n at byte offset off. Fields of an unexpected type are
// passed over, never an error: the log is truth, and a field that ctxfs does not know must not hide a record.
func oracle(line []byte, n int, off int64) (record.Record, error) {
	r := record.Record{N: n, Off: off, Len: len(line)}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(line, &top); err != nil || top == nil {
		return r, fmt.Errorf("messages:%d: %w", n, record.ErrNotObject)
	}
	fields(&r, top)
	if r.Role == "" {
		unwrap(&r, top)
	}
	if len(r.Blocks) == 0 {
		r.Blocks = contentBlocks(&r, top)
	}
	return r, nil
}

// fields reads what stands beside the content.
func fields(r *record.Record, top map[string]json.RawMessage) {
	r.ID = firstString(top, "id", "uuid")
	r.Parent = firstString(top, "parent", "parent_id", "parentUuid")
	r.Role = firstString(top, "role")
	r.Name = firstString(top, "name", "speaker")
	r.Type = firstString(top, "type")
	r.Time = firstTime(top, "created_at", "timestamp", "time", "ts")
	r.Compaction = r.Type == "compaction" || isTrue(top["isCompactSummary"])
	r.Sidechain = isTrue(top["sidechain"]) || isTrue(top["isSidechain"])
	r.Incomplete = isTrue(top["incomplete"])
	r.Meta = isTrue(top["is_meta"]) || isTrue(top["isMeta"])
}

// unwrap reads a line whose message stands under "message", as coding agents log it.
func unwrap(r *record.Record, top map[string]json.RawMessage) {
	var inner map[string]json.RawMessage
	if json.Unmarshal(top["message"], &inner) != nil || inner == nil {
		return
	}
	r.Role = firstString(inner, "role")
	r.Blocks = contentBlocks(r, inner)
}

func firstString(m map[string]json.RawMessage, keys ...string) string {
	for _, k := range keys {
		if s := str(m[k]); s != "" {
			return s
		}
	}
	return ""
}

// str gives a JSON string's value, a number's or boolean's text, and nothing for the rest.
func str(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
		return ""
	}
	if raw[0] != '"' {
		return string(raw)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func isTrue(raw json.RawMessage) bool { return string(raw) == "true" }

func firstTime(m map[string]json.RawMessage, keys ...string) time.Time {
	for _, k := range keys {
		if t := parseTime(m[k]); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// parseTime reads RFC 3339 text, or a Unix time in seconds or milliseconds (told apart by size).
func parseTime(raw json.RawMessage) time.Time {
	if len(raw) == 0 {
		return time.Time{}
	}
	if raw[0] == '"' {
		s := str(raw)
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05", "2006-01-02"} {
			if t, err := time.Parse(layout, strings.TrimSpace(s)); err == nil {
				return t.UTC()
			}
		}
		return time.Time{}
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil || f <= 0 || f > 1e14 {
		return time.Time{}
	}
	if f > 1e11 {
		return time.UnixMilli(int64(f)).UTC()
	}
	return time.Unix(int64(f), int64((f-float64(int64(f)))*1e9)).UTC()
}

// media reads an image, document or audio block of either provider family. The data itself is left in the log.
func media(kind string, m map[string]json.RawMessage) record.Block {
	b := record.Block{Kind: record.Image, MediaType: firstString(m, "media_type", "mimeType", "mime_type")}
	src := object(firstRaw(m, "source", "image_url", "file", "input_audio"))
	if src == nil {
		src = m
	}
	if t := firstString(src, "media_type", "mimeType"); t != "" {
		b.MediaType = t
	}
	data := firstString(src, "data", "file_data")
	url := firstString(src, "url", "ref", "path", "file_id")
	if url == "" {
		url = firstString(m, "image_url", "ref")
	}
	if head, rest, ok := strings.Cut(url, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		b.MediaType, data, url = strings.TrimPrefix(head, "data:"), rest, ""
	}
	b.Ref = url
	b.Bytes = len(strings.TrimRight(data, "=")) * 3 / 4
	if n := object(m["source"])["bytes"]; len(n) > 0 {
		_ = json.Unmarshal(n, &b.Bytes) // a size that is no number stays the computed one
	}
	if b.MediaType == "" {
		b.MediaType = kind
	}
	return b
}

// contentBlocks reads "content", "tool_calls" and "function_call" of a message object.
func contentBlocks(r *record.Record, m map[string]json.RawMessage) []record.Block {
	blocks := parts(m["content"], false)
	if r.Role == "tool" || r.Role == "function" || r.Role == "toolResult" {
		return asResults(m, blocks)
	}
	if t := firstString(m, "reasoning_content"); t != "" {
		blocks = append([]record.Block{{Kind: record.Thinking, Text: t}}, blocks...)
	}
	if len(blocks) == 0 {
		if t := firstString(m, "text"); t != "" {
			blocks = append(blocks, record.Block{Kind: record.Text, Text: t})
		}
	}
	return append(blocks, toolCalls(m)...)
}

// asResults makes one tool result of an OpenAI "tool" message. Where blocks already are results (a record may answer
// several calls at once), they stay as they are.
func asResults(m map[string]json.RawMessage, blocks []record.Block) []record.Block {
	for i := range blocks {
		if blocks[i].Kind == record.ToolResult {
			return blocks
		}
	}
	return []record.Block{{Kind: record.ToolResult, CallID: firstString(m, "tool_call_id", "toolCallId"), Name: firstString(m, "name", "toolName"),
		Text: resultText(blocks), IsError: isTrue(m["is_error"]) || isTrue(m["isError"])}}
}

// toolCalls reads OpenAI's "tool_calls", and the older "function_call".
func toolCalls(m map[string]json.RawMessage) []record.Block {
	var calls []map[string]json.RawMessage
	_ = json.Unmarshal(m["tool_calls"], &calls) // not a list: no calls
	var out []record.Block
	for _, c := range calls {
		fn := object(c["function"])
		if fn == nil {
			fn = c
		}
		out = append(out, record.Block{Kind: record.ToolUse, CallID: firstString(c, "id"), Name: firstString(fn, "name"), Input: jsonText(fn["arguments"])})
	}
	if fn := object(m["function_call"]); fn != nil {
		out = append(out, record.Block{Kind: record.ToolUse, Name: firstString(fn, "name"), Input: jsonText(fn["arguments"])})
	}
	return out
}

// jsonText gives arguments as JSON text, whether they were logged as an object or as a string that holds one.
func jsonText(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		return str(raw)
	}
	return string(raw)
}

func object(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// parts reads a "content" value: a string, or a list of strings and typed blocks. inResult tells that it is a tool
// result's: a result within a result stays JSON, or a hostile line would be read once for each level of its nesting.
func parts(raw json.RawMessage, inResult bool) []record.Block {
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '"':
		if s := str(raw); s != "" {
			return []record.Block{{Kind: record.Text, Text: s}}
		}
		return nil
	case '{':
		return []record.Block{part(raw, inResult)}
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil
		}
		out := make([]record.Block, 0, len(list))
		for _, e := range list {
			out = append(out, part(e, inResult))
		}
		return out
	}
	return nil
}

// part reads one element of a content list.
func part(raw json.RawMessage, inResult bool) record.Block {
	m := object(raw)
	if m == nil {
		return record.Block{Kind: record.Text, Text: str(raw)}
	}
	t := firstString(m, "type")
	if t == "tool_result" && inResult {
		return record.Block{Kind: record.Other, Text: string(raw)}
	}
	switch t {
	case "text", "input_text", "output_text", "summary_text":
		return record.Block{Kind: record.Text, Text: firstString(m, "text")}
	case "thinking", "redacted_thinking", "reasoning":
		return record.Block{Kind: record.Thinking, Text: firstString(m, "thinking", "text")}
	case "tool_use", "toolCall", "server_tool_use":
		return record.Block{Kind: record.ToolUse, CallID: firstString(m, "id"), Name: firstString(m, "name"), Input: jsonText(firstRaw(m, "input", "arguments"))}
	case "tool_result":
		return record.Block{Kind: record.ToolResult, CallID: firstString(m, "tool_use_id", "tool_call_id"), Name: firstString(m, "name"),
			Text: resultText(parts(m["content"], true)), IsError: isTrue(m["is_error"])}
	case "image", "image_url", "input_image", "document", "file", "audio", "input_audio":
		return media(t, m)
	case "":
		if s := firstString(m, "text"); s != "" {
			return record.Block{Kind: record.Text, Text: s}
		}
	}
	return record.Block{Kind: record.Other, Text: string(raw)}
}

func firstRaw(m map[string]json.RawMessage, keys ...string) json.RawMessage {
	for _, k := range keys {
		if v, ok := m[k]; ok {
			return v
		}
	}
	return nil
}

// resultText joins what a tool gave back; media inside it becomes its placeholder, never its data.
func resultText(blocks []record.Block) string {
	var parts []string
	for i := range blocks {
		if blocks[i].Kind == record.Image {
			parts = append(parts, blocks[i].Placeholder())
		} else if blocks[i].Text != "" {
			parts = append(parts, blocks[i].Text)
		}
	}
	return strings.Join(parts, "\n")
}
