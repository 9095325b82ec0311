package importer

import "encoding/json"

// run is an assistant's message that is still being collected from its records.
type run struct {
	m     message
	mid   string // message.id
	agent string
	src   source
	uuids []string
	lines []int
	extra object // native members; of two with one name the last wins
	usage json.RawMessage
}

// spent is what was written of one API message's usage.
type spent struct {
	id    string // the record that carries it
	usage string
}

// assistant starts a message, or adds to the one that is being collected.
func (c *claude) assistant(src source, m object, blocks []json.RawMessage) (outcome, error) {
	o, mid := src.obj, m.str("id")
	if r := c.run; r != nil && mid != "" && r.mid == mid && r.m.sidechain == c.sidechain(o) && r.agent == o.str("agentId") {
		c.grow(src, m, blocks)
		return outcome{kind: merged}, nil
	}
	if len(blocks) == 0 {
		return c.drop(src, "empty")
	}
	if err := c.flush(); err != nil {
		return outcome{}, err
	}
	c.run = &run{mid: mid, agent: o.str("agentId"), src: src, m: message{role: "assistant", id: c.w.newID(o.str("uuid"), src),
		created: o.str("timestamp"), parent: c.parent(o), model: m.str("model"), sidechain: c.sidechain(o)}}
	c.grow(src, m, blocks)
	return outcome{kind: asMessage}, nil
}

// grow adds a record to the message that is being collected.
func (c *claude) grow(src source, m object, blocks []json.RawMessage) {
	r, o := c.run, src.obj
	r.m.content = append(r.m.content, blocks...)
	// A message that the model did not write ("No response requested.") is the program's.
	r.m.meta = r.m.meta || o.truth("isMeta") || m.str("model") == "<synthetic>"
	r.lines = append(r.lines, src.line)
	if u := o.str("uuid"); u != "" {
		r.uuids = append(r.uuids, u)
	}
	if u := m.get("usage"); !void(u) {
		r.usage = u
	}
	extra := append(o.without(append(envelope(), "message", "requestId", "isApiErrorMessage")...),
		m.without("id", "type", "role", "content", "usage", "model")...)
	for _, e := range extra {
		if !void(e.val) {
			r.extra = append(r.extra.without(e.key), e)
		}
	}
	c.stand(o, r.m.id)
}

// cut writes the message that is being collected; what still comes of it makes another record.
func (c *claude) cut() error { return c.flush() }

// settle is cut: nothing else is held back.
func (c *claude) settle() error { return c.flush() }

func (c *claude) waits() bool { return c.run != nil }

// turnEnded reports whether the message that is being collected ends the model's turn. Every record of a message carries its
// stop_reason, so others may follow this one; Claude Code writes all of them at once.
func (c *claude) turnEnded() bool {
	return c.run != nil && oneOf(c.run.stopReason(), "end_turn", "stop_sequence", "max_tokens", "refusal", "model_context_window_exceeded")
}

// turnGoesOn reports whether the message that is being collected says that the turn is not over. Records of the version
// 2.0 say nothing (null).
func (c *claude) turnGoesOn() bool {
	return c.run != nil && oneOf(c.run.stopReason(), "tool_use", "pause_turn")
}

func (r *run) stopReason() string { return r.extra.str("stop_reason") }

// flush writes the message that is being collected: another message follows, or the log ends.
func (c *claude) flush() error {
	r := c.run
	if r == nil {
		return nil
	}
	c.run = nil
	n := c.native(r.src)
	if len(r.uuids) > 1 {
		n.strs("uuids", r.uuids)
	}
	if len(r.lines) > 1 {
		n.nums("lines", r.lines)
	}
	n.str("message_id", r.mid)
	n.str("request_id", r.src.obj.str("requestId"))
	var continues string
	r.m.usage, continues = c.spend(r)
	n.str("continues", continues)
	n.all(r.extra)
	r.m.native = n
	c.childAnswered(r)
	return c.w.message(&r.m)
}

// spend gives the usage that r's record carries, so that the sum over all records is what the API counted, and the
// record that carried the first part.
func (c *claude) spend(r *run) (usage json.RawMessage, continues string) {
	if r.mid == "" {
		return r.usage, ""
	}
	first, ok := c.usage[r.mid]
	if !ok {
		c.usage[r.mid] = spent{r.m.id, string(r.usage)}
		return r.usage, ""
	}
	if len(r.usage) > 0 {
		c.usage[r.mid] = spent{first.id, string(r.usage)}
	}
	return added(parseObject([]byte(first.usage)), parseObject(r.usage)), first.id
}

// added gives by how much the counts of now are greater than those of before; nil when none is.
func added(before, now object) json.RawMessage {
	var l builder
	for _, m := range now {
		n, ok := now.number(m.key)
		old, _ := before.number(m.key)
		if ok && n > old {
			l.num(m.key, int(n-old))
		}
	}
	if l.b == nil {
		return nil
	}
	return l.end()
}
