package importer

import (
	"crypto/sha256"
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
	calls, results, err := g.tools(o)
	if err != nil {
		return outcome{}, err
	}
	all := append(append(append(g.thoughts(o), blocks...), calls...), results...)
	if len(all) == 0 {
		g.follow(id, g.parent())
		return skip("empty"), nil
	}
	return g.write(src, g.base(src), all)
}

// base starts the message that a record leads to.
func (g *gemini) base(src source) message {
	o := src.obj
	m := message{id: firstSet(o.str("id"), src.name("gemini-cli-")), role: "user", created: o.str("timestamp"), parent: g.parent(), native: g.native(src, nil)}
	if o.str("type") != "user" {
		m.role, m.model, m.usage = "assistant", o.str("model"), usageOf(o.obj("tokens"))
	} else if words := geminiWords(o); geminiContext(words) {
		m.meta, m.typ = true, instructions
		g.w.rep.CWD = firstSet(g.w.rep.CWD, geminiFolder(words))
	}
	if o.truth("compaction") {
		m.typ = "compaction"
	}
	m.meta = m.meta || o.truth("synthetic")
	if len(g.lines) > 1 {
		m.native.nums("lines", g.lines)
	}
	return m
}

// write writes those blocks of a message that the log did not hold before.
func (g *gemini) write(src source, m message, all []json.RawMessage) (outcome, error) {
	own, usage := src.obj.str("id"), m.usage
	c, again := g.copies[own]
	if again {
		m.native.str("continues", own)
		m.usage = added(parseObject(c.usage), parseObject(usage))
	} else {
		c = &geminiCopy{said: map[digest]bool{}}
		if err := g.more(&m.native, geminiRest(src.obj)); err != nil {
			return outcome{}, err
		}
	}
	blocks := g.unsaid(c, all, again)
	if len(blocks) == 0 {
		g.follow(own, firstSet(g.tree[own], g.parent()))
		return skip("logged again"), nil
	}
	last, err := g.turn(src, m, blocks)
	if own != "" {
		g.copies[own] = &geminiCopy{usage: usage, said: c.said}
	}
	g.follow(own, last)
	return outcome{kind: asMessage}, err
}

// geminiRest returns what no other member of a record of a session has a place for.
func geminiRest(o object) object {
	rest := o.without("id", "timestamp", "type", "content", "parts", "model", "tokens", "thoughts", "toolCalls", "compaction", "synthetic")
	if string(rest.get("displayContent")) == string(o.get("content")) {
		return rest.without("displayContent")
	}
	return rest
}

// unsaid lists the blocks that were not written before: texts and thoughts of this message, calls and results of any.
func (g *gemini) unsaid(c *geminiCopy, all []json.RawMessage, again bool) []json.RawMessage {
	var list []json.RawMessage
	for _, raw := range all {
		if !g.repeats(c, raw, again) {
			list = append(list, raw)
		}
	}
	if n := len(all) - len(list); n > 0 && len(list) > 0 {
		g.w.rep.Omitted["logged again"] += n
	}
	return list
}

// repeats reports whether a block repeats one that was written, and notes it otherwise. Two texts of one copy may be equal.
func (g *gemini) repeats(c *geminiCopy, raw json.RawMessage, again bool) bool {
	b := parseObject(raw)
	switch b.str("type") {
	case "tool_use":
		return g.asked(b.str("id"), sha256.Sum256([]byte(b.str("name")+"\x00"+string(b.get("input")))))
	case "tool_result":
		id := b.str("tool_use_id")
		was := id != "" && g.solved[id]
		g.solved[id] = true
		return was
	}
	d := sha256.Sum256(raw)
	was := again && c.said[d]
	c.said[d] = true
	return was
}

// asked reports whether a call was written, and notes it. Another call of the same id has another result.
func (g *gemini) asked(id string, call digest) bool {
	if id == "" {
		return false
	}
	if old, ok := g.done[id]; ok && old == call {
		return true
	}
	g.done[id] = call
	delete(g.solved, id)
	return false
}

// geminiWords returns the text of a message of a chat.
func geminiWords(o object) string {
	if s := o.str("content"); s != "" {
		return s
	}
	var all strings.Builder
	for _, raw := range elements(firstSaid(o.get("content"), o.get("parts"))) {
		all.WriteString(firstSet(text(raw), parseObject(raw).str("text")))
	}
	return all.String()
}

// geminiFolder returns the folder that the program was started in, as its words say it.
func geminiFolder(words string) string {
	for _, before := range []string{"Workspace Directories:**\n  - ", "I'm currently working in the directory: "} {
		if _, behind, ok := strings.Cut(words, before); ok {
			dir, _, _ := strings.Cut(behind, "\n")
			return strings.TrimSpace(dir)
		}
	}
	return ""
}

// geminiContext reports whether words are what the program says about itself and the folder when it starts.
func geminiContext(words string) bool {
	words = strings.TrimSpace(words)
	return strings.HasPrefix(words, "<session_context>") || strings.HasPrefix(words, "This is the Gemini CLI. We are setting up the context for our chat.")
}

// parent gives the last message of the conversation as it stands.
func (g *gemini) parent() string {
	if len(g.chain) == 0 {
		return ""
	}
	return g.chain[len(g.chain)-1].id
}

// follow adds a message to the conversation, or what a later copy of its last one added.
func (g *gemini) follow(own, id string) {
	g.stand(own, id)
	if k := len(g.chain) - 1; own != "" && k >= 0 && g.chain[k].own == own {
		g.chain[k].id = id
		return
	}
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
		content, err := g.response(ownResult(c.get("result"), id))
		if err != nil {
			return nil, nil, err
		}
		res := parseObject(toolResult(id, content, oneOf(c.str("status"), "error", "cancelled")))
		results = append(results, append(res, g.display(c, content)...).encode())
	}
	return calls, results, nil
}

// ownResult leaves out of a call's result the responses to other calls: in a replaced history, each of several calls has those
// of all.
func ownResult(list json.RawMessage, id string) json.RawMessage {
	var own []json.RawMessage
	found := false
	for _, raw := range elements(list) {
		r := parseObject(raw).obj("functionResponse").str("id")
		found = found || r == id
		if r == "" || r == id {
			own = append(own, raw)
		}
	}
	if !found {
		return list
	}
	return list2raw(own)
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
