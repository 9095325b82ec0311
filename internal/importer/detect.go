package importer

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// headLines bounds how many lines Detect looks at.
const headLines = 50

// Detect tells the format of a log from its first bytes (up to 256 KB are worth giving). The end of head may be cut
// off. A line that tells nothing, or that is torn, is passed over. Errors wrap ErrFormat and list what is understood:
// head tells nothing, or it could be one of several formats.
func Detect(head []byte) (Format, error) {
	a := newAsker()
	rest := bytes.TrimLeft(withoutBOM(head), " \t\r\n\x00")
	claims := a.whole(rest)
	if len(claims) == 0 && !isPretty(rest) {
		claims = a.lines(rest)
	}
	switch len(claims) {
	case 0:
		return "", fmt.Errorf("%w: %s; understood are %s", ErrFormat, describe(head), names())
	case 1:
		return claims[0], nil
	}
	return "", fmt.Errorf("%w: it could be any of %s; say which (of %s)", ErrFormat, joined(claims), names())
}

// asker asks every format.
type asker struct {
	known    []format
	handlers []handler
}

func newAsker() *asker {
	a := &asker{known: formats()}
	for _, k := range a.known {
		a.handlers = append(a.handlers, k.make(newWriter(nil, k.name)))
	}
	return a
}

func (a *asker) claims(is func(handler) bool) []Format {
	var list []Format
	for i, h := range a.handlers {
		if is(h) {
			list = append(list, a.known[i].name)
		}
	}
	return list
}

// whole asks whose document head begins.
func (a *asker) whole(head []byte) []Format {
	if len(head) == 0 || (head[0] != '{' && head[0] != '[') {
		return nil
	}
	return a.claims(func(h handler) bool {
		d, ok := h.(documents)
		return ok && d.holds(head)
	})
}

// lines asks whose the lines are. A line that is only a message tells less than one that has its program's own marks.
func (a *asker) lines(head []byte) []Format {
	var weak []Format
	for n := 0; n < headLines && len(head) > 0; n++ {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte{'\n'})
		claims := a.line(bytes.TrimLeft(line, " \t\r\x00"))
		if len(claims) == 1 && claims[0] == Messages {
			weak = claims
		} else if len(claims) > 0 {
			return claims
		}
	}
	return weak
}

// line asks whose record or document a line is.
func (a *asker) line(line []byte) []Format {
	o := parseObject(line)
	if o == nil {
		return a.claims(func(h handler) bool {
			t, ok := h.(texts)
			return ok && t.begins(string(line))
		})
	}
	return a.claims(func(h handler) bool {
		d, ok := h.(documents)
		return h.isRecord(o) || ok && d.holds(line)
	})
}

// isPretty tells whether head is a JSON document on many lines: its lines are no records.
func isPretty(head []byte) bool {
	first, rest, _ := bytes.Cut(head, []byte{'\n'})
	first = bytes.TrimRight(first, " \t\r")
	if len(first) == 1 && (first[0] == '{' || first[0] == '[') {
		return true
	}
	return bytes.ContainsAny(first[max(len(first)-1, 0):], "{[,") && len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t')
}

// describe says what the head looks like instead.
func describe(head []byte) string {
	switch t := bytes.TrimSpace(head); {
	case len(t) == 0:
		return "it is empty"
	case !utf8.Valid(t[:min(len(t), 64)]) || bytes.IndexByte(t, 0) >= 0:
		return "it is binary"
	case t[0] == '{' || t[0] == '[':
		return "its JSON is of another kind"
	}
	return "its lines are neither JSON objects nor a chat in Markdown"
}

func joined(list []Format) string {
	var all []string
	for _, f := range list {
		all = append(all, string(f))
	}
	return strings.Join(all, ", ")
}
