package importer

import "encoding/json"

// anthropic writes messages as Anthropic's Messages API takes them, one a line: {"messages": [...], "system": [...]}.
//
// A record is one message; results are the user's. Records of role system and developer are gathered in system, whatever
// their place. What the form has no place for: times, ids of records, side chains, thoughts that the API did not sign.
type anthropic struct {
	*exporter
	system []json.RawMessage
}

func (x *anthropic) begin() error { return x.put([]byte(`{"messages":[`)) }

func (x *anthropic) end() error {
	if len(x.system) == 0 {
		return x.put([]byte("\n]}\n"))
	}
	return x.put(append(append([]byte("\n],\"system\":"), list2raw(x.system)...), "}\n"...))
}

func (x *anthropic) message(s *utterance) error {
	if s.sidechain {
		x.leave("side chain records")
		return nil
	}
	var blocks []json.RawMessage
	for _, raw := range s.content {
		if b := x.apiBlock(raw); b != nil {
			blocks = append(blocks, b)
		}
	}
	switch {
	case len(blocks) == 0:
		return nil
	case oneOf(s.role, "system", "developer"):
		x.system = append(x.system, blocks...)
		return nil
	}
	role := "user"
	if s.role == "assistant" {
		role = s.role
	}
	var m builder
	m.str("role", role)
	if b := parseObject(blocks[0]); len(blocks) == 1 && b.str("type") == "text" {
		m.raw("content", b.get("text"))
	} else {
		m.raw("content", list2raw(blocks))
	}
	return x.next(m.end())
}

// apiBlock returns a block with the members that the Messages API knows; nil for one that it refuses.
func (x *exporter) apiBlock(raw json.RawMessage) json.RawMessage {
	b := parseObject(raw)
	var l builder
	keep := func(keys ...string) json.RawMessage {
		l.str("type", b.str("type"))
		for _, k := range keys {
			l.raw(k, b.get(k))
		}
		return l.end()
	}
	switch b.str("type") {
	case "text":
		return textBlock(b.str("text"))
	case "thinking":
		if b.str("signature") == "" { // the API refuses the whole request
			x.leave("thoughts without a signature")
			return nil
		}
		return keep("thinking", "signature")
	case "redacted_thinking":
		return keep("data")
	case "tool_use", "server_tool_use":
		return keep("id", "name", "input")
	case "tool_result":
		return toolResult(b.str("tool_use_id"), x.apiContent(b.get("content")), b.truth("is_error"))
	}
	if isMedia(b) {
		return x.apiMedia(b)
	}
	if len(raw) > 0 && raw[0] == '"' {
		return textBlock(text(raw))
	}
	x.leave("blocks of unknown types (written as text)")
	return textBlock(string(compact(raw)))
}

// apiContent returns the content of a result.
func (x *exporter) apiContent(content json.RawMessage) json.RawMessage {
	list := elements(content)
	if list == nil {
		return content
	}
	var out []json.RawMessage
	for _, raw := range list {
		if in := x.apiBlock(raw); in != nil {
			out = append(out, in)
		}
	}
	return list2raw(out)
}

// apiMedia returns a picture or a document, or a text in the place of what the API does not take.
func (x *exporter) apiMedia(b object) json.RawMessage {
	m, ok := x.mediaOf(b)
	if !ok || oneOf(m.kind, "audio", "input_audio") {
		x.leave("media that are not here, and sounds (their reference is written)")
		return placeholder(b)
	}
	var src, l builder
	if m.data != "" {
		src.str("type", "base64")
		src.str("media_type", m.mime)
		src.str("data", m.data)
	} else {
		src.str("type", "url")
		src.str("url", m.url)
	}
	kind := "image"
	if oneOf(m.kind, "document", "file") {
		kind = "document"
	}
	l.str("type", kind)
	l.raw("source", src.end())
	return l.end()
}
