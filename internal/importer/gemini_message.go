package importer

import (
	"encoding/json"
	"strconv"
	"strings"
)

// message takes a message of a chat.
func (g *gemini) message(src source) (outcome, error) {
	o := src.obj
	id, typ := o.str("id"), o.str("type")
	if !oneOf(typ, "user", "gemini", "model") {
		g.follow(id, g.parent())
		e := event{typ: firstSet(typ, "unknown"), id: id, created: o.str("timestamp"), data: o.without("type", "id", "timestamp").said(), native: g.native(src, nil)}
		return outcome{kind: asEvent}, g.w.event(&e)
	}
	blocks, err := g.blocks(firstSaid(o.get("content"), o.get("parts")))
	if err != nil {
		return outcome{}, err
	}
	thoughts := g.thoughts(o)
	calls, results, err := g.tools(o)
	if err != nil {
		return outcome{}, err
	}
	blocks = append(append(append(thoughts, blocks...), calls...), results...)
	if len(blocks) == 0 {
		g.follow(id, g.parent())
		return skip("empty"), nil
	}
	m := message{id: firstSet(id, src.name("gemini-cli-")), role: "user", created: o.str("timestamp"), parent: g.parent(), native: g.native(src, nil)}
	if typ != "user" {
		m.role, m.model, m.usage = "assistant", o.str("model"), usageOf(o.obj("tokens"))
	}
	if o.truth("compaction") {
		m.typ = "compaction"
	}
	rest := o.without("id", "timestamp", "type", "content", "parts", "model", "tokens", "thoughts", "toolCalls", "compaction")
	if string(rest.get("displayContent")) == string(o.get("content")) {
		rest = rest.without("displayContent")
	}
	if err := g.more(&m.native, rest); err != nil {
		return outcome{}, err
	}
	last, err := g.turn(src, m, blocks)
	g.follow(id, last)
	g.gotten[id] = string(compact(o.encode()))
	return outcome{kind: asMessage}, err
}

// parent gives the last message of the conversation as it stands.
func (g *gemini) parent() string {
	if len(g.chain) == 0 {
		return ""
	}
	return g.chain[len(g.chain)-1].id
}

// follow adds a message to the conversation.
func (g *gemini) follow(own, id string) {
	g.stand(own, id)
	g.chain = append(g.chain, link{own, id})
}

func (g *gemini) thoughts(o object) []json.RawMessage {
	var list []json.RawMessage
	for _, raw := range elements(o.get("thoughts")) {
		t := parseObject(raw)
		if t == nil {
			continue
		}
		var b builder
		b.str("type", "thinking")
		b.raw("thinking", quote(t.str("description")))
		b.all(t.without("description", "type", "thinking"))
		list = append(list, b.end())
	}
	return list
}

// tools gives an answer's calls, and the results of those that have one.
func (g *gemini) tools(o object) (calls, results []json.RawMessage, err error) {
	for _, raw := range elements(o.get("toolCalls")) {
		c := parseObject(raw)
		if c == nil {
			continue
		}
		id := firstSet(c.str("id"), g.callID(c.str("name")))
		calls = append(calls, toolUse(id, c.str("name"), arguments(c.get("args")), g.shown(c)))
		if void(c.get("result")) {
			continue
		}
		content, err := g.response(c.get("result"))
		if err != nil {
			return nil, nil, err
		}
		res := parseObject(toolResult(id, content, oneOf(c.str("status"), "error", "cancelled")))
		results = append(results, append(res, g.display(c, content)...).encode())
	}
	return calls, results, nil
}

// shown gives what a call shows beside its arguments.
func (g *gemini) shown(c object) object {
	return c.without("id", "name", "args", "result", "resultDisplay", "displayName", "renderOutputAsMarkdown", "type", "input")
}

// display keeps a result's display when it is a text that the result does not hold.
func (g *gemini) display(c object, content json.RawMessage) object {
	shown := c.get("resultDisplay")
	if void(shown) {
		return nil
	}
	if s := strings.TrimSpace(text(shown)); s != "" && !strings.Contains(text(content), s) {
		return object{{"display", shown}}
	}
	g.w.rep.Omitted["resultDisplay"]++
	return nil
}

// response gives the content of a result: the text of its output, and pictures beside it.
func (g *gemini) response(list json.RawMessage) (json.RawMessage, error) {
	var blocks []json.RawMessage
	items := elements(list)
	if items == nil {
		items = []json.RawMessage{list}
	}
	for _, raw := range items {
		r := parseObject(raw).obj("functionResponse")
		if r == nil {
			list, err := g.part(raw)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, list)
			continue
		}
		blocks = append(blocks, textBlock(outputOf(r.get("response"))))
		parts, err := g.blocks(r.get("parts"))
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, parts...)
	}
	if len(blocks) == 1 {
		if b := parseObject(blocks[0]); b.str("type") == "text" {
			return b.get("text"), nil
		}
	}
	return list2raw(blocks), nil
}

// outputOf gives a response's text: its output or its error, or else all of it.
func outputOf(raw json.RawMessage) string {
	o := parseObject(raw)
	for _, key := range []string{"output", "error"} {
		if v := o.get(key); v != nil && len(o) == 1 {
			if v[0] == '"' {
				return text(v)
			}
			return string(compact(v))
		}
	}
	if s := text(raw); s != "" {
		return s
	}
	return string(compact(raw))
}

// callID names a call that has no id.
func (g *gemini) callID(name string) string {
	g.calls++
	id := "call-" + strconv.Itoa(g.calls)
	g.open[name] = append(g.open[name], id)
	return id
}

// blocks gives a list of parts, or a text, in its written form.
func (g *gemini) blocks(raw json.RawMessage) ([]json.RawMessage, error) {
	parts := elements(raw)
	if parts == nil && !void(raw) {
		parts = []json.RawMessage{raw}
	}
	var list []json.RawMessage
	for _, p := range parts {
		b, err := g.part(p)
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}
