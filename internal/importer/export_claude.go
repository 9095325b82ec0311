package importer

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
)

// claudeLog writes a log of Claude Code, a record a line, that `claude --resume` sends to the model whole. claudePlan
// decides the order.
//
// Records keep their ids, parents, times, models and counts of tokens. What Claude Code would not send, or the API would
// refuse, is written in another way; the member ctxfs of the record holds what differs, and original undoes it. A record
// without any block that can be sent is a system note: Claude Code shows it and does not send it. A history that is too long
// for the model begins with a compaction: a compact_boundary before it keeps from the model what precedes.
type claudeLog struct {
	*exporter
	plan *claudePlan
	next int // index of the next record
}

// begin reads the messages once for the plan and seeks back to their start.
func (x *claudeLog) begin() error {
	x.rep.fate = "not sent to the model"
	x.plan = newClaudePlan()
	err := x.each(func(line []byte, n int) error {
		s, err := x.read(line, n)
		if s != nil {
			x.plan.add(s)
		}
		return err
	})
	if err != nil {
		return err
	}
	x.plan.link()
	x.norm = newMessages(newWriter(x.exporter, Messages)).(*messages) // it numbers calls that have no id
	_, err = x.in.Messages.Seek(0, io.SeekStart)
	return err
}

func (x *claudeLog) end() error { return nil }

func (x *claudeLog) message(s *utterance) error {
	r := &x.plan.records[x.next]
	x.quiet = true
	switch {
	case s.sidechain:
		x.rep.LeftOut["side chain records"]++
	case x.next < x.plan.boundary:
		x.rep.LeftOut["records before a compaction"]++
	case s.note():
		x.rep.LeftOut["records of role "+s.role]++
	default:
		x.quiet = false
	}
	x.rep.Messages++
	defer func() { x.next++ }()
	if x.next != x.plan.boundary {
		return x.put(x.record(s, r, r.parent))
	}
	uuid := unique(x.plan.uuids, r.uuid+".boundary")
	if err := x.put(x.boundary(s, r, uuid)); err != nil {
		return err
	}
	return x.put(x.record(s, r, uuid))
}

// head starts a record with what each has.
func (x *claudeLog) head(parent string, side bool) *builder {
	var l builder
	id := json.RawMessage("null")
	if parent != "" {
		id = quote(parent)
	}
	l.raw("parentUuid", id)
	l.raw("isSidechain", boolean(side))
	l.str("userType", "external")
	l.str("cwd", x.in.CWD)
	l.str("sessionId", ClaudeSession(firstSet(x.in.SessionID, "ctxfs")))
	return &l
}

func boolean(b bool) json.RawMessage {
	if b {
		return json.RawMessage("true")
	}
	return json.RawMessage("false")
}

// boundary returns the record before a compaction.
func (x *claudeLog) boundary(s *utterance, r *planned, uuid string) []byte {
	l := x.head("", false)
	l.str("logicalParentUuid", r.parent)
	l.str("type", "system")
	l.str("subtype", "compact_boundary")
	l.str("content", "Conversation compacted")
	l.str("level", "info")
	l.raw("compactMetadata", firstSaid(s.native.get("compactMetadata"), json.RawMessage(`{"trigger":"auto","preTokens":0}`)))
	l.str("uuid", uuid)
	l.str("timestamp", s.created)
	return append(l.end(), '\n')
}

// record returns the line of a record behind the one whose uuid is parent.
func (x *claudeLog) record(s *utterance, r *planned, parent string) []byte {
	var differs builder
	switch {
	case s.sidechain:
		parent = s.parent
	case r.prev > x.next || s.parent != x.plan.id(r.prev): // an import knows only parents before the record
		differs.raw("parent", quote(s.parent))
	}
	l := x.head(parent, s.sidechain)
	if s.note() || !s.sidechain && !r.sent {
		x.note(l, &differs, s, r)
	} else {
		x.said(l, &differs, s, r)
	}
	if differs.b != nil {
		l.raw("ctxfs", differs.end())
	}
	l.yes("isMeta", s.meta)
	l.yes("isCompactSummary", s.compaction())
	l.str("uuid", r.uuid)
	l.str("timestamp", s.created)
	return append(l.end(), '\n')
}

// note writes a record that the model does not get. Its message is what differs.
func (x *claudeLog) note(l, differs *builder, s *utterance, r *planned) {
	blocks := make([]json.RawMessage, len(s.content))
	calls := r.calls
	for i, raw := range s.content {
		blocks[i] = x.withData(raw)
		x.sendable(raw, &calls) // counts what is not sent
	}
	words := plainText(list2raw(blocks))
	l.str("type", "system")
	l.str("subtype", "informational")
	l.raw("content", quote(words))
	if len(blocks) == 1 && bytes.Equal(blocks[0], textBlock(words)) {
		blocks = nil // content has it
	}
	differs.raw("message", messageOf(s, s.role, r.own, blocks))
}

// said writes a record that the model gets.
func (x *claudeLog) said(l, differs *builder, s *utterance, r *planned) {
	blocks, entries := x.blocks(s, r)
	differs.raw("content", entries)
	role := "user"
	if s.answer() {
		role = "assistant"
	}
	if r.messageID != r.own {
		differs.str("message_id", r.own)
	}
	l.str("type", role)
	l.raw("message", messageOf(s, role, r.messageID, blocks))
}

// messageOf returns the message of a record. A user's single text is a string, as Claude Code has it.
func messageOf(s *utterance, role, id string, blocks []json.RawMessage) json.RawMessage {
	var m builder
	if role == "assistant" {
		m.str("id", id)
		m.str("type", "message")
	}
	m.str("role", role)
	if role == "assistant" {
		m.str("model", s.model)
	}
	if len(blocks) == 1 && role == "user" {
		if b := parseObject(blocks[0]); b.str("type") == "text" && len(b) == 2 {
			m.raw("content", b.get("text"))
			return m.end()
		}
	}
	if blocks != nil {
		m.raw("content", list2raw(blocks))
	}
	if role == "assistant" {
		m.raw("usage", s.usage)
	}
	return m.end()
}

// blocks returns the blocks of a record that the model gets, and in which way those of the session differ (restored);
// nil when they do not.
func (x *claudeLog) blocks(s *utterance, r *planned) (blocks []json.RawMessage, entries json.RawMessage) {
	var list []json.RawMessage
	same, calls := true, r.calls
	for _, raw := range s.content {
		whole := x.withData(raw)
		b := whole
		if !s.sidechain {
			b = x.sendable(raw, &calls)
		}
		list = append(list, difference(len(blocks), b, whole))
		same = same && bytes.Equal(b, whole)
		if b != nil {
			blocks = append(blocks, b)
		}
	}
	if same {
		return blocks, nil
	}
	return blocks, list2raw(list)
}

// sendable returns a block as the API takes it, nil for one that is not sent. It takes the id of a call or a result off
// calls.
func (x *claudeLog) sendable(raw json.RawMessage, calls *[]string) json.RawMessage {
	b := parseObject(raw)
	kind := b.str("type")
	if !oneOf(kind, "tool_use", "tool_result") {
		if kind == "text" && unsendable(b) {
			return nil
		}
		return x.apiBlock(raw)
	}
	id := ""
	if len(*calls) > 0 { // a note has none
		id, *calls = (*calls)[0], (*calls)[1:]
	}
	switch {
	case id == "" && kind == "tool_use":
		x.leave("calls without a result")
	case id == "":
		x.leave("results without a call")
	case kind == "tool_use":
		return toolUse(id, apiName(b.str("name")), arguments(b.get("input")), nil)
	default:
		return toolResult(id, x.resultContent(b.get("content")), b.truth("is_error"))
	}
	return nil
}

// resultContent returns the content of a result as the API takes it: a text, or blocks that are not blank.
func (x *claudeLog) resultContent(content json.RawMessage) json.RawMessage {
	if len(content) == 0 || content[0] == '"' {
		return content
	}
	list := elements(content)
	if list == nil {
		return quote(string(compact(content)))
	}
	return x.apiContent(list2raw(slices.DeleteFunc(list, func(raw json.RawMessage) bool {
		b := parseObject(raw)
		return b.str("type") == "text" && unsendable(b)
	})))
}

// withData returns a block with the data of its pictures, at any depth. A picture whose data is not here stays a
// reference.
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
		return patched(b, object{{"content", list2raw(out)}})
	}
	if !isMedia(b) || b.obj("source").str("type") != "ref" {
		return raw
	}
	m, ok := x.mediaOf(b)
	if !ok {
		return raw
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
