package record

import (
	"encoding/json"
	"strings"
)

// contentBlocks reads "content", "tool_calls" and "function_call" of a message object.
func contentBlocks(r *Record, m map[string]json.RawMessage) []Block {
	blocks := parts(m["content"], false)
	if r.Role == "tool" || r.Role == "function" || r.Role == "toolResult" {
		return asResults(m, blocks)
	}
	if t := firstString(m, "reasoning_content"); t != "" {
		blocks = append([]Block{{Kind: Thinking, Text: t}}, blocks...)
	}
	if len(blocks) == 0 {
		if t := firstString(m, "text"); t != "" {
			blocks = append(blocks, Block{Kind: Text, Text: t})
		}
	}
	return append(blocks, toolCalls(m)...)
}

// asResults makes one tool result of an OpenAI "tool" message. Where blocks already are results (a record may answer
// several calls at once), they stay as they are.
func asResults(m map[string]json.RawMessage, blocks []Block) []Block {
	for i := range blocks {
		if blocks[i].Kind == ToolResult {
			return blocks
		}
	}
	return []Block{{Kind: ToolResult, CallID: firstString(m, "tool_call_id", "toolCallId"), Name: firstString(m, "name", "toolName"),
		Text: resultText(blocks), IsError: isTrue(m["is_error"]) || isTrue(m["isError"])}}
}

// toolCalls reads OpenAI's "tool_calls", and the older "function_call".
func toolCalls(m map[string]json.RawMessage) []Block {
	var calls []map[string]json.RawMessage
	_ = json.Unmarshal(m["tool_calls"], &calls) // not a list: no calls
	var out []Block
	for _, c := range calls {
		fn := object(c["function"])
		if fn == nil {
			fn = c
		}
		out = append(out, Block{Kind: ToolUse, CallID: firstString(c, "id"), Name: firstString(fn, "name"), Input: jsonText(fn["arguments"])})
	}
	if fn := object(m["function_call"]); fn != nil {
		out = append(out, Block{Kind: ToolUse, Name: firstString(fn, "name"), Input: jsonText(fn["arguments"])})
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
func parts(raw json.RawMessage, inResult bool) []Block {
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '"':
		if s := str(raw); s != "" {
			return []Block{{Kind: Text, Text: s}}
		}
		return nil
	case '{':
		return []Block{part(raw, inResult)}
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil
		}
		out := make([]Block, 0, len(list))
		for _, e := range list {
			out = append(out, part(e, inResult))
		}
		return out
	}
	return nil
}

// part reads one element of a content list.
func part(raw json.RawMessage, inResult bool) Block {
	m := object(raw)
	if m == nil {
		return Block{Kind: Text, Text: str(raw)}
	}
	t := firstString(m, "type")
	if t == "tool_result" && inResult {
		return Block{Kind: Other, Text: string(raw)}
	}
	switch t {
	case "text", "input_text", "output_text", "summary_text":
		return Block{Kind: Text, Text: firstString(m, "text")}
	case "thinking", "redacted_thinking", "reasoning":
		return Block{Kind: Thinking, Text: firstString(m, "thinking", "text")}
	case "tool_use", "toolCall", "server_tool_use":
		return Block{Kind: ToolUse, CallID: firstString(m, "id"), Name: firstString(m, "name"), Input: jsonText(firstRaw(m, "input", "arguments"))}
	case "tool_result":
		return Block{Kind: ToolResult, CallID: firstString(m, "tool_use_id", "tool_call_id"), Name: firstString(m, "name"),
			Text: resultText(parts(m["content"], true)), IsError: isTrue(m["is_error"])}
	case "image", "image_url", "input_image", "document", "file", "audio", "input_audio":
		return media(t, m)
	case "":
		if s := firstString(m, "text"); s != "" {
			return Block{Kind: Text, Text: s}
		}
	}
	return Block{Kind: Other, Text: string(raw)}
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
func resultText(blocks []Block) string {
	var parts []string
	for i := range blocks {
		if blocks[i].Kind == Image {
			parts = append(parts, blocks[i].Placeholder())
		} else if blocks[i].Text != "" {
			parts = append(parts, blocks[i].Text)
		}
	}
	return strings.Join(parts, "\n")
}
