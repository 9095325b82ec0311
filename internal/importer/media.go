package importer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// picture is an image, a document or a sound found inline in a log, in any of the forms in use.
type picture struct {
	typ       string // image, document, audio
	mediaType string
	data      string // base64
	rest      object // the other members of its block
}

// findPicture reads o as a block with inline data: {"source":{"type":"base64",...}} (Anthropic), {"image_url":
// "data:..."} with the URL as a string or an object, {"file":{"file_data":"data:..."}}, {"input_audio":{...}} (OpenAI), {"url":"data:..."}
// (OpenCode), {"data":...,"mimeType":...} (MCP, Gemini).
func findPicture(o object) (picture, bool) {
	p := picture{typ: blockType(o.str("type"))}
	if src := o.obj("source"); src.str("type") == "base64" {
		p.mediaType, p.data, p.rest = src.str("media_type"), src.str("data"), o.without("type", "source")
		return p, p.data != ""
	}
	for _, key := range []string{"image_url", "file_data", "file", "url"} {
		url := firstSet(o.str(key), o.obj(key).str("url"), o.obj(key).str("file_data"))
		if head, data, ok := strings.Cut(url, ";base64,"); ok && strings.HasPrefix(head, "data:") {
			p.mediaType, p.data, p.rest = strings.TrimPrefix(head, "data:"), data, o.without("type", key)
			return p, true
		}
	}
	if a := o.obj("input_audio"); a.str("data") != "" {
		p.mediaType, p.data, p.rest = "audio/"+a.str("format"), a.str("data"), o.without("type", "input_audio")
		return p, true
	}
	if t := o.str("mimeType"); t != "" && o.str("data") != "" {
		p.mediaType, p.data, p.rest = t, o.str("data"), o.without("type", "mimeType", "data")
		return p, true
	}
	return p, false
}

func blockType(t string) string {
	switch t {
	case "input_image", "image_url", "":
		return "image"
	case "input_file", "file":
		return "document"
	case "input_audio":
		return "audio"
	}
	return t
}

// keep hands the data of p to the sink and gives the block that names it. Data that is not base64 (some logs are
// redacted) is kept as the text that it is, and the block says so.
func (w *writer) keep(p picture) (json.RawMessage, error) {
	data, ok := decode(p.data)
	ref, err := w.sink.Blob(data)
	if err != nil {
		return nil, err
	}
	w.rep.Blobs++
	var src, l builder
	src.str("type", "ref")
	src.str("ref", ref)
	src.str("media_type", p.mediaType)
	src.num("bytes", len(data))
	if !ok {
		src.str("encoding", "base64")
	}
	l.str("type", p.typ)
	l.raw("source", src.end())
	l.all(p.rest)
	return l.end(), nil
}

// decode reads base64 with or without padding; when s is none, it gives s itself and false.
func decode(s string) ([]byte, bool) {
	clean := strings.TrimRight(strings.Map(dropSpace, s), "=")
	if data, err := base64.RawStdEncoding.DecodeString(clean); err == nil {
		return data, true
	}
	return []byte(s), false
}

func dropSpace(r rune) rune {
	if r == ' ' || r == '\n' || r == '\r' || r == '\t' {
		return -1
	}
	return r
}

// withoutMedia gives raw with every inline picture replaced by a reference, at any depth.
func (w *writer) withoutMedia(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || (!bytes.Contains(raw, []byte("base64")) && !bytes.Contains(raw, []byte(`"mimeType"`)) && !bytes.Contains(raw, []byte(`"input_audio"`))) {
		return raw, nil
	}
	switch raw[0] {
	case '[':
		list, err := w.eachWithoutMedia(elements(raw))
		return list2raw(list), err
	case '{':
		o := parseObject(raw)
		if p, ok := findPicture(o); ok {
			return w.keep(p)
		}
		return w.membersWithoutMedia(o)
	}
	return raw, nil
}

func (w *writer) eachWithoutMedia(list []json.RawMessage) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(list))
	for i, v := range list {
		var err error
		if out[i], err = w.withoutMedia(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (w *writer) membersWithoutMedia(o object) (json.RawMessage, error) {
	out := make(object, len(o))
	for i, m := range o {
		val, err := w.withoutMedia(m.val)
		if err != nil {
			return nil, err
		}
		out[i] = member{m.key, val}
	}
	return out.encode(), nil
}

// blocks gives a message's content in its written form: a list of blocks. A string is one text block.
func (w *writer) blocks(content json.RawMessage) ([]json.RawMessage, error) {
	list := elements(content)
	if list == nil && !void(content) {
		list = []json.RawMessage{content}
	}
	var out []json.RawMessage
	for _, raw := range list {
		b, err := w.block(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// block gives one content block in its written form: members in a fixed order, pictures by reference. Blocks of
// unknown types stay as they are.
func (w *writer) block(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) > 0 && raw[0] == '"' {
		return textBlock(text(raw)), nil
	}
	raw, err := w.withoutMedia(raw)
	if err != nil {
		return nil, err
	}
	return inOrder(raw), nil
}

// inOrder returns a block of a known type with its members in a fixed order.
func inOrder(raw json.RawMessage) json.RawMessage {
	o := parseObject(raw)
	switch o.str("type") {
	case "text", "input_text", "output_text":
		return o.ordered("text", "text")
	case "thinking":
		return o.ordered("thinking", "thinking", "signature")
	case "tool_use":
		return o.ordered("tool_use", "id", "name", "input")
	case "tool_result":
		if string(o.get("is_error")) == "false" {
			o = o.without("is_error")
		}
		return o.ordered("tool_result", "tool_use_id", "content", "is_error")
	}
	return raw
}

func textBlock(s string) json.RawMessage {
	var l builder
	l.str("type", "text")
	l.raw("text", quote(s))
	return l.end()
}

// ordered writes o with its type and the named members first, the others behind them.
func (o object) ordered(typ string, keys ...string) json.RawMessage {
	var l builder
	l.str("type", typ)
	for _, k := range keys {
		l.raw(k, o.get(k))
	}
	for _, m := range o {
		if m.key != "type" && !oneOf(m.key, keys...) {
			l.raw(m.key, m.val)
		}
	}
	return l.end()
}
