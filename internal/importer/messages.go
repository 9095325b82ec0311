package importer

import (
	"encoding/json"
	"strings"
)

// messages reads lists of messages in the form of OpenAI's Chat Completions and of Anthropic's Messages, as many tools
// keep them: a list, an object that holds one (messages, with system and whatever else beside it), or lines of either:
// one message a line is one conversation, one object a line is a conversation each. tau-bench's results (traj) and its
// examples (messages_display) are such lists too, and so is a messages.jsonl of ctxfs.
//
// What becomes of its traps:
//   - tool_calls become blocks, in the order reasoning, text, calls; function_call and role "function", which have no
//     ids, pair by name, in order.
//   - A user's message with tool_result blocks becomes one of role "tool", and one of the user's own words, if any.
//   - content may be null, a text, or a list of either's blocks. A message without anything is skipped as empty.
//   - reasoning_content (and reasoning, thinking_blocks) becomes a block of type "thinking".
//   - Anthropic's system stands beside the messages: it becomes the first message.
type messages struct {
	common
	open  map[string][]string // ids of calls without a result, by name
	calls int
}

func newMessages(w *writer) handler {
	return &messages{common: newCommon(w), open: map[string][]string{}}
}

// isMessage tells whether o is one. It may be cut off.
func isMessage(o object) bool {
	return oneOf(o.str("role"), "system", "developer", "user", "assistant", "tool", "function") &&
		(o.get("content") != nil || o.get("tool_calls") != nil || o.get("function_call") != nil) && o.get("parts") == nil && o.get("message") == nil
}

func (m *messages) isRecord(o object) bool { return isMessage(o) }
func (m *messages) starts() []string       { return []string{`{"role":`, `{"content":`, `{"id":`} }

func (m *messages) holds(v json.RawMessage) bool {
	o := outline(v)
	if o == nil {
		e := outline(first(v))
		return isMessage(e) || m.isConversation(e)
	}
	return m.isConversation(o)
}

func (m *messages) isConversation(o object) bool {
	return o.str("messages_display") != "" || isMessage(outline(first(o.get("messages")))) || isMessage(outline(first(o.get("traj"))))
}

func (m *messages) label(v json.RawMessage) string {
	o := parseObject(v)
	if t := o.get("task_id"); !void(t) {
		label := "task-" + strings.Trim(string(t), `"`)
		if n := o.get("trial"); n != nil {
			label += "-trial-" + strings.Trim(string(n), `"`)
		}
		return label
	}
	return firstSet(o.str("session_id"), o.str("conversation_id"), o.str("instance_id"), o.str("id"))
}

func (m *messages) conversation(v json.RawMessage) error {
	o := parseObject(v)
	if o == nil {
		return m.each(v, m.record)
	}
	r := &m.w.rep
	r.SessionID = firstSet(o.str("session_id"), o.str("conversation_id"), o.str("instance_id"))
	r.Title, r.CWD = o.str("title"), o.str("cwd")
	if rest := o.without("messages", "traj", "messages_display", "system"); len(rest) > 0 {
		if err := m.head("conversation", rest); err != nil {
			return err
		}
	}
	if sys := o.get("system"); !void(sys) {
		said := object{{"role", quote("system")}, {"content", sys}}
		if err := m.w.book(said.encode(), source{}, m.record); err != nil {
			return err
		}
	}
	for _, list := range []json.RawMessage{o.get("messages"), o.get("traj"), shownMessages(o.str("messages_display"))} {
		if err := m.each(list, m.record); err != nil {
			return err
		}
	}
	return nil
}

// shownMessages reads a conversation written as text, "role: words": tau-bench's examples. Calls are not shown in it.
func shownMessages(text string) json.RawMessage {
	var list []json.RawMessage
	role, said := "", []string{}
	flush := func() {
		content := quote(strings.Join(said, "\n"))
		if string(content) == `"None"` { // Python's null
			content = json.RawMessage("null")
		}
		if role != "" {
			list = append(list, object{{"role", quote(role)}, {"content", content}}.encode())
		}
	}
	for _, line := range strings.Split(text, "\n") {
		head, rest, ok := strings.Cut(line, ": ")
		if !ok || !oneOf(head, "system", "user", "assistant", "tool") {
			said = append(said, line)
			continue
		}
		flush()
		role, said = head, []string{rest}
	}
	flush()
	return list2raw(list)
}

// record takes one message.
func (m *messages) record(src source) (outcome, error) {
	o := src.obj
	if o.str("role") == "" {
		return m.note(src, firstSet(o.str("type"), "unknown"), o.str("id"), created(o), o.without("type", "id"))
	}
	blocks, err := m.blocks(o)
	if err != nil {
		return outcome{}, err
	}
	if len(blocks) == 0 {
		return skip("empty"), nil
	}
	out := message{id: firstSet(o.str("id"), o.str("uuid"), src.name("messages-")), role: o.str("role"), name: o.str("name"), created: created(o),
		parent: m.tree[o.str("parent")], model: o.str("model"), usage: usageOf(o.obj("usage")), sidechain: o.truth("sidechain"), meta: o.truth("is_meta"),
		typ: o.str("type"), native: m.native(src, nil)}
	if oneOf(out.role, "tool", "function") {
		out.role, out.name = "tool", ""
	}
	if out.typ == "message" { // Anthropic's and OpenAI's answers say that they are messages
		out.typ = ""
	}
	rest := o.without("id", "uuid", "role", "name", "content", "parent", "model", "usage", "sidechain", "is_meta", "type", "tool_calls", "function_call",
		"tool_call_id", "reasoning_content", "reasoning", "thinking_blocks", "is_error", "created_at", "timestamp", "created", "time")
	if err := m.more(&out.native, rest); err != nil {
		return outcome{}, err
	}
	last, err := m.turn(src, out, blocks)
	m.stand(o.str("id"), last)
	return outcome{kind: asMessage}, err
}

func created(o object) string {
	return stamp(firstSaid(o.get("created_at"), o.get("timestamp"), o.get("created"), o.get("time")))
}

// blocks gives all that a message says: reasoning, content, calls.
func (m *messages) blocks(o object) ([]json.RawMessage, error) {
	content, err := m.w.blocks(o.get("content"))
	if err != nil {
		return nil, err
	}
	if oneOf(o.str("role"), "tool", "function") && !hasResult(content) {
		return m.result(o, content), nil
	}
	var list []json.RawMessage
	if t := firstSet(o.str("reasoning_content"), o.str("reasoning")); t != "" {
		list = append(list, thinking(t, "", false))
	}
	list = append(list, objects(o.get("thinking_blocks"))...)
	for _, b := range content {
		if t := parseObject(b); t.str("type") != "text" || t.str("text") != "" {
			list = append(list, b)
		}
	}
	list = append(list, toolCalls(o)...)
	if fn := o.obj("function_call"); fn != nil {
		m.calls++
		id := "call-" + string(digits(m.calls))
		m.open[fn.str("name")] = append(m.open[fn.str("name")], id)
		list = append(list, toolUse(id, fn.str("name"), arguments(fn.get("arguments")), nil))
	}
	return list, nil
}

func hasResult(blocks []json.RawMessage) bool {
	for _, b := range blocks {
		if parseObject(b).str("type") == "tool_result" {
			return true
		}
	}
	return false
}

// result gives the block of a tool's message.
func (m *messages) result(o object, content []json.RawMessage) []json.RawMessage {
	id, name := o.str("tool_call_id"), o.str("name")
	if open := m.open[name]; id == "" && len(open) > 0 {
		id, m.open[name] = open[0], open[1:]
	}
	said := quote(text(o.get("content")))
	if elements(o.get("content")) != nil {
		said = list2raw(content)
	}
	res := parseObject(toolResult(id, said, o.truth("is_error")))
	if name != "" {
		res = append(res, member{"name", quote(name)})
	}
	return []json.RawMessage{res.encode()}
}
