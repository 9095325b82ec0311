package importer

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// headLines bounds how many lines Detect looks at.
const headLines = 50

// Detect tells the format of a log from its first bytes (up to 256 KB are worth giving). The last line of head may be
// cut off. A line that tells nothing, or that is torn, is passed over. Errors wrap ErrFormat and list what is understood.
func Detect(head []byte) (Format, error) {
	known := formats()
	handlers := make([]handler, len(known))
	for i, k := range known {
		handlers[i] = k.make(newWriter(nil, k.name))
	}
	rest := bytes.TrimPrefix(head, []byte("\uFEFF"))
	for n := 0; n < headLines && len(rest) > 0; n++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		o := parseObject(bytes.TrimLeft(line, " \t\r\x00"))
		for i, h := range handlers {
			if o != nil && h.isRecord(o) {
				return known[i].name, nil
			}
		}
	}
	return "", fmt.Errorf("%w: %s; understood are %s", ErrFormat, describe(head), names())
}

// describe says what the head looks like instead.
func describe(head []byte) string {
	switch t := bytes.TrimSpace(head); {
	case len(t) == 0:
		return "it is empty"
	case !utf8.Valid(t[:min(len(t), 64)]) || bytes.IndexByte(t, 0) >= 0:
		return "it is binary"
	case t[0] == '{':
		return "its JSON objects are of another kind"
	}
	return "its lines are not JSON objects"
}

func names() string {
	var list []string
	for _, f := range formats() {
		list = append(list, string(f.name))
	}
	return strings.Join(list, ", ")
}
