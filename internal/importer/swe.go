package importer

import (
	"encoding/json"
	"strings"
)

// swe reads the trajectories of SWE-agent: one document with history, what the model saw and said, and trajectory, the
// same once more by steps.
//
// What becomes of its traps:
//   - history is the truth. A step is an event with what it alone says (state, execution_time); its response and its
//     observation are left out when the history holds them. Without a history, the steps are the messages.
//   - Models without tool calls write the action into their text, and get the observation as a user's message: it is
//     is_meta and of type "observation", as no person wrote it. The first, which states the task, is the user's.
//   - A demonstration (is_demo) is is_meta and of type "demo".
//   - thought and action repeat parts of the text: kept where they do not.
type swe struct {
	common
	texts   []string // of the history
	answers int
}

func newSWE(w *writer) handler { return &swe{common: newCommon(w)} }

func (s *swe) isRecord(object) bool { return false }
func (s *swe) starts() []string     { return nil }

func (s *swe) holds(v json.RawMessage) bool {
	o := outline(v)
	if o == nil {
		return false
	}
	h, t := outline(first(o.get("history"))), outline(first(o.get("trajectory")))
	return h.get("role") != nil && h.get("content") != nil && h.get("parts") == nil ||
		t.get("action") != nil && t.get("observation") != nil && t.get("response") != nil && t.get("role") == nil
}

func (s *swe) label(v json.RawMessage) string {
	o := parseObject(v)
	return firstSet(o.str("instance_id"), o.str("environment"))
}

func (s *swe) conversation(v json.RawMessage) error {
	o := parseObject(v)
	s.w.rep.SessionID = o.str("instance_id")
	if err := s.head("session", o.without("history", "trajectory")); err != nil {
		return err
	}
	steps := elements(o.get("trajectory"))
	if len(elements(o.get("history"))) > 0 {
		if err := s.each(o.get("history"), s.record); err != nil {
			return err
		}
		return s.each(o.get("trajectory"), s.step)
	}
	if len(steps) > 0 {
		if err := s.each(parseObject(steps[0]).get("query"), s.record); err != nil {
			return err
		}
	}
	return s.each(o.get("trajectory"), s.turnOf)
}

// record takes an element of the history.
func (s *swe) record(src source) (outcome, error) {
	o := src.obj
	blocks, err := s.w.blocks(o.get("content"))
	if err != nil {
		return outcome{}, err
	}
	said := plainText(o.get("content"))
	s.texts = append(s.texts, said)
	m := &message{id: s.w.newID("", src), role: firstSet(o.str("role"), "user"), native: s.native(src, o, "agent", "message_type")}
	m.content = append(objects(o.get("thinking_blocks")), blocks...)
	switch m.role {
	case "assistant":
		s.answers++
		m.content = append(m.content, toolCalls(o)...)
	case "tool":
		content := o.get("content")
		if content = quote(text(content)); elements(o.get("content")) != nil {
			content = list2raw(blocks)
		}
		m.content = []json.RawMessage{toolResult(text(firstSaid(first(o.get("tool_call_ids")), o.get("tool_call_id"))), content, false)}
	case "user":
		s.observation(o, m)
	}
	if len(m.content) == 0 {
		return skip("empty"), nil
	}
	rest := o.without("role", "content", "agent", "message_type", "tool_calls", "tool_call_ids", "tool_call_id", "thinking_blocks", "is_demo")
	for _, key := range []string{"thought", "action"} {
		if strings.Contains(said, strings.TrimSpace(o.str(key))) {
			rest = rest.without(key)
		}
	}
	if len(elements(o.get("tool_calls"))) > 0 {
		rest = rest.without("action") // the call's arguments, as a command
	}
	if err := s.more(&m.native, rest); err != nil {
		return outcome{}, err
	}
	return outcome{kind: asMessage}, s.w.message(m)
}

// observation tells what no person wrote from the task.
func (s *swe) observation(o object, m *message) {
	switch {
	case o.truth("is_demo") || o.str("message_type") == "demonstration":
		m.meta, m.typ = true, "demo"
	case s.answers > 0 && oneOf(o.str("message_type"), "", "observation"):
		m.meta, m.typ = true, "observation"
	}
}

// toolCalls gives the calls of a message as OpenAI's API has them.
func toolCalls(o object) []json.RawMessage {
	var list []json.RawMessage
	for _, raw := range elements(o.get("tool_calls")) {
		c := parseObject(raw)
		if c == nil {
			continue
		}
		fn := c.obj("function")
		if fn == nil {
			fn = c
		}
		args := firstSaid(fn.get("arguments"), fn.get("input"))
		extra := c.without("id", "type", "function", "name", "arguments", "input", "index")
		list = append(list, toolUse(c.str("id"), fn.str("name"), arguments(args), extra))
	}
	return list
}

// step takes an element of the trajectory, of which the history holds most.
func (s *swe) step(src source) (outcome, error) {
	o := src.obj
	s.dir(o)
	var data object
	for _, m := range o.said() {
		switch m.key {
		case "messages", "query":
			s.w.rep.Omitted["prompts of steps"]++
		case "action", "thought", "response", "observation":
			if !s.known(text(m.val)) {
				data = append(data, m)
			}
		default:
			data = append(data, m)
		}
	}
	if o.str("action") != "" && len(data.without("action")) == len(data)-1 && s.known(firstSet(o.str("response"), "\x00")) {
		data = data.without("action") // its call stands in the history
	}
	if len(data) == 0 {
		return skip("step that repeats the history"), nil
	}
	return s.note(src, "step", "", "", data)
}

// known tells whether the history holds a text.
func (s *swe) known(t string) bool {
	t = strings.TrimSpace(t)
	for _, said := range s.texts {
		if strings.Contains(said, t) {
			return true
		}
	}
	return false
}

// dir notes the directory that the first step was in. state is an object, or a text that holds one.
func (s *swe) dir(o object) {
	if s.w.rep.CWD == "" {
		s.w.rep.CWD = parseObject(arguments(o.get("state"))).str("working_dir")
	}
}

// turnOf takes a step of a log without history: what the model said, and what came of it.
func (s *swe) turnOf(src source) (outcome, error) {
	o := src.obj
	s.dir(o)
	written := 0
	for _, p := range []struct{ role, key string }{{"assistant", "response"}, {"user", "observation"}} {
		t := o.str(p.key)
		if strings.TrimSpace(t) == "" {
			continue
		}
		m := &message{id: s.w.newID("", src), role: p.role, content: []json.RawMessage{textBlock(t)}, native: s.native(src, o, "state", "execution_time")}
		if p.role == "user" {
			m.meta, m.typ = true, p.key
		}
		if err := s.w.message(m); err != nil {
			return outcome{}, err
		}
		written++
	}
	if written == 0 {
		return s.note(src, "step", "", "", o)
	}
	s.w.rep.MoreMessages += written - 1
	return outcome{kind: asMessage}, nil
}
