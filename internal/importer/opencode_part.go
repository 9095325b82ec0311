package importer

import (
	"encoding/json"
	"strings"
)

// steps is a message of opencode while it is written: an assistant's holds several steps.
type steps struct {
	c       *opencode
	src     source
	info    object
	created string
	parent  string // the message before
	first   string // the first message that was written
	content []json.RawMessage
	results []json.RawMessage
	ended   string // when the last result came
	written int
	own     int // parts that opencode did not write
	events  []string
}

// part takes one part.
func (a *steps) part(p object) error {
	if p == nil {
		return nil
	}
	switch t := p.str("type"); t {
	case "step-start", "step-finish", "snapshot":
		a.c.w.rep.Omitted[t]++
		if t == "step-start" && len(a.results) > 0 {
			return a.flush()
		}
		return nil
	case "patch", "retry", "compaction":
		a.events = append(a.events, t)
		created := stamp(p.obj("time").get("created"))
		return a.c.beside(a.src, t, firstSet(created, a.created), bare(p).without("type"))
	case "tool":
		return a.tool(p)
	}
	b, err := a.block(p)
	if err != nil {
		return err
	}
	if len(a.results) > 0 {
		if err := a.flush(); err != nil {
			return err
		}
	}
	if !p.truth("synthetic") {
		a.own++
	}
	a.content = append(a.content, b)
	return nil
}

// bare gives a part without what its message says already.
func bare(p object) object { return p.without("id", "sessionID", "messageID").said() }

// block gives a part in its written form.
func (a *steps) block(p object) (json.RawMessage, error) {
	b := bare(p).without("time")
	switch p.str("type") {
	case "text":
		return append(object{{"type", quote("text")}, {"text", quote(p.str("text"))}}, b.without("type", "text")...).encode(), nil
	case "reasoning":
		return append(object{{"type", quote("thinking")}, {"thinking", quote(p.str("text"))}}, b.without("type", "text", "thinking")...).encode(), nil
	case "file":
		return a.file(b)
	}
	return a.c.w.withoutMedia(b.encode())
}

// file writes a file: its data, or where it is.
func (a *steps) file(b object) (json.RawMessage, error) {
	kind := mediaKind(b.str("mime"))
	if pic, ok := findPicture(b); ok {
		pic.typ = kind
		return a.c.w.keep(pic)
	}
	return fileBlock(b.str("url"), b.str("mime"), b.without("url", "mime", "type")), nil
}

// tool takes a call, and its result when there is one.
func (a *steps) tool(p object) error {
	s := p.obj("state")
	a.own++
	a.content = append(a.content, toolUse(p.str("callID"), p.str("tool"), arguments(s.get("input")), nil))
	failed := s.str("status") == "error"
	if !failed && s.get("output") == nil {
		return nil
	}
	said := s.get("output")
	if failed {
		said = firstSaid(s.get("error"), said)
	}
	content, err := a.output(said, s.get("attachments"))
	if err != nil {
		return err
	}
	more, err := a.c.w.withoutMedia(a.more(s, text(said)).encode())
	if err != nil {
		return err
	}
	res := append(parseObject(toolResult(p.str("callID"), content, failed)), parseObject(more)...)
	a.results = append(a.results, res.encode())
	a.ended = firstSet(stamp(s.obj("time").get("end")), a.created)
	return nil
}

// output gives a result's content: a text, or blocks when files are attached.
func (a *steps) output(said, files json.RawMessage) (json.RawMessage, error) {
	words := text(said)
	if words == "" && !void(said) {
		words = string(compact(said))
	}
	blocks := []json.RawMessage{textBlock(words)}
	for _, raw := range elements(files) {
		b, err := a.file(bare(parseObject(raw)))
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	if len(blocks) == 1 {
		return quote(words), nil
	}
	return list2raw(blocks), nil
}

// more gives what a state says beside its output.
func (a *steps) more(s object, output string) object {
	var list object
	for _, m := range s.obj("metadata") {
		if t := strings.TrimSpace(text(m.val)); t != "" && strings.Contains(output, t) {
			a.c.w.rep.Omitted["metadata that repeats the output"]++
		} else if !void(m.val) {
			list = append(list, m)
		}
	}
	var out object
	if t := s.get("title"); !void(t) {
		out = append(out, member{"title", t})
	}
	if len(list) > 0 {
		out = append(out, member{"metadata", list.encode()})
	}
	return out
}

// flush writes what was gathered of a step.
func (a *steps) flush() error {
	if len(a.content) > 0 {
		if err := a.say(); err != nil {
			return err
		}
	}
	if len(a.results) == 0 {
		return nil
	}
	m := a.message("tool", ".tool")
	m.content, m.created = a.results, a.ended
	a.results = nil
	return a.write(m)
}

// message starts a message of this answer. The first has the answer's own id.
func (a *steps) message(role, suffix string) *message {
	id := a.info.str("id")
	if a.written > 0 && id != "" {
		id += suffix
	}
	m := &message{id: a.c.w.newID(id, a.src), role: role, created: a.created, parent: a.parent, native: a.c.native(a.src, a.info, "sessionID", "parentID")}
	if a.first != "" && role != "tool" {
		m.native.str("continues", a.first)
	}
	return m
}

// say writes the words and calls.
func (a *steps) say() error {
	m := a.message(firstSet(a.info.str("role"), "assistant"), ".next")
	m.content, a.content = a.content, nil
	m.meta = m.role == "user" && a.own == 0
	if m.role == "assistant" {
		m.model = firstSet(a.info.str("modelID"), a.info.obj("model").str("modelID"))
		if a.info.truth("summary") {
			m.typ = "compaction"
		}
	}
	if a.first == "" {
		m.usage = opencodeUsage(a.info)
		if err := a.c.more(&m.native, a.info.without("id", "sessionID", "parentID", "role", "modelID", "tokens", "cost")); err != nil {
			return err
		}
	}
	return a.write(m)
}

func (a *steps) write(m *message) error {
	a.parent = m.id
	a.first = firstSet(a.first, m.id)
	a.written++
	return a.c.w.message(m)
}

// opencodeUsage gives the counts of tokens of all steps.
func opencodeUsage(info object) json.RawMessage {
	t := info.obj("tokens")
	cache := t.obj("cache")
	list := append(t.without("cache"), member{"cacheRead", cache.get("read")}, member{"cacheWrite", cache.get("write")})
	if len(t) > 0 {
		return usageOf(append(list, member{"cost", info.get("cost")}))
	}
	return nil
}
