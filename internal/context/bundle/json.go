package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// field is a member of an object as it stands in the file.
type field struct {
	name          string
	quoted, value json.RawMessage
}

// Foreign are the fields of an object that the format does not know, in their order and with their exact bytes. Only
// reading makes them.
type Foreign struct{ fields []field }

// Names lists the fields.
func (f Foreign) Names() []string {
	var out []string
	for i := range f.fields {
		out = append(out, f.fields[i].name)
	}
	return out
}

// Get gives the JSON of a field, nil when there is none.
func (f Foreign) Get(name string) json.RawMessage {
	for i := range f.fields {
		if f.fields[i].name == name {
			return f.fields[i].value
		}
	}
	return nil
}

// fieldsOf takes an object apart, which sound has looked at; ok is false for anything else than an object.
func fieldsOf(raw []byte) (fields []field, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		var f field
		from := d.InputOffset()
		t, err := d.Token()
		if err != nil {
			return nil, false
		}
		f.name, _ = t.(string)
		f.quoted = bytes.Clone(bytes.TrimLeft(raw[from:d.InputOffset()], ", \t\r\n"))
		if err := d.Decode(&f.value); err != nil {
			return nil, false
		}
		fields = append(fields, f)
	}
	return fields, true
}

// elementsOf takes a list apart.
func elementsOf(raw []byte) (list []json.RawMessage, ok bool) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	return list, json.Unmarshal(raw, &list) == nil
}

// sound tells whether data is one JSON value in valid UTF-8, with no name twice in an object and no more than maxDepth
// levels; else what is wrong, and in which line.
func sound(data []byte) (line int, text string) {
	if !utf8.Valid(data) {
		return lineAt(data, invalidAt(data)), "is not valid UTF-8"
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return lineAt(data, i), "has a NUL byte"
	}
	if at := tooDeep(data); at >= 0 {
		return lineAt(data, at), fmt.Sprintf("has more than %d objects or lists within each other", maxDepth)
	}
	var v json.RawMessage
	if err := json.Unmarshal(data, &v); err != nil {
		at := len(data)
		if bad := (*json.SyntaxError)(nil); errors.As(err, &bad) {
			at = int(bad.Offset) - 1
		}
		return lineAt(data, at), "is not JSON: " + err.Error()
	}
	if name, at := repeated(data); at >= 0 {
		return lineAt(data, at), "has the name " + short(name) + " twice in one object"
	}
	return 0, ""
}

func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n < 2 {
			return i
		}
		i += n
	}
	return len(data)
}

// tooDeep gives where data goes deeper than maxDepth, -1 when it does not. The parser itself would go on to 10,000.
func tooDeep(data []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

// repeated gives a name that an object has twice, and where its second stands; -1 when there is none. data is JSON.
func repeated(data []byte) (string, int) {
	type level struct {
		names map[string]bool // nil in a list
		name  bool            // a name comes next
	}
	stack := []level{{}}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			return "", -1 // the end
		}
		top := &stack[len(stack)-1]
		if s, ok := t.(string); ok && top.name {
			if top.names[s] {
				return s, int(d.InputOffset()) - 1
			}
			top.names[s], top.name = true, false
			continue
		}
		switch t {
		case json.Delim('{'):
			stack = append(stack, level{map[string]bool{}, true})
			continue
		case json.Delim('['):
			stack = append(stack, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
			top = &stack[len(stack)-1]
		}
		top.name = top.names != nil
	}
}

func lineAt(data []byte, at int) int {
	return 1 + bytes.Count(data[:max(0, min(at, len(data)))], []byte{'\n'})
}

// stringOf reads a JSON string. ok is false for another kind of value; bad says what no text holds.
func stringOf(raw []byte) (s, bad string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", "", false
	}
	switch {
	case strings.ContainsRune(s, 0):
		bad = "holds a NUL character"
	case strings.ContainsRune(s, utf8.RuneError) && loneSurrogate(raw):
		bad = "holds half of a surrogate pair"
	}
	return s, bad, true
}

// loneSurrogate tells whether a JSON string has more replacement characters when read than its text has.
func loneSurrogate(raw []byte) bool {
	var s string
	_ = json.Unmarshal(raw, &s) // was read before
	written := bytes.Count(raw, []byte("\uFFFD")) + bytes.Count(bytes.ToLower(raw), []byte(`\ufffd`))
	return strings.Count(s, "\uFFFD") > written
}

// quote writes a JSON string. What no text holds becomes U+FFFD.
func quote(s string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")) // a string always encodes
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'})
}
