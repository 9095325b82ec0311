package importer

import (
	"encoding/json"
	"slices"
)

// called notes that a message holds a call. Its start, if it came first, only repeats it.
func (c *copilot) called(id string) {
	c.asked[id] = true
	if _, ok := c.started[id]; ok {
		c.forget(id)
		c.w.account(skip("repeats the call"))
	}
}

func (c *copilot) forget(id string) {
	delete(c.started, id)
	c.order = slices.DeleteFunc(c.order, func(o string) bool { return o == id })
}

// start takes the start of a tool.
func (c *copilot) start(src source, d object) (outcome, error) {
	id := d.str("toolCallId")
	if _, again := c.started[id]; c.asked[id] || again {
		return c.drop(src, "repeats the call")
	}
	if id == "" {
		return c.keep(src, d)
	}
	c.stand(src.obj.str("id"), c.parent(src.obj))
	c.started[id] = src
	c.order = append(c.order, id)
	return outcome{kind: later}, nil
}

// own writes a call that no message held as a message at the given line: messages stand in the order of their lines.
func (c *copilot) own(id string, line int, answered bool) error {
	src, ok := c.started[id]
	if !ok {
		return nil
	}
	c.forget(id)
	c.asked[id] = true
	d, called := src.obj.obj("data"), src.line
	src.line = line
	m := c.message(src, d, "assistant")
	m.native.num("called_line", called)
	m.native.yes("unanswered", !answered)
	m.model = firstSet(d.str("model"), c.model)
	m.content = []json.RawMessage{toolUse(id, d.str("toolName"), arguments(d.get("arguments")), nil)}
	c.alone[id] = m.id
	out, err := c.write(src, d.without("toolCallId", "toolName", "arguments", "model"), m)
	c.w.account(out)
	return err
}

// waits tells whether there are calls that no message held so far.
func (c *copilot) waits() bool { return len(c.order) > 0 }

// settle writes them.
func (c *copilot) settle() error {
	for c.waits() {
		if err := c.own(c.order[0], c.line, false); err != nil {
			return err
		}
	}
	return nil
}

// end is settle.
func (c *copilot) end() error { return c.settle() }

// complete takes what a tool gave back.
func (c *copilot) complete(src source, d object) (outcome, error) {
	id := d.str("toolCallId")
	if err := c.own(id, src.line, true); err != nil {
		return outcome{}, err
	}
	res := d.obj("result")
	content, err := c.result(d, res)
	if err != nil {
		return outcome{}, err
	}
	m := c.message(src, d, "tool")
	m.parent = firstSet(c.alone[id], m.parent)
	m.content = []json.RawMessage{toolResult(id, content, string(d.get("success")) == "false")}
	rest := d.without("toolCallId", "success", "result", "error", "toolTelemetry", "model")
	for _, r := range res.without("content", "contents") {
		if s := text(r.val); r.key != "detailedContent" || s != res.str("content") {
			rest = append(rest, r)
		}
	}
	rest = append(rest, d.obj("error").without("message")...)
	if !void(d.get("toolTelemetry")) {
		c.w.rep.Omitted["toolTelemetry"]++
	}
	return c.write(src, rest, m)
}

// result gives the content of a tool's result: blocks when there are pictures among them, else what the model was shown.
func (c *copilot) result(d, res object) (json.RawMessage, error) {
	if list := elements(res.get("contents")); hasMedia(list) {
		blocks, err := c.w.blocks(res.get("contents"))
		return list2raw(blocks), err
	}
	for _, v := range []json.RawMessage{res.get("content"), d.obj("error").get("message"), d.get("error")} {
		if s := text(v); s != "" {
			return quote(s), nil
		}
		if !void(v) {
			return quote(string(compact(v))), nil
		}
	}
	return quote(""), nil
}
