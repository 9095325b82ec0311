package importer

import (
	"encoding/json"
	"strings"
)

// openAI writes messages as OpenAI's Chat Completions take them, one a line: {"messages": [...]}.
//
// A record is one message, but for results, which are one each. Reasoning goes into reasoning_content, as the servers
// that know it have it. What the form has no place for: is_error, signatures, times, ids of records, the order of words
// and calls in one message, side chains (a child agent's messages are no part of the conversation).
type openAI struct{ *exporter }

func (x *openAI) begin() error { return x.put([]byte(`{"messages":[`)) }
func (x *openAI) end() error   { return x.put([]byte("\n]}\n")) }

// next writes a message on a line of its own.
func (e *exporter) next(line []byte) error {
	head := "\n"
	if e.rep.Messages > 0 {
		head = ",\n"
	}
	e.rep.Messages++
	return e.put(append([]byte(head), line...))
}

func (x *openAI) message(s *utterance) error {
	if s.sidechain {
		x.leave("side chain records")
		return nil
	}
	var reasoning []string
	var words, calls, results []json.RawMessage
	for _, raw := range s.content {
		switch b := parseObject(raw); b.str("type") {
		case "thinking":
			if t := b.str("thinking"); t != "" {
				reasoning = append(reasoning, t)
			} else {
				x.leave("thoughts that cannot be read")
			}
		case "redacted_thinking":
			x.leave("thoughts that cannot be read")
		case "tool_use", "server_tool_use":
			calls = append(calls, openAICall(b))
		case "tool_result":
			results = append(results, raw)
		default:
			words = append(words, x.part(raw))
		}
	}
	for _, raw := range results {
		if err := x.result(parseObject(raw)); err != nil {
			return err
		}
	}
	if len(words)+len(calls)+len(reasoning) == 0 {
		return nil
	}
	var m builder
	m.str("role", openAIRole(s.role))
	m.str("name", s.name)
	m.raw("content", openAIContent(words))
	m.str("reasoning_content", strings.Join(reasoning, "\n\n"))
	if len(calls) > 0 {
		m.raw("tool_calls", list2raw(calls))
	}
	return x.next(m.end())
}

func openAIRole(role string) string {
	if oneOf(role, "system", "developer", "assistant") {
		return role
	}
	return "user"
}

// openAIContent gives a text where that is all there is, null for nothing, else the parts.
func openAIContent(parts []json.RawMessage) json.RawMessage {
	if len(parts) == 0 {
		return json.RawMessage("null")
	}
	if b := parseObject(parts[0]); len(parts) == 1 && b.str("type") == "text" {
		return b.get("text")
	}
	return list2raw(parts)
}

func openAICall(b object) json.RawMessage {
	var fn, c builder
	fn.str("name", b.str("name"))
	fn.raw("arguments", quote(string(compact(b.get("input")))))
	c.str("id", b.str("id"))
	c.str("type", "function")
	c.raw("function", fn.end())
	return c.end()
}

func (x *openAI) result(b object) error {
	var parts []json.RawMessage
	content := b.get("content")
	for _, raw := range elements(content) {
		parts = append(parts, x.part(raw))
	}
	if parts == nil {
		parts = []json.RawMessage{textBlock(text(content))}
	}
	if b.truth("is_error") {
		x.leave("marks of failed calls")
	}
	var m builder
	m.str("role", "tool")
	m.raw("tool_call_id", quote(b.str("tool_use_id")))
	if list := openAIContent(parts); list[0] == '"' && elements(content) != nil {
		m.raw("content", list2raw(parts)) // a list of one stays a list
	} else {
		m.raw("content", list)
	}
	return x.next(m.end())
}

// part gives a block as a part of a content.
func (x *openAI) part(raw json.RawMessage) json.RawMessage {
	b := parseObject(raw)
	if b.str("type") == "text" {
		return textBlock(b.str("text"))
	}
	if !isMedia(b) {
		if raw[0] == '"' {
			return textBlock(text(raw))
		}
		x.leave("blocks of unknown types (written as text)")
		return textBlock(string(compact(raw)))
	}
	m, ok := x.mediaOf(b)
	if !ok || m.data == "" && !oneOf(m.kind, "image", "image_url", "input_image") { // only pictures may be elsewhere
		x.leave("media that are not here (their reference is written)")
		return placeholder(b)
	}
	var inner, p builder
	switch m.kind {
	case "document", "file":
		inner.str("filename", b.str("filename"))
		inner.str("file_data", m.dataURL())
		p.str("type", "file")
		p.raw("file", inner.end())
	case "audio", "input_audio":
		inner.str("data", m.data)
		inner.str("format", strings.TrimPrefix(m.mime, "audio/"))
		p.str("type", "input_audio")
		p.raw("input_audio", inner.end())
	default:
		inner.str("url", m.dataURL())
		p.str("type", "image_url")
		p.raw("image_url", inner.end())
	}
	return p.end()
}
