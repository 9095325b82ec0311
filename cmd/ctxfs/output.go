package main

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode"
)

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
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
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return b.String()
}
