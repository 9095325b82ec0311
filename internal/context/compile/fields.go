package compile

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"ctxfs/internal/swap"
)

// Extra holds the members of an authored object that have no meaning here. They are kept.
type Extra map[string]json.RawMessage

// fields reads the members of one object. The first thing that is wrong stays, and what is read after it is empty.
type fields struct {
	file string
	line int
	at   string // before the names of members: rules[2].
	m    Extra
	err  error
}

func (f *fields) bad(field, format string, args ...any) {
	if f.err == nil {
		f.err = &Problem{File: f.file, Line: f.line, Field: f.at + field, Text: fmt.Sprintf(format, args...)}
	}
}

// take gives a member and marks it as known.
func (f *fields) take(field string) json.RawMessage {
	v := f.m[field]
	delete(f.m, field)
	if string(v) == "null" {
		return nil
	}
	return v
}

// text reads a string of at most max bytes.
func (f *fields) text(field string, max int, required bool) string {
	v := f.take(field)
	if v == nil {
		if required {
			f.bad(field, "is missing: give it as a string")
		}
		return ""
	}
	var s string
	switch err := json.Unmarshal(v, &s); {
	case err != nil:
		f.bad(field, "is no string: put it in quotes")
	case len(s) > max:
		f.bad(field, "has %d bytes: %d at most, write the rest into a file and name it", len(s), max)
	case required && strings.TrimSpace(s) == "":
		f.bad(field, "is empty: say something, or remove the line")
	}
	return s
}

// word reads a word of an enumeration; fallback stands for none, and "" says that there must be one.
func (f *fields) word(field, fallback string, words ...string) string {
	s := f.text(field, MaxName, fallback == "")
	if s == "" && fallback != "" {
		return fallback
	}
	if f.err == nil && !slices.Contains(words, s) {
		f.bad(field, "%q is not known here: %s", clip(s), oneOf(words))
	}
	return s
}

// optional reads a word that need not be there.
func (f *fields) optional(field string, words ...string) string {
	if f.m[field] == nil {
		return ""
	}
	return f.word(field, "", words...)
}

// list reads a string or a list of strings.
func (f *fields) list(field string) []string {
	v := f.take(field)
	if v == nil {
		return nil
	}
	var one string
	if json.Unmarshal(v, &one) == nil {
		return f.names(field, []string{one})
	}
	var out []string
	if json.Unmarshal(v, &out) != nil {
		f.bad(field, "is no string and no list of strings")
	}
	return f.names(field, out)
}

func (f *fields) names(field string, out []string) []string {
	if len(out) > MaxList {
		f.bad(field, "has %d elements: %d at most", len(out), MaxList)
		return nil
	}
	for _, s := range out {
		if s == "" || len(s) > MaxName {
			f.bad(field, "has an element of %d bytes: from 1 to %d", len(s), MaxName)
		}
	}
	return out
}

// number reads a number from lo to hi; nil when there is none.
func (f *fields) number(field string, lo, hi float64) *float64 {
	v := f.take(field)
	if v == nil {
		return nil
	}
	var n float64
	if json.Unmarshal(v, &n) != nil {
		f.bad(field, "is no number")
	} else if n < lo || n > hi {
		f.bad(field, "is %v: from %v to %v", n, lo, hi)
	}
	return &n
}

// object reads an object as it is.
func (f *fields) object(field string) map[string]any {
	v := f.take(field)
	if v == nil {
		return nil
	}
	var out map[string]any
	if json.Unmarshal(v, &out) != nil {
		f.bad(field, "is no object: write it as {...}")
	}
	return out
}

func (f *fields) rest() Extra {
	if len(f.m) == 0 {
		return nil
	}
	return f.m
}

func clip(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

// readLines reads a file of JSON lines; read is called for each object. Blank lines are passed over.
func readLines(file string, data []byte, read func(f *fields)) error {
	if err := sound(file, data); err != nil {
		return err
	}
	n, entries := 0, 0
	for l := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		if entries++; entries > MaxLines {
			return &Problem{File: file, Line: n, Text: fmt.Sprintf("has more than %d entries: remove what does not hold any more", MaxLines)}
		}
		f := &fields{file: file, line: n}
		if f.m = members(l); f.m == nil {
			return &Problem{File: file, Line: n, Text: "is no JSON object: write one {...} a line"}
		}
		if read(f); f.err != nil {
			return f.err
		}
	}
	return nil
}

func sound(file string, data []byte) error {
	if len(data) > MaxFile {
		return &Problem{File: file, Text: fmt.Sprintf("has %d bytes: %d at most", len(data), MaxFile)}
	}
	if !utf8.Valid(data) {
		return &Problem{File: file, Text: "is not UTF-8: convert it"}
	}
	return nil
}

// members takes an object apart, nil when it is none or more than one.
func members(data []byte) Extra {
	var m Extra
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&m); err != nil {
		return nil
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil
	}
	return m
}

// ids gives each entry its id: its own, or one made of its text, so that it stays when lines before it go.
type ids map[string]int

func (seen ids) of(f *fields, prefix, text string) string {
	id := f.text("id", MaxName, false)
	if id == "" {
		h := swap.Sum([]byte(text))
		id = prefix + "-" + hex.EncodeToString(h[:4])
	}
	if first, again := seen[id]; again && f.err == nil {
		f.bad("id", "%q stands in line %d already: give it another, or remove one of the two", clip(id), first)
	}
	seen[id] = f.line
	return id
}
