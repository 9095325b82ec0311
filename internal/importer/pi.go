package importer

import (
	"encoding/json"
	"strings"
)

// pi reads the session log of pi, and of programs that are built on it: a header, then entries of which the newer ones
// form a tree by id and parentId.
//
// What becomes of its traps:
//   - A message's own timestamp (milliseconds) is when it began, the entry's is when it was logged: the latter counts,
//     the former is in the native part.
//   - Results are messages of role toolResult; calls are blocks of type toolCall.
//   - An answer without content tells of an error or of an abort, and becomes an event.
//   - bashExecution is a command that the user ran for the model to see: a message in the user's name. So are
//     custom_message and branch_summary.
//   - compaction is an event and a message of type "compaction". It replaces what stands before firstKeptEntryId, which
//     the native part keeps.
//   - thinking_level_change and model_change are logged at every start: events when they changed.
//   - A session that was branched off another names it (branchedFrom, parentSession): Report.ForkedFrom.
type pi struct {
	common
	model string
}

func newPi(w *writer) handler { return &pi{common: newCommon(w)} }

// isRecord wants the members that every entry of its type has. Others use the same types with fewer.
func (p *pi) isRecord(o object) bool {
	if o.str("timestamp") == "" {
		return false
	}
	switch o.str("type") {
	case "session":
		return o.str("id") != "" && o.str("cwd") != ""
	case "message":
		_, ms := o.obj("message").number("timestamp")
		return ms
	case "model_change":
		return o.str("provider") != "" && o.str("modelId") != ""
	case "thinking_level_change":
		return o.str("thinkingLevel") != ""
	case "compaction":
		return o.get("firstKeptEntryId") != nil || o.get("firstKeptEntryIndex") != nil
	}
	return false
}

func (p *pi) starts() []string { return []string{`{"type":"`} }

func (p *pi) record(src source) (outcome, error) {
	o := src.obj
	switch t := o.str("type"); t {
	case "message":
		return p.message(src, o.obj("message"))
	case "session":
		r := &p.w.rep
		r.SessionID, r.CWD = firstSet(r.SessionID, o.str("id")), firstSet(r.CWD, o.str("cwd"))
		r.ForkedFrom = firstSet(r.ForkedFrom, o.str("branchedFrom"), o.str("parentSession"))
		p.model = firstSet(o.str("modelId"), p.model)
	case "model_change", "thinking_level_change":
		p.model = firstSet(o.str("modelId"), p.model)
		if !p.news(t, p.payload(o)) {
			p.stand(o.str("id"), p.parent(o))
			return skip(t + " unchanged"), nil
		}
	case "session_info":
		p.w.rep.Title = firstSet(o.str("name"), p.w.rep.Title)
	case "compaction":
		return p.compacted(src)
	case "branch_summary":
		return p.inUsersName(src, o.get("summary"), t, p.payload(o).without("summary"))
	case "custom_message":
		return p.inUsersName(src, o.get("content"), t, p.payload(o).without("content"))
	}
	return p.keep(src)
}

func (p *pi) parent(o object) string { return p.tree[o.str("parentId")] }

// payload gives the members of an entry without its envelope.
func (p *pi) payload(o object) object { return o.without("type", "id", "parentId", "timestamp").said() }

func (p *pi) keep(src source) (outcome, error) {
	o := src.obj
	p.stand(o.str("id"), p.parent(o))
	typ, id := firstSet(o.str("type"), "unknown"), o.str("id")
	data := p.payload(o)
	if typ == "session" {
		data, id = o.without("type", "timestamp").said(), ""
	}
	e := event{typ: typ, id: id, created: o.str("timestamp"), data: data, native: p.native(src, o, "parentId")}
	return outcome{kind: asEvent}, p.w.event(&e)
}

func (p *pi) message(src source, m object) (outcome, error) {
	switch m.str("role") {
	case "":
		return p.keep(src)
	case "bashExecution":
		words := quote("$ " + m.str("command") + "\n" + m.str("output"))
		return p.inUsersName(src, words, "bashExecution", m.without("role", "output"))
	}
	blocks, err := p.blocks(m)
	if err != nil {
		return outcome{}, err
	}
	if len(blocks) == 0 && m.str("role") != "toolResult" {
		return p.keep(src)
	}
	out := p.start(src, m.str("role"))
	out.content = blocks
	rest := m.without("role", "content")
	if out.role == "toolResult" {
		out.role, out.content = "tool", []json.RawMessage{p.result(m, blocks)}
		rest = rest.without("toolCallId", "isError")
	}
	if out.role == "assistant" {
		out.model, out.usage = firstSet(m.str("model"), p.model), usageOf(m.obj("usage"))
		rest = rest.without("model", "usage")
	}
	return p.write(src, out, rest)
}

// blocks gives a message's content in its written form.
func (p *pi) blocks(m object) ([]json.RawMessage, error) {
	blocks, err := p.w.blocks(m.get("content"))
	for i, raw := range blocks {
		b := parseObject(raw)
		switch b.str("type") {
		case "toolCall":
			blocks[i] = toolUse(b.str("id"), b.str("name"), arguments(b.get("arguments")), b.without("type", "id", "name", "arguments"))
		case "thinking":
			if sign := b.get("thinkingSignature"); !void(sign) {
				b = append(b.without("thinkingSignature"), member{"signature", sign})
			}
			blocks[i] = b.ordered("thinking", "thinking", "signature")
		}
	}
	return blocks, err
}

// result gives the block of a tool's result. One text stands as a string.
func (p *pi) result(m object, blocks []json.RawMessage) json.RawMessage {
	content := list2raw(blocks)
	if len(blocks) == 0 {
		content = quote("")
	}
	if len(blocks) == 1 {
		if b := parseObject(blocks[0]); b.str("type") == "text" && len(b) == 2 {
			content = b.get("text")
		}
	}
	return toolResult(m.str("toolCallId"), content, m.truth("isError"))
}

func (p *pi) start(src source, role string) *message {
	o := src.obj
	return &message{id: p.w.newID(o.str("id"), src), role: role, created: o.str("timestamp"), parent: p.parent(o), native: p.native(src, o, "parentId")}
}

func (p *pi) write(src source, m *message, rest object) (outcome, error) {
	if ms := rest.get("timestamp"); ms != nil {
		m.native.raw("message_timestamp", ms)
	}
	if err := p.more(&m.native, rest.without("timestamp")); err != nil {
		return outcome{}, err
	}
	p.stand(src.obj.str("id"), m.id)
	return outcome{kind: asMessage}, p.w.message(m)
}

// inUsersName writes what the program tells the model in the user's name.
func (p *pi) inUsersName(src source, content json.RawMessage, typ string, rest object) (outcome, error) {
	blocks, err := p.w.blocks(content)
	if err != nil {
		return outcome{}, err
	}
	if len(blocks) == 0 {
		return p.keep(src)
	}
	m := p.start(src, "user")
	m.content, m.meta, m.typ = blocks, true, typ
	return p.write(src, m, rest)
}

// compacted takes the place where the history was replaced by a summary.
func (p *pi) compacted(src source) (outcome, error) {
	o := src.obj
	if strings.TrimSpace(o.str("summary")) == "" {
		return p.keep(src)
	}
	e := event{typ: "compaction", id: o.str("id"), created: o.str("timestamp"), data: p.payload(o).without("summary"), native: p.native(src, o, "parentId")}
	if err := p.w.event(&e); err != nil {
		return outcome{}, err
	}
	p.w.rep.MoreEvents++ // the event stands beside the message
	m := p.start(src, "user")
	m.typ, m.content = "compaction", []json.RawMessage{textBlock(o.str("summary"))}
	return p.write(src, m, object{{"firstKeptEntryId", o.get("firstKeptEntryId")}})
}
