package importer

import "encoding/json"

// claudeLog writes a log of Claude Code: a record a line.
//
// Records keep their ids, parents, times, models and counts of tokens. Those of role system and developer become system
// notes, which Claude Code shows and does not send: reading them back gives events. A compaction is the user's, as there.
type claudeLog struct{ *exporter }

func (x *claudeLog) begin() error { return nil }
func (x *claudeLog) end() error   { return nil }

func (x *claudeLog) message(s *utterance) error {
	var l builder
	parent := json.RawMessage("null")
	if s.parent != "" {
		parent = quote(s.parent)
	}
	l.raw("parentUuid", parent)
	l.raw("isSidechain", boolean(s.sidechain))
	l.str("userType", "external")
	l.str("cwd", x.in.CWD)
	l.str("sessionId", firstSet(x.in.SessionID, "ctxfs"))
	if err := x.body(&l, s); err != nil {
		return err
	}
	l.yes("isMeta", s.meta)
	if s.compaction() {
		l.yes("isCompactSummary", true)
	}
	l.str("uuid", firstSet(s.id, source{line: s.n}.name("ctxfs-")))
	l.str("timestamp", s.created)
	x.rep.Messages++
	return x.put(append(l.end(), '\n'))
}

func boolean(b bool) json.RawMessage {
	if b {
		return json.RawMessage("true")
	}
	return json.RawMessage("false")
}

// body writes what kind of record it is, and its message.
func (x *claudeLog) body(l *builder, s *utterance) error {
	blocks := make([]json.RawMessage, len(s.content))
	for i, raw := range s.content {
		blocks[i] = x.withData(raw)
	}
	switch {
	case oneOf(s.role, "system", "developer"):
		l.str("type", "system")
		l.str("subtype", "informational")
		l.raw("content", quote(plainText(list2raw(blocks))))
		return nil
	case s.role == "assistant" && !s.compaction():
		l.str("type", "assistant")
		l.raw("message", x.answer(s, blocks))
		return nil
	}
	var m builder
	m.str("role", "user")
	if b := parseObject(blocks[0]); len(blocks) == 1 && b.str("type") == "text" && len(b) == 2 {
		m.raw("content", b.get("text"))
	} else {
		m.raw("content", list2raw(blocks))
	}
	l.str("type", "user")
	l.raw("message", m.end())
	return nil
}

// answer gives the model's message. Records of one API message that stand apart keep apart: only the first has its id.
func (x *claudeLog) answer(s *utterance, blocks []json.RawMessage) json.RawMessage {
	id := s.id
	if s.native.str("format") == string(ClaudeCode) && s.native.str("continues") == "" {
		id = firstSet(s.native.str("message_id"), id)
	}
	var m builder
	m.str("id", firstSet(id, source{line: s.n}.name("msg-")))
	m.str("type", "message")
	m.str("role", "assistant")
	m.str("model", s.model)
	m.raw("content", list2raw(blocks))
	m.raw("usage", s.usage)
	return m.end()
}

// withData gives a block with the data of its pictures, at any depth.
func (x *claudeLog) withData(raw json.RawMessage) json.RawMessage {
	b := parseObject(raw)
	if b.str("type") == "tool_result" {
		list := elements(b.get("content"))
		if list == nil {
			return raw
		}
		out := make([]json.RawMessage, len(list))
		for i, in := range list {
			out[i] = x.withData(in)
		}
		rest := make(object, len(b))
		for i, m := range b {
			if rest[i] = m; m.key == "content" {
				rest[i].val = list2raw(out)
			}
		}
		return rest.encode()
	}
	if !isMedia(b) || b.obj("source").str("type") != "ref" {
		return raw
	}
	m, ok := x.mediaOf(b)
	if !ok {
		x.leave("media that are not here (their reference is written)")
		return placeholder(b)
	}
	var src, l builder
	src.str("type", "base64")
	src.str("media_type", m.mime)
	src.str("data", m.data)
	l.str("type", m.kind)
	l.raw("source", src.end())
	l.all(m.rest)
	return l.end()
}
