package record

import "strings"

// contentBlocks reads "content", "tool_calls" and "function_call" of a message object.
func contentBlocks(r *Record, m object) []Block {
	blocks := parts(m.get("content"), false)
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
func asResults(m object, blocks []Block) []Block {
	for i := range blocks {
		if blocks[i].Kind == ToolResult {
			return blocks
		}
	}
	return []Block{{Kind: ToolResult, CallID: firstString(m, "tool_call_id", "toolCallId"), Name: firstString(m, "name", "toolName"),
		Text: resultText(blocks), IsError: isTrue(m.get("is_error")) || isTrue(m.get("isError"))}}
}

// toolCalls reads OpenAI's "tool_calls", and the older "function_call".
func toolCalls(m object) []Block {
	var out []Block
	if raw := m.get("tool_calls"); len(raw) > 0 && raw[0] == '[' {
		out = few(raw, toolCall)
	}
	var place room
	if fn, ok := objectOf(m.get("function_call"), place[:0]); ok {
		out = append(out, Block{Kind: ToolUse, Name: firstString(fn, "name"), Input: jsonText(fn.get("arguments"))})
	}
	return out
}

func toolCall(raw []byte) Block {
	var place, inner room
	c, _ := objectOf(raw, place[:0]) // what is no object is a call without a name
	fn, ok := objectOf(c.get("function"), inner[:0])
	if !ok {
		fn = c
	}
	return Block{Kind: ToolUse, CallID: firstString(c, "id"), Name: firstString(fn, "name"), Input: jsonText(fn.get("arguments"))}
}

// jsonText gives arguments as JSON text, whether they were logged as an object or as a string that holds one.
func jsonText(raw []byte) string {
	if len(raw) > 0 && raw[0] == '"' {
		return str(raw)
	}
	return string(raw)
}

// parts reads a "content" value: a string, or a list of strings and typed blocks. inResult tells that it is a tool
// result's: a result within a result stays JSON, or a hostile line would be read once for each level of its nesting.
func parts(raw []byte, inResult bool) []Block {
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
		return few(raw, func(val []byte) Block { return part(val, inResult) })
	}
	return nil
}

// maxParts is how many elements of a list become blocks of their own. What follows is one block of an unknown type, or a line of
// two bytes an element would take a hundred times its size. Content and calls together then have fewer than 65,536.
const maxParts = 1<<15 - 8

// few reads the elements of a list.
func few(raw []byte, read func(val []byte) Block) []Block {
	out := make([]Block, 0, 1)
	elements(raw, func(val []byte) bool {
		if len(out) == maxParts {
			rest := raw[cap(raw)-cap(val):] // val is a part of raw
			out = append(out, Block{Kind: Other, Text: "[" + string(rest)})
			return false
		}
		out = append(out, read(val))
		return true
	})
	return out
}

// part reads one element of a content list.
func part(raw []byte, inResult bool) Block {
	var place room
	m, ok := objectOf(raw, place[:0])
	if !ok {
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
		return Block{Kind: ToolUse, CallID: firstString(m, "id"), Name: firstString(m, "name"), Input: jsonText(m.first("input", "arguments"))}
	case "tool_result":
		return Block{Kind: ToolResult, CallID: firstString(m, "tool_use_id", "tool_call_id"), Name: firstString(m, "name"),
			Text: resultText(parts(m.get("content"), true)), IsError: isTrue(m.get("is_error"))}
	case "image", "image_url", "input_image", "document", "file", "audio", "input_audio":
		return media(t, m)
	case "":
		if s := firstString(m, "text"); s != "" {
			return Block{Kind: Text, Text: s}
		}
	}
	return Block{Kind: Other, Text: string(raw)}
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
