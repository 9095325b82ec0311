package importer

import (
	"encoding/json"
	"strings"
)

// copilot reads the events.jsonl of GitHub's Copilot CLI: {type, data, id, timestamp, parentId} a line.
//
// What becomes of its traps:
//   - user.message holds what the user typed (content) and what the model saw (transformedContent: the same with the
//     time before and reminders behind). The message holds the user's words; what stands around them is in the native part.
//   - A call stands in assistant.message and again in tool.execution_start, which may even come first: it is held back
//     until its message comes. One that no message holds (a child agent's) becomes a message of its own when its result
//     comes; then it stands at that line, and called_line says where it started. One without a result stands at the last
//     line (unanswered).
//   - tool.execution_complete.result holds content, for the model, and detailedContent, for the screen; the latter is kept
//     in the native part where it differs. toolTelemetry is left out.
//   - hook.start and hook.end repeat prompts, calls and results: they are skipped, unless a hook failed or said something.
//   - system.message is logged again at each turn: written when it changed.
//   - session.compaction_complete becomes an event and, if it has a summary, a message of type "compaction".
//   - Records of a child agent name the call that started it (parentToolCallId): they are side chains.
type copilot struct {
	common
	model   string
	asked   map[string]bool   // calls that a message holds
	started map[string]source // calls that no message held yet
	order   []string          // those, in order
	alone   map[string]string // calls that are a message of their own: its id
	line    int               // the last record's
}

func newCopilot(w *writer) handler {
	return &copilot{common: newCommon(w), asked: map[string]bool{}, started: map[string]source{}, alone: map[string]string{}}
}

func (c *copilot) isRecord(o object) bool {
	t := o.str("type")
	return o.obj("data") != nil && o.get("timestamp") != nil && o.get("id") != nil && o.get("parentId") != nil &&
		(t == "abort" || strings.Contains(t, "."))
}

func (c *copilot) starts() []string { return []string{`{"type":"`} }

func (c *copilot) record(src source) (outcome, error) {
	c.line = src.line
	d := src.obj.obj("data")
	switch t := src.obj.str("type"); t {
	case "user.message":
		return c.user(src, d)
	case "assistant.message":
		return c.assistant(src, d)
	case "system.message":
		return c.system(src, d)
	case "system.notification":
		return c.told(src, d)
	case "tool.execution_start":
		return c.start(src, d)
	case "tool.execution_complete":
		return c.complete(src, d)
	case "assistant.turn_start", "assistant.turn_end", "hook.start":
		return c.drop(src, t)
	case "hook.end":
		if void(d.get("output")) && string(d.get("success")) != "false" {
			return c.drop(src, t)
		}
	case "session.compaction_complete":
		return c.compacted(src, d)
	case "session.start", "session.resume", "session.model_change", "session.title_changed":
		c.session(d)
	}
	return c.keep(src, d)
}

// session takes what a record says about the session as a whole.
func (c *copilot) session(d object) {
	r := &c.w.rep
	r.SessionID = firstSet(r.SessionID, d.str("sessionId"))
	r.CWD = firstSet(r.CWD, d.obj("context").str("cwd"))
	r.Title = firstSet(d.str("title"), r.Title)
	r.ClientVersion = firstSet(d.str("copilotVersion"), r.ClientVersion)
	c.model = firstSet(d.str("newModel"), d.str("selectedModel"), c.model)
}

// parent gives the message that a record answers.
func (c *copilot) parent(o object) string { return c.tree[o.str("parentId")] }

func (c *copilot) keep(src source, d object) (outcome, error) {
	o := src.obj
	c.stand(o.str("id"), c.parent(o))
	e := event{typ: firstSet(o.str("type"), "unknown"), id: o.str("id"), created: o.str("timestamp"), data: d.said(), native: c.native(src, o, "parentId")}
	if d == nil {
		e.data = o.without("type", "id", "timestamp", "parentId").said()
	}
	return outcome{kind: asEvent}, c.w.event(&e)
}

func (c *copilot) drop(src source, reason string) (outcome, error) {
	c.stand(src.obj.str("id"), c.parent(src.obj))
	return skip(reason), nil
}

// message starts the message that a record leads to.
func (c *copilot) message(src source, d object, role string) *message {
	o := src.obj
	return &message{id: c.w.newID(o.str("id"), src), role: role, created: o.str("timestamp"), parent: c.parent(o),
		sidechain: d.str("parentToolCallId") != "" || o.str("agentId") != "", native: c.native(src, o, "parentId", "agentId")}
}

// write writes a message, with those members of d in its native part that it does not hold itself.
func (c *copilot) write(src source, d object, m *message) (outcome, error) {
	if err := c.more(&m.native, d); err != nil {
		return outcome{}, err
	}
	c.stand(src.obj.str("id"), m.id)
	return outcome{kind: asMessage}, c.w.message(m)
}

func (c *copilot) user(src source, d object) (outcome, error) {
	content, err := c.w.blocks(d.get("content"))
	if err != nil {
		return outcome{}, err
	}
	rest := d.without("content", "transformedContent", "supportedNativeDocumentMimeTypes", "attachments")
	var files []json.RawMessage
	for _, a := range elements(d.get("attachments")) {
		if _, ok := findPicture(parseObject(a)); !ok {
			files = append(files, a)
			continue
		}
		b, err := c.w.block(a)
		if err != nil {
			return outcome{}, err
		}
		content = append(content, b)
	}
	if len(files) > 0 {
		rest = append(rest, member{"attachments", list2raw(files)})
	}
	if len(content) == 0 {
		return c.drop(src, "empty")
	}
	m := c.message(src, d, "user")
	m.content = content
	m.meta = !oneOf(d.str("source"), "", "user")
	return c.write(src, append(rest, around(d)...), m)
}

// around gives what the model saw around the user's words.
func around(d object) object {
	said, sent := d.str("content"), d.str("transformedContent")
	before, behind, ok := strings.Cut(sent, said)
	if sent == said || sent == "" {
		return nil
	}
	if !ok {
		return object{{"transformedContent", d.get("transformedContent")}}
	}
	return object{{"sent_before", quote(before)}, {"sent_behind", quote(behind)}}
}

// system takes the system prompt.
func (c *copilot) system(src source, d object) (outcome, error) {
	if d.str("content") == "" {
		return c.drop(src, "empty")
	}
	if !c.news("system.message", object{{"content", d.get("content")}}) {
		return c.drop(src, "system.message unchanged")
	}
	m := c.message(src, d, firstSet(d.str("role"), "system"))
	m.content = []json.RawMessage{textBlock(d.str("content"))}
	return c.write(src, d.without("content", "role"), m)
}

// told takes what the program told the model between the user's turns: a task ended, a shell has news.
func (c *copilot) told(src source, d object) (outcome, error) {
	if d.str("content") == "" {
		return c.keep(src, d)
	}
	m := c.message(src, d, "user")
	m.content, m.meta, m.typ = []json.RawMessage{textBlock(d.str("content"))}, true, "system.notification"
	return c.write(src, d.without("content"), m)
}

func (c *copilot) assistant(src source, d object) (outcome, error) {
	var content, before []json.RawMessage
	sealed := !void(d.get("encryptedContent"))
	if sealed {
		c.w.rep.Omitted["encrypted reasoning"]++
	}
	if t, sign := d.str("reasoningText"), d.str("reasoningOpaque"); t != "" || sign != "" || sealed {
		content = append(content, thinking(t, sign, sealed))
	}
	if t := d.str("content"); t != "" {
		content = append(content, textBlock(t))
	}
	for _, raw := range elements(d.get("toolRequests")) {
		r := parseObject(raw)
		if c.alone[r.str("toolCallId")] != "" {
			before = append(before, r.get("toolCallId"))
			continue
		}
		extra := r.without("toolCallId", "name", "arguments", "type")
		content = append(content, toolUse(r.str("toolCallId"), r.str("name"), arguments(r.get("arguments")), extra))
		c.called(r.str("toolCallId"))
	}
	if len(content) == 0 && len(before) > 0 {
		return c.drop(src, "repeats the call")
	}
	if len(content) == 0 {
		return c.drop(src, "empty")
	}
	m := c.message(src, d, "assistant")
	if len(before) > 0 {
		m.native.raw("earlier_calls", list2raw(before))
	}
	m.content, m.model = content, firstSet(d.str("model"), c.model)
	var usage builder
	if n, ok := d.number("outputTokens"); ok {
		usage.num("output_tokens", int(n))
		m.usage = usage.end()
	}
	return c.write(src, d.without("content", "reasoningText", "reasoningOpaque", "encryptedContent", "toolRequests", "model", "outputTokens"), m)
}

// compacted takes the place where the history was replaced by a summary.
func (c *copilot) compacted(src source, d object) (outcome, error) {
	sum := d.str("summaryContent")
	o := src.obj
	e := event{typ: "compaction", id: o.str("id"), created: o.str("timestamp"), data: d.without("summaryContent").said(), native: c.native(src, o, "parentId")}
	if err := c.w.event(&e); err != nil {
		return outcome{}, err
	}
	if sum == "" || string(d.get("success")) == "false" {
		c.stand(o.str("id"), c.parent(o))
		return outcome{kind: asEvent}, nil
	}
	c.w.rep.MoreEvents++ // the event stands beside the message
	m := c.message(src, d, "user")
	m.typ, m.content = "compaction", []json.RawMessage{textBlock(sum)}
	return c.write(src, nil, m)
}
