package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

func printJSON(w io.Writer, v any) error { return encodeJSON(w, v, "  ") }

// encodeJSON writes a value on a line, or on several with an indent. A terminal gets control characters, and those that turn the direction
// of text, as JSON's own escapes: the value is the same.
func encodeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	data := b.Bytes()
	if isTerminal(w) {
		data = []byte(printableJSON(b.String()))
	}
	_, err := w.Write(data)
	return err
}

// printableJSON escapes what an encoder leaves as it is: DEL, C1, and what turns the direction of text. All stand in strings only.
func printableJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unsafeRune(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// unsafeRune tells what a terminal may obey. None is beyond U+FFFF.
func unsafeRune(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// show writes bytes of a session as they are, but for a terminal: there they are made printable, as ls(1) does with names.
func show(w io.Writer, data []byte) error {
	if isTerminal(w) {
		data = []byte(printable(string(data)))
	}
	_, err := w.Write(data)
	return err
}

// printable makes text from a session safe for a terminal: control characters, which could move the cursor or change
// the window's title, and those that turn the direction of text, are shown as escapes; newlines and tabs stay.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if !unsafeRune(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return b.String()
}
