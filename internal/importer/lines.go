package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"
)

// source is one JSON object of the log and where it stands.
type source struct {
	line  int // from 1; 0 when it is an element of a document
	nth   int // which piece of its line, from 0: racing writers leave two objects on one line
	index int // which element of its document, from 1; 0 when it stands on a line of its own
	obj   object
}

// name gives an id for a record that brought none, or whose id is taken.
func (s source) name(prefix string) string {
	id := prefix + strconv.Itoa(max(s.line, s.index))
	if s.nth > 0 {
		id += "." + strconv.Itoa(s.nth+1)
	}
	return id
}

// place writes where a record stands.
func (s source) place(n *builder) {
	if s.line > 0 {
		n.num("line", s.line)
	}
	if s.index > 0 {
		n.num("index", s.index)
	}
}

// piece is a part of a line: a JSON object, or, when bad is set, bytes that are none and why.
type piece struct {
	raw []byte
	bad string
}

// Why bytes of a log are no record.
const (
	badJSON   = "not JSON"
	badObject = "not a JSON object"
	badTorn   = "torn last line"
	badUTF8   = "not UTF-8"
	badNUL    = "NUL bytes"
	badDeep   = "nested too deep"
)

const (
	// maxDepth bounds the nesting of a record, so that what wraps it stays below encoding/json's limit of 10,000.
	maxDepth = 9000
	// maxTries bounds the search for records behind the torn bytes of one line.
	maxTries = 256
)

// splitter cuts one line into its objects and what stands between them.
type splitter struct {
	h     handler
	last  bool // the line has no '\n': the log ends in it
	tries int  // how often a record behind torn bytes may still be looked for
}

// splitLine cuts a line. A line that is not UTF-8 is kept whole as a bad piece, and its objects are read with U+FFFD in
// place of the broken bytes.
func splitLine(line []byte, h handler) (pieces []piece, blank bool) {
	rest := bytes.TrimSpace(line)
	if len(rest) == 0 {
		return nil, true
	}
	sp := &splitter{h: h, last: line[len(line)-1] != '\n', tries: maxTries}
	if utf8.Valid(rest) {
		return sp.split(bytes.TrimPrefix(rest, []byte("\uFEFF"))), false
	}
	pieces = []piece{{raw: rest, bad: badUTF8}}
	for _, p := range sp.split(bytes.ToValidUTF8(rest, []byte("\uFFFD"))) {
		if p.bad == "" {
			pieces = append(pieces, p)
		}
	}
	return pieces, false
}

func (sp *splitter) split(rest []byte) []piece {
	if json.Valid(rest) {
		return []piece{classify(rest)}
	}
	var pieces []piece
	for len(rest) > 0 {
		raw, err := firstValue(rest)
		if err == nil {
			pieces = append(pieces, classify(raw))
			rest = bytes.TrimSpace(rest[len(raw):])
			continue
		}
		at := sp.next(rest)
		torn := sp.last && at == len(rest) && errors.Is(err, io.ErrUnexpectedEOF)
		pieces = append(pieces, piece{raw: rest[:at], bad: why(rest[:at], torn)})
		rest = rest[at:]
	}
	return pieces
}

// next finds where the next whole record starts behind torn bytes; len(b) when there is none. A torn line can hold
// whole objects (a message's content blocks), so what is found must look like a record of this format.
func (sp *splitter) next(b []byte) int {
	for at := 1; sp.tries > 0; sp.tries-- {
		next := len(b)
		for _, s := range sp.h.starts() {
			if i := bytes.Index(b[at:next], []byte(s)); i >= 0 {
				next = at + i
			}
		}
		if next == len(b) {
			break
		}
		if raw, err := firstValue(b[next:]); err == nil && sp.h.isRecord(parseObject(raw)) {
			return next
		}
		at = next + 1
	}
	return len(b)
}

// firstValue gives the JSON value at the start of b. A bare word counts as broken: it is no record anyway.
func firstValue(b []byte) ([]byte, error) {
	if b[0] != '{' && b[0] != '[' && b[0] != '"' {
		return nil, errors.New(badJSON)
	}
	var raw json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&raw); err != nil {
		return nil, err
	}
	return b[:len(raw)], nil
}

func classify(raw []byte) piece {
	switch {
	case raw[0] != '{':
		return piece{raw: raw, bad: badObject}
	case depth(raw) > maxDepth:
		return piece{raw: raw, bad: badDeep}
	}
	return piece{raw: raw}
}

func why(raw []byte, torn bool) string {
	switch {
	case torn:
		return badTorn
	case len(bytes.Trim(raw, "\x00")) == 0:
		return badNUL
	}
	return badJSON
}
