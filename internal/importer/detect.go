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
	for n := 0; n < headLines && len(claims) == 0 && !isPretty(rest) && len(rest) > 0; n++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		claims = a.line(bytes.TrimLeft(line, " \t\r\x00"))
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

// line asks whose record or document a line is.
func (a *asker) line(line []byte) []Format {
	o := parseObject(line)
	if o == nil {
		return nil
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
	return "its lines are not JSON objects"
}

func joined(list []Format) string {
	var all []string
	for _, f := range list {
		all = append(all, string(f))
	}
	return strings.Join(all, ", ")
}
