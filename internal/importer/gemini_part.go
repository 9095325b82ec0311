package importer

import (
	"encoding/json"
	"strings"
)

// content takes a record of a saved history: {role, parts}.
func (g *gemini) content(src source) (outcome, error) {
	o := src.obj
	blocks, err := g.blocks(o.get("parts"))
	if err != nil {
		return outcome{}, err
	}
	if len(blocks) == 0 {
		return g.note(src, "content", "", stamp(firstSaid(o.get("timestamp"), o.get("ts"))), o)
	}
	m := message{id: src.name("gemini-cli-"), role: "user", created: stamp(firstSaid(o.get("timestamp"), o.get("ts"))), parent: g.parent(), native: g.native(src, nil)}
	if o.str("role") != "user" {
		m.role = "assistant"
	}
	if err := g.more(&m.native, o.without("role", "parts", "timestamp", "ts")); err != nil {
		return outcome{}, err
	}
	if blocks = g.unsaid(&geminiCopy{said: map[digest]bool{}}, blocks, false); len(blocks) == 0 {
		return skip("logged again"), nil
	}
	last, err := g.turn(src, m, blocks)
	g.follow("", last)
	return outcome{kind: asMessage}, err
}

// part gives one part in its written form. Parts of unknown kinds stay as they are.
func (g *gemini) part(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) > 0 && raw[0] == '"' {
		return textBlock(text(raw)), nil
	}
	p := parseObject(raw)
	switch {
	case p.obj("inlineData") != nil:
		return g.media(p)
	case p.obj("fileData") != nil:
		return fileBlock(p.obj("fileData").str("fileUri"), p.obj("fileData").str("mimeType"), p.without("fileData")), nil
	case p.obj("functionCall") != nil:
		c := p.obj("functionCall")
		id := firstSet(c.str("id"), g.callID(c.str("name")))
		return toolUse(id, c.str("name"), arguments(c.get("args")), p.without("functionCall", "type", "id", "name", "input")), nil
	case p.obj("functionResponse") != nil:
		return g.answered(p.obj("functionResponse"), raw)
	case p.get("text") != nil && p.truth("thought"):
		return append(object{{"type", quote("thinking")}, {"thinking", p.get("text")}}, p.without("text", "thought", "type", "thinking")...).encode(), nil
	case p.get("text") != nil:
		return p.ordered("text", "text"), nil
	}
	return g.w.withoutMedia(raw)
}

// media keeps inline data: a picture, a sound, or any other file.
func (g *gemini) media(p object) (json.RawMessage, error) {
	d := p.obj("inlineData")
	mime := d.str("mimeType")
	if d.str("data") == "" {
		return p.encode(), nil
	}
	return g.w.keep(picture{typ: mediaKind(mime), mediaType: mime, data: d.str("data"), rest: append(p.without("inlineData"), d.without("mimeType", "data")...).without("type", "source")})
}

// mediaKind says what a block of that media type is called.
func mediaKind(mime string) string {
	switch first, _, _ := strings.Cut(mime, "/"); first {
	case "image", "audio":
		return first
	}
	return "document"
}

// fileBlock writes a file that stands elsewhere.
func fileBlock(url, mime string, rest object) json.RawMessage {
	var src, b builder
	src.str("type", "url")
	src.str("url", url)
	src.str("media_type", mime)
	b.str("type", mediaKind(mime))
	b.raw("source", src.end())
	b.all(rest.without("type", "source"))
	return b.end()
}

// answered writes a response of a saved history. Without an id it is that of the oldest open call of its tool.
func (g *gemini) answered(r object, raw json.RawMessage) (json.RawMessage, error) {
	id, name := r.str("id"), r.str("name")
	if open := g.open[name]; id == "" && len(open) > 0 {
		id, g.open[name] = open[0], open[1:]
	}
	content, err := g.response(list2raw([]json.RawMessage{raw}))
	return toolResult(id, content, parseObject(r.get("response")).get("error") != nil), err
}
