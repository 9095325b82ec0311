package importer

import "strings"

// heldEvent is an event_msg that waits for the response_item which repeats it.
type heldEvent struct {
	e      *event
	reason string // of skipping it
	// It is found when one of these is.
	texts []digest
	call  string
}

// maxHeld bounds how many are held back, for logs without turns.
const maxHeld = 256

// told takes an event_msg.
func (c *codex) told(src source, p object) (outcome, error) {
	typ := p.str("type")
	data := p.without("type")
	switch typ {
	case "token_count", "agent_message_delta", "agent_reasoning_delta", "agent_reasoning_raw_content_delta",
		"agent_reasoning_section_break", "exec_command_output_delta":
		return skip(typ), nil
	case "context_compacted":
		return skip("duplicate of compacted"), nil
	case "agent_message", "user_message", "agent_reasoning", "agent_reasoning_raw_content":
		return c.hold(src, typ, data, heldEvent{reason: "duplicate of response_item", texts: c.repeated(typ, p)})
	case "web_search_end":
		d := c.digest("web_search_call", string(compact(p.get("action"))))
		return c.hold(src, typ, data, heldEvent{reason: "duplicate of response_item", texts: []digest{d}, call: p.str("call_id")})
	case "item_completed":
		return c.item(src, data, p.obj("item"))
	case "task_started", "task_complete", "turn_aborted", "turn.completed":
		return c.boundary(src, typ, data)
	case "thread_name_updated":
		c.w.rep.Title = firstSet(p.str("thread_name"), c.w.rep.Title)
	}
	if call := p.str("call_id"); call != "" && (strings.HasSuffix(typ, "_end") || strings.HasSuffix(typ, "_begin")) {
		return c.hold(src, typ, data, heldEvent{reason: "duplicate of call output", call: call})
	}
	return c.keep(src, firstSet(typ, "event_msg"), data)
}

// repeated gives the digests of the messages that an event_msg may repeat.
func (c *codex) repeated(typ string, p object) []digest {
	role := map[string]string{"agent_message": "assistant", "user_message": "user"}[typ]
	if role == "" {
		return []digest{c.digest("thinking", p.str("text"))}
	}
	return []digest{c.digest(role, p.str("message")), c.digest(role, strings.TrimSpace(p.str("message")))}
}

// item takes an item_completed, the newer form of most event_msgs.
func (c *codex) item(src source, data, item object) (outcome, error) {
	h := heldEvent{reason: "duplicate of response_item", call: item.str("id")}
	role := map[string]string{"UserMessage": "user", "AgentMessage": "assistant"}[item.str("type")]
	if role != "" {
		var all []string
		for _, e := range elements(item.get("content")) {
			all = append(all, parseObject(e).str("text"))
		}
		h.texts = []digest{c.digest(role, strings.Join(all, ""))}
	}
	return c.hold(src, "item_completed", data, h)
}

// boundary takes the start or the end of a turn. What was held back belongs to the turn before it.
func (c *codex) boundary(src source, typ string, data object) (outcome, error) {
	if err := c.release(); err != nil {
		return outcome{}, err
	}
	if typ == "task_started" {
		c.begins(data.str("turn_id"))
	}
	if last := data.str("last_agent_message"); last != "" && c.texts[c.digest("assistant", last)] {
		c.w.rep.Omitted["last_agent_message"]++
		data = data.without("last_agent_message")
	}
	return c.keep(src, typ, data)
}

// hold skips an event_msg whose response_item was seen, and keeps it back otherwise.
func (c *codex) hold(src source, typ string, data object, h heldEvent) (outcome, error) {
	if c.found(&h) {
		return skip(h.reason), nil
	}
	if len(c.held) >= maxHeld {
		if err := c.release(); err != nil {
			return outcome{}, err
		}
	}
	h.e = c.event(src, typ, data)
	c.held = append(c.held, h)
	return outcome{kind: later}, nil
}

func (c *codex) found(h *heldEvent) bool {
	for _, d := range h.texts {
		if c.texts[d] {
			return true
		}
	}
	return h.call != "" && c.outputs[h.call]
}

// heard notes what m says, and skips the event_msgs that repeat it.
func (c *codex) heard(m *message) {
	var all strings.Builder
	for _, raw := range m.content {
		b := parseObject(raw)
		if t := b.str("text"); t != "" && b.str("type") == "text" {
			all.WriteString(t)
			c.texts[c.digest(m.role, t)] = true
			c.texts[c.digest(m.role, strings.TrimSpace(t))] = true
		}
	}
	if all.Len() > 0 {
		c.texts[c.digest(m.role, all.String())] = true
	}
	rest := c.held[:0]
	for i := range c.held {
		if c.found(&c.held[i]) {
			c.w.account(skip(c.held[i].reason))
		} else {
			rest = append(rest, c.held[i])
		}
	}
	clear(c.held[len(rest):]) // let go of their lines
	c.held = rest
}

// settle writes what no response_item has repeated so far.
func (c *codex) settle() error { return c.release() }

func (c *codex) waits() bool { return len(c.held) > 0 }

// release writes what is still held back: nothing repeats it.
func (c *codex) release() error {
	for i := range c.held {
		c.w.account(outcome{kind: asEvent})
		if err := c.w.event(c.held[i].e); err != nil {
			return err
		}
	}
	c.held = nil
	return nil
}
