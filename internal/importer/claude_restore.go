package importer

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// original undoes what an export changed in a record of Claude Code's log (claudeLog): the member ctxfs holds what
// differs.
func (c *claude) original(o object) object {
	x := o.obj("ctxfs")
	if x == nil {
		return o
	}
	m, rest := o.obj("message"), o.without("type", "message", "ctxfs")
	if note := x.obj("message"); note != nil {
		if m = note; m.get("content") == nil {
			m = append(m, member{"content", o.get("content")})
		}
		rest = rest.without("subtype", "content")
	}
	if list := x.get("content"); list != nil {
		written := elements(m.get("content"))
		if s := m.get("content"); written == nil && s != nil {
			written = []json.RawMessage{textBlock(text(s))}
		}
		m = parseObject(patched(m, object{{"content", restored(written, elements(list))}}))
	}
	if id := x.get("message_id"); id != nil {
		m = parseObject(patched(m, object{{"id", id}}))
	}
	if p := x.get("parent"); p != nil {
		rest = append(rest.without("parentUuid", "logicalParentUuid"), member{"parentUuid", p})
	}
	typ := "user"
	if m.str("role") == "assistant" {
		typ = "assistant"
	}
	return append(rest, member{"type", quote(typ)}, member{"message", m.encode()})
}

// difference describes block: by the number n of written when they are the same, by {"of": n, "with": members} when some
// members differ, else by {"is": block}.
func difference(n int, written, block json.RawMessage) json.RawMessage {
	if bytes.Equal(written, block) {
		return digits(n)
	}
	var with object
	w := parseObject(written)
	for _, m := range parseObject(block) {
		if !bytes.Equal(w.get(m.key), m.val) {
			with = append(with, m)
		}
	}
	var l builder
	if w == nil || !bytes.Equal(inOrder(patched(w, with)), inOrder(block)) {
		l.raw("is", block)
		return l.end()
	}
	l.raw("of", digits(n))
	l.raw("with", with.encode())
	return l.end()
}

// restored returns the blocks that list describes (difference) beside those that were written.
func restored(written, list []json.RawMessage) json.RawMessage {
	var out []json.RawMessage
	at := func(n json.RawMessage) json.RawMessage {
		if i, err := strconv.Atoi(string(n)); err == nil && i >= 0 && i < len(written) {
			return written[i]
		}
		return nil
	}
	for _, e := range list {
		block := at(e)
		if o := parseObject(e); o.get("of") != nil {
			block = patched(parseObject(at(o.get("of"))), o.obj("with"))
		} else if is := o.get("is"); is != nil {
			block = is
		}
		if block != nil {
			out = append(out, block)
		}
	}
	return list2raw(out)
}

// patched returns o with the members of with: in their place, or at the end.
func patched(o, with object) json.RawMessage {
	out := append(object{}, o...)
	for _, m := range with {
		at := slices.IndexFunc(out, func(old member) bool { return old.key == m.key })
		if at < 0 {
			out = append(out, m)
		} else {
			out[at].val = m.val
		}
	}
	return out.encode()
}
