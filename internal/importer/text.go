package importer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// texts is a handler of a format that is no JSON. Its source records are the blocks that it tells apart.
type texts interface {
	handler
	// begins tells whether a line can be the first of such a log.
	begins(line string) bool
	// text takes the line with that number, without its end.
	text(n int, line string) error
}

// text reads a log that is no JSON.
func (d *reader) text(r *bufio.Reader, _ texts) error {
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if len(line) > 0 {
			if terr := d.textLine(n, line); terr != nil {
				return fmt.Errorf("line %d: %w", n, terr)
			}
			d.advance(len(line))
		}
		if err == io.EOF {
			return nil
		}
	}
}

// textLine takes one line. One that is not UTF-8 is kept whole, and read with U+FFFD in place of the broken bytes.
func (d *reader) textLine(n int, raw []byte) error {
	line := bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r"))
	if n == 1 {
		line = withoutBOM(line)
	}
	if len(bytes.TrimSpace(line)) == 0 && d.h == nil {
		return nil
	}
	if err := d.begun(); err != nil {
		return err
	}
	if len(bytes.TrimSpace(line)) > 0 {
		d.w.rep.Lines++
	}
	if !utf8.Valid(line) {
		if err := d.w.importError(n, piece{raw: line, bad: badUTF8}); err != nil {
			return err
		}
	}
	return d.h.(texts).text(n, strings.ToValidUTF8(string(line), "\uFFFD"))
}
