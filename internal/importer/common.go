package importer

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// common is what the handlers of most formats share.
type common struct {
	w    *writer
	tree map[string]string // id of any record: the id of the message that stands for it, "" when none does
	last map[string]string // record type: its last value, for those that are logged again and again
}

func newCommon(w *writer) common {
	return common{w: w, tree: map[string]string{}, last: map[string]string{}}
}

// end writes nothing: most formats hold nothing back.
func (c *common) end() error { return nil }

// stand notes that the message id stands for the record named own: records that name it as their parent answer that
// message.
func (c *common) stand(own, id string) {
	if own != "" {
		c.tree[own] = id
	}
}

// native starts the native part of what a record leads to, with those members of o that say something.
func (c *common) native(src source, o object, keys ...string) builder {
	var n builder
	n.str("format", string(c.w.rep.Format))
	src.place(&n)
	for _, k := range keys {
		if v := o.get(k); !void(v) {
			n.raw(k, v)
		}
	}
	return n
}

// more writes into a native part what else is known, without inline pictures. Names that the part has itself get a "_".
func (c *common) more(n *builder, o object) error {
	raw, err := c.w.withoutMedia(o.said().encode())
	if err != nil {
		return err
	}
	for _, m := range parseObject(raw) {
		if oneOf(m.key, "format", "line", "index", "parentId", "called_line", "unanswered") {
			m.key += "_"
		}
		n.raw(m.key, m.val)
	}
	return nil
}

// note writes an event whose data are the members of o that say something.
func (c *common) note(src source, typ, id, created string, o object) (outcome, error) {
	e := event{typ: typ, id: id, created: created, data: o.said(), native: c.native(src, nil)}
	return outcome{kind: asEvent}, c.w.event(&e)
}

// beside writes an event that stands beside what a record led to.
func (c *common) beside(src source, typ, created string, o object) error {
	c.w.rep.MoreEvents++
	_, err := c.note(src, typ, "", created, o)
	return err
}

// news tells whether a value of that type is another than the last.
func (c *common) news(typ string, o object) bool {
	now := string(compact(o.encode()))
	if c.last[typ] == now {
		return false
	}
	c.last[typ] = now
	return true
}

// each books the elements of a document's list of records.
func (c *common) each(list json.RawMessage, fn func(source) (outcome, error)) error {
	for i, raw := range elements(list) {
		if err := c.w.book(raw, source{index: i + 1}, fn); err != nil {
			return err
		}
	}
	return nil
}

// head books what a document says beside its records, as an event.
func (c *common) head(typ string, o object) error {
	c.w.rep.Records++
	out, err := c.note(source{}, typ, "", "", o)
	c.w.account(out)
	return err
}

// turn writes what one record says as up to two messages: the results of tools as one of role "tool", the rest as base,
// in the order in which they begin. Both have base's native part; the second answers the first. It gives the last's id.
func (c *common) turn(src source, base message, blocks []json.RawMessage) (string, error) {
	var results, words []json.RawMessage
	for _, b := range blocks {
		if parseObject(b).str("type") == "tool_result" {
			results = append(results, b)
		} else {
			words = append(words, b)
		}
	}
	parts := []message{base, base}
	parts[0].content, parts[1].content = words, results
	parts[1].role, parts[1].usage, parts[1].model, parts[1].typ, parts[1].meta = "tool", nil, "", "", false
	if len(results) > 0 && parseObject(blocks[0]).str("type") == "tool_result" {
		parts[0], parts[1] = parts[1], parts[0]
	}
	id, parent, written := base.id, base.parent, 0
	for i := range parts {
		m := &parts[i]
		if len(m.content) == 0 {
			continue
		}
		if m.parent, m.id = parent, id; written > 0 && id != "" {
			m.id += "." + m.role
		}
		m.id = c.w.newID(m.id, src)
		if err := c.w.message(m); err != nil {
			return "", err
		}
		parent = m.id
		written++
	}
	c.w.rep.MoreMessages += max(written-1, 0)
	return parent, nil
}

// said gives the members of o whose values say something.
func (o object) said() object {
	var list object
	for _, m := range o {
		if !void(m.val) {
			list = append(list, m)
		}
	}
	return list
}

// objects gives those elements of a list that are objects.
func objects(list json.RawMessage) []json.RawMessage {
	return slices.DeleteFunc(elements(list), func(raw json.RawMessage) bool { return raw[0] != '{' })
}

func digits(n int) json.RawMessage { return strconv.AppendInt(nil, int64(n), 10) }

// stamp gives a time as RFC 3339 text: a text stays as it is, a number is Unix time in milliseconds, or in seconds
// when it is too small for that.
func stamp(raw json.RawMessage) string {
	if s := text(raw); s != "" {
		return s
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f <= 0 || f > 1e14 {
		return ""
	}
	if f < 1e11 {
		f *= 1000
	}
	return time.UnixMilli(int64(f)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// toolUse writes a call. extra are further members that say something.
func toolUse(id, name string, input json.RawMessage, extra object) json.RawMessage {
	var b builder
	b.str("type", "tool_use")
	b.str("id", id)
	b.str("name", name)
	b.raw("input", input)
	b.all(extra)
	return b.end()
}

// toolResult writes what a tool gave back: content is a text or a list of blocks.
func toolResult(id string, content json.RawMessage, failed bool) json.RawMessage {
	var b builder
	b.str("type", "tool_result")
	b.str("tool_use_id", id)
	b.raw("content", content)
	b.yes("is_error", failed)
	return b.end()
}

// thinking writes reasoning.
func thinking(text, signature string, sealed bool) json.RawMessage {
	var b builder
	b.str("type", "thinking")
	b.raw("thinking", quote(text))
	b.str("signature", signature)
	b.yes("encrypted", sealed)
	return b.end()
}

// arguments gives a call's arguments as a JSON object: they may be logged as one, or as a text that holds one.
func arguments(raw json.RawMessage) json.RawMessage {
	if parseObject(raw) != nil {
		return raw
	}
	var b builder
	s := text(raw)
	if o := []byte(s); json.Valid(o) && parseObject(o) != nil && depth(o) <= maxDepth/2 {
		return o
	}
	if s != "" {
		b.raw("_raw", quote(s))
	} else if !void(raw) {
		b.raw("_raw", raw)
	}
	return b.end()
}
