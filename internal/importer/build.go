package importer

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// builder writes a JSON object member by member, in the order of the calls. Empty values are left out.
type builder struct{ b []byte }

func (l *builder) raw(key string, val []byte) {
	if len(val) == 0 {
		return
	}
	if l.b == nil {
		l.b = append(l.b, '{')
	} else {
		l.b = append(l.b, ',')
	}
	l.b = append(appendText(l.b, key), ':')
	l.b = append(l.b, val...)
}

func (l *builder) str(key, s string) {
	if s != "" {
		l.raw(key, quote(s))
	}
}

func (l *builder) num(key string, n int) { l.raw(key, strconv.AppendInt(nil, int64(n), 10)) }

// yes writes key when it holds.
func (l *builder) yes(key string, holds bool) {
	if holds {
		l.raw(key, []byte("true"))
	}
}

func (l *builder) strs(key string, list []string) {
	if len(list) == 0 {
		return
	}
	vals := make([]json.RawMessage, len(list))
	for i, s := range list {
		vals[i] = quote(s)
	}
	l.raw(key, list2raw(vals))
}

func (l *builder) nums(key string, list []int) {
	vals := make([]json.RawMessage, len(list))
	for i, n := range list {
		vals[i] = strconv.AppendInt(nil, int64(n), 10)
	}
	l.raw(key, list2raw(vals))
}

// all writes the members of o whose values say something.
func (l *builder) all(o object) {
	for _, m := range o {
		if !void(m.val) {
			l.raw(m.key, m.val)
		}
	}
}

func (l *builder) end() []byte {
	if l.b == nil {
		return []byte("{}")
	}
	return append(l.b, '}')
}

// encode writes o as it stands.
func (o object) encode() []byte {
	var l builder
	for _, m := range o {
		l.raw(m.key, m.val)
	}
	return l.end()
}

func list2raw(vals []json.RawMessage) []byte {
	b := []byte{'['}
	for i, v := range vals {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}

func quote(s string) json.RawMessage { return appendText(nil, s) }

// appendText appends s as a JSON string. Unlike json.Marshal it leaves <, > and & alone: they are common in code.
func appendText(b []byte, s string) []byte {
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil { // a string always encodes
		return append(b, `""`...)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
}

// compact takes the white space out of valid JSON.
func compact(raw []byte) []byte {
	var buf bytes.Buffer
	buf.Grow(len(raw))
	if json.Compact(&buf, raw) != nil {
		return raw
	}
	return buf.Bytes()
}
