package importer

import (
	"encoding/json"
	"strings"
)

// call takes an action that the model asked for.
func (h *openhands) call(src source) (outcome, error) {
	o := src.obj
	meta, args := o.obj("tool_call_metadata"), h.args(o)
	if meta.str("tool_call_id") == "" {
		return h.bareCall(src, args)
	}
	res := meta.obj("model_response")
	answer := parseObject(first(res.get("choices"))).obj("message")
	m := h.start(src, "assistant")
	m.model = res.str("model")
	id := meta.str("tool_call_id")
	if again, ok := h.answers[res.str("id")]; ok && res.str("id") != "" {
		m.native.str("continues", again)
		h.w.rep.Omitted["text of an answer that is written"]++
	} else {
		h.answers[res.str("id")] = m.id
		m.usage = usageOf(res.obj("usage"))
		if t := firstSet(answer.str("reasoning_content"), args.str("reasoning_content")); t != "" {
			m.content = append(m.content, thinking(t, "", false))
		}
		t := plainText(answer.get("content"))
		if t == "" && o.str("action") != "think" {
			t = args.str("thought")
		}
		if t != "" {
			m.content = append(m.content, textBlock(t))
		}
	}
	m.native.str("message_id", res.str("id"))
	m.content = append(m.content, toolUse(id, meta.str("function_name"), h.input(answer, id, args), nil))
	h.called(o, id)
	return h.write(src, m, object{{"action", o.get("action")}})
}

// input gives a call's arguments as the model wrote them.
func (h *openhands) input(answer object, id string, args object) json.RawMessage {
	for _, raw := range elements(answer.get("tool_calls")) {
		if c := parseObject(raw); c.str("id") == id {
			return arguments(c.obj("function").get("arguments"))
		}
	}
	return args.said().encode()
}

// plainText gives a content's text: it may be a list of texts.
func plainText(raw json.RawMessage) string {
	if s := text(raw); s != "" {
		return s
	}
	var all []string
	for _, e := range elements(raw) {
		if t := parseObject(e).str("text"); t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, "\n")
}

// bareCall takes an action of a log without metadata.
func (h *openhands) bareCall(src source, args object) (outcome, error) {
	o := src.obj
	m := h.start(src, "assistant")
	if t := args.str("thought"); t != "" && o.str("action") != "think" {
		m.content = append(m.content, textBlock(t))
		args = args.without("thought")
	}
	m.content = append(m.content, toolUse(m.id, o.str("action"), args.said().encode(), nil))
	h.called(o, m.id)
	return h.write(src, m, nil)
}

// called notes a call, so that its observation finds it.
func (h *openhands) called(o object, id string) {
	h.asked[id] = id
	if own := h.eventID(o); own != "" {
		h.asked[own] = id
	}
	h.waits = id
}

// callOf finds the call that an observation answers.
func (h *openhands) callOf(o object) (id string, ok bool) {
	if id := o.obj("tool_call_metadata").str("tool_call_id"); id != "" {
		return id, true
	}
	if !void(o.get("cause")) {
		id, ok = h.asked["openhands-"+string(o.get("cause"))]
		return id, ok
	}
	id = h.waits
	return id, id != "" && o.get("id") == nil
}

// observed takes what came of an action.
func (h *openhands) observed(src source) (outcome, error) {
	o := src.obj
	id, ok := h.callOf(o)
	if !ok && o.str("observation") == "error" && o.str("content") != "" {
		m := h.start(src, "user")
		m.meta, m.typ, m.content = true, "error", []json.RawMessage{textBlock(o.str("content"))}
		return h.write(src, m, h.extras(o))
	}
	if !ok || oneOf(o.str("observation"), "agent_state_changed", "recall") {
		return h.keep(src, o.str("observation"))
	}
	if id == h.waits {
		h.waits = ""
	}
	extras := h.extras(o)
	m := h.start(src, "tool")
	m.content = []json.RawMessage{toolResult(id, quote(o.str("content")), h.failed(o, extras))}
	return h.write(src, m, append(object{{"observation", o.get("observation")}}, extras...))
}

// extras gives what an observation says beside its content.
func (h *openhands) extras(o object) object {
	list := o.obj("extras")
	if list == nil {
		list = h.args(o).without("content", "success", "extras", "metadata")
	}
	for _, key := range []string{"old_content", "new_content"} {
		if !void(list.get(key)) {
			h.w.rep.Omitted["extras."+key]++
		}
	}
	if dir := list.obj("metadata").str("working_dir"); dir != "" && h.w.rep.CWD == "" {
		h.w.rep.CWD = dir
	}
	return list.without("old_content", "new_content", "_diff_cache").said()
}

func (h *openhands) failed(o, extras object) bool {
	code, ok := extras.obj("metadata").number("exit_code")
	if !ok {
		code, _ = extras.number("exit_code")
	}
	return o.str("observation") == "error" || string(o.get("success")) == "false" || code != 0
}
