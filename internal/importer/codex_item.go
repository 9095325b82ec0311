package importer

import (
	"encoding/json"
	"strings"
)

// message takes words of the user, the developer, the system or the model.
func (c *codex) message(src source, p object) (outcome, error) {
	m := c.start(src, p)
	m.role = firstSet(p.str("role"), "assistant")
	var err error
	if m.content, err = c.w.blocks(p.get("content")); err != nil {
		return outcome{}, err
	}
	if len(m.content) == 0 {
		return skip("empty"), nil
	}
	if kind := c.wrote(p, m); kind != "" {
		m.meta = true
		if kind == instructions {
			m.typ = kind
		}
	}
	return c.write(src, p, m)
}

// note is what Codex tells the model on an occasion, in the user's name: a turn that was broken off, a skill that was called.
const note = "note"

// wrote reports what m is when Codex wrote all of it: instructions or a note; "" when its speaker wrote some of it.
func (c *codex) wrote(p object, m *message) string {
	switch m.role {
	case "developer", "system":
		return instructions
	case "user":
	default:
		return ""
	}
	origins := elements(p.obj("internal_chat_message_metadata_passthrough").get("content_item_metadata"))
	kind := instructions
	for i, raw := range m.content {
		b := parseObject(raw)
		k := codexWrapper(b.str("text"))
		if i < len(origins) {
			switch parseObject(origins[i]).obj("provenance").str("type") {
			case "":
			case "user":
				k = ""
			default:
				k = firstSet(k, instructions)
			}
		}
		if b.str("type") != "text" || k == "" {
			return ""
		}
		if k == note {
			kind = note
		}
	}
	return kind
}

// codexWrapper reports what a text is that Codex writes in the user's name, going by how it starts: instructions, a note, or "".
func codexWrapper(s string) string {
	s = strings.TrimSpace(s)
	for _, w := range []struct{ start, kind string }{
		{"<environment_context>", instructions}, {"<user_instructions>", instructions}, {"# AGENTS.md instructions", instructions},
		{"<INSTRUCTIONS>", instructions}, {"<permissions instructions>", instructions}, {"<skills_instructions>", instructions},
		{"<skill>", note}, {"<turn_aborted>", note}, {"<subagent_notification>", note}, {"<user_shell_command>", note},
	} {
		if strings.HasPrefix(s, w.start) {
			return w.kind
		}
	}
	return ""
}

// reasoning takes the model's thinking, of which at most a summary can be read.
func (c *codex) reasoning(src source, p object) (outcome, error) {
	var said []string
	for _, list := range []string{"summary", "content"} {
		for _, e := range elements(p.get(list)) {
			if t := parseObject(e).str("text"); t != "" {
				said = append(said, t)
			}
		}
	}
	sealed := !void(p.get("encrypted_content"))
	if sealed {
		c.w.rep.Omitted["encrypted reasoning"]++
	} else if len(said) == 0 {
		return skip("empty reasoning"), nil
	}
	var b builder
	b.str("type", "thinking")
	b.raw("thinking", quote(strings.Join(said, "\n\n")))
	b.yes("encrypted", sealed)
	m := c.start(src, p)
	m.role, m.content = "assistant", []json.RawMessage{b.end()}
	for _, t := range said {
		c.texts[c.digest("thinking", t)] = true
	}
	return c.write(src, p, m)
}

// call takes a call of a tool that runs on this side.
func (c *codex) call(src source, p object) (outcome, error) {
	typ := p.str("type")
	var b builder
	b.str("type", "tool_use")
	b.str("id", firstSet(p.str("call_id"), p.str("id")))
	b.str("name", firstSet(p.str("name"), strings.TrimSuffix(typ, "_call")))
	b.raw("input", callInput(p))
	m := c.start(src, p)
	m.role, m.content = "assistant", []json.RawMessage{b.end()}
	return c.write(src, p, m)
}

// callInput gives a call's arguments as a JSON object.
func callInput(p object) json.RawMessage {
	var b builder
	if in := p.get("input"); !void(in) {
		b.raw("input", in)
		return b.end()
	}
	if act := p.get("action"); parseObject(act) != nil {
		return act
	}
	return arguments(p.get("arguments"))
}

// serverCall takes a call that ran on the provider's side: the log holds no result of it, or holds it in the call.
func (c *codex) serverCall(src source, p object) (outcome, error) {
	name := strings.TrimSuffix(p.str("type"), "_call")
	input := p.get("action")
	if void(input) {
		input = p.without("type", "id", "status", "result", "metadata", "internal_chat_message_metadata_passthrough").encode()
	}
	var b builder
	b.str("type", "server_tool_use")
	b.str("id", firstSet(p.str("id"), src.name("codex-")))
	b.str("name", name)
	b.raw("input", input)
	m := c.start(src, p)
	m.role, m.content = "assistant", []json.RawMessage{b.end()}
	if data := p.str("result"); data != "" && name == "image_generation" {
		img, err := c.w.keep(picture{typ: "image", mediaType: "image/png", data: data})
		if err != nil {
			return outcome{}, err
		}
		m.content = append(m.content, img)
	}
	c.outputs[p.str("id")] = true
	c.texts[c.digest(p.str("type"), string(compact(p.get("action"))))] = true
	return c.write(src, p, m)
}

// unknown takes a response_item of a type that is not known here. Calls and outputs are known by their shape; of
// others, what they hold stays as it is.
func (c *codex) unknown(src source, p object) (outcome, error) {
	typ := p.str("type")
	switch called := p.str("call_id") != ""; {
	case p == nil:
		return c.keep(src, "response_item", src.obj.without("timestamp", "type"))
	case called && strings.HasSuffix(typ, "_call"):
		return c.call(src, p)
	case called && strings.HasSuffix(typ, "_output"):
		return c.output(src, p)
	}
	raw, err := c.w.withoutMedia(p.encode())
	if err != nil {
		return outcome{}, err
	}
	m := c.start(src, p)
	m.role, m.content = firstSet(p.str("role"), "assistant"), []json.RawMessage{raw}
	if typ == "tool_result" {
		m.role = "tool"
	}
	return c.write(src, p, m)
}
