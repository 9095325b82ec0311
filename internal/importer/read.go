package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// documents is a handler of a format whose conversations are JSON documents: a file is one, or has one on each line, or
// is a list of them. Where the format also has logs of records, it is a handler of those too.
type documents interface {
	handler
	// holds tells whether v, an object or a list, is a conversation. v may be cut off behind its first members.
	holds(v json.RawMessage) bool
	// conversation takes v apart and books each part.
	conversation(v json.RawMessage) error
	// label names v among the conversations of one file; "" leaves it to its number.
	label(v json.RawMessage) string
}

// maxDocument bounds a document, which is held in memory as a whole.
const maxDocument = 1 << 30

// errTooLarge tells of a document beyond maxDocument.
var errTooLarge = errors.New("the document is larger than 1 GiB")

// reader reads one file. It hands its records to the handler of the session that they belong to.
type reader struct {
	format   format
	open     func(label string) (Sink, error)
	progress func(int64)
	read     int64
	probe    handler   // answers questions about the format; nothing is written with it
	docs     documents // probe, if it is one
	// The session that is read now; nil before the first.
	w       *writer
	h       handler
	used    bool // something was written to it
	number  int  // of sessions that were opened
	reports []Report
}

func newReader(f format, open func(string) (Sink, error), progress func(int64)) *reader {
	d := &reader{format: f, open: open, progress: progress, probe: f.make(newWriter(nil, f.name))}
	d.docs, _ = d.probe.(documents)
	return d
}

// readAll reads lines, or one document that stands on many lines.
func (d *reader) readAll(in io.Reader) error {
	r := bufio.NewReaderSize(in, 1<<16)
	if t, ok := d.probe.(texts); ok {
		return d.text(r, t)
	}
	if d.docs == nil {
		return d.lines(r, 1)
	}
	first, err := r.ReadBytes('\n')
	if err != nil && err != io.EOF {
		return fmt.Errorf("line 1: %w", err)
	}
	all := io.MultiReader(bytes.NewReader(first), r)
	if json.Valid(withoutBOM(first)) {
		return d.lines(bufio.NewReaderSize(all, 1<<16), 1)
	}
	data, err := io.ReadAll(io.LimitReader(all, maxDocument+1))
	switch {
	case err != nil:
		return err
	case len(data) > maxDocument:
		return errTooLarge
	}
	return d.document(data)
}

func withoutBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\uFEFF")) }

// document reads a value that spans several lines or is cut off, and what follows it as lines. Without such a value, data are
// the lines of a log: the first line may hold two records.
func (d *reader) document(data []byte) error {
	doc := d.cutDocument(data)
	if doc.value == nil || !d.docs.holds(doc.value) && bytes.IndexByte(doc.value, '\n') < 0 {
		return d.lines(bufio.NewReader(bytes.NewReader(data)), 1)
	}
	if err := d.value(doc.value, source{}, len(bytes.TrimSpace(doc.tail)) > 0); err != nil {
		return err
	}
	for _, bad := range doc.bad {
		if err := d.w.importError(1, bad); err != nil {
			return err
		}
	}
	whole := data[:len(data)-len(doc.tail)]
	d.w.rep.Lines += nonBlank(whole)
	d.advance(len(whole))
	return d.lines(bufio.NewReader(bytes.NewReader(doc.tail)), 1+bytes.Count(whole, []byte{'\n'}))
}

// cutOut is a document in the bytes of a file.
type cutOut struct {
	value json.RawMessage // nil: there is none
	tail  []byte          // what follows it
	bad   []piece         // what cannot be read of it
}

func (d *reader) cutDocument(data []byte) cutOut {
	var doc cutOut
	rest := bytes.TrimSpace(withoutBOM(bytes.TrimSpace(data)))
	if len(rest) == 0 || (rest[0] != '{' && rest[0] != '[') {
		return doc
	}
	if !utf8.Valid(rest) {
		doc.bad = []piece{{raw: rest, bad: badUTF8}}
		rest = bytes.ToValidUTF8(rest, []byte("\uFFFD"))
	}
	raw, err := firstValue(rest)
	switch {
	case err == nil && depth(raw) <= maxDepth:
		doc.value = raw
		if doc.bad == nil { // else the lines behind it are in what is kept
			doc.tail = data[len(data)-len(bytes.TrimLeft(data, " \t\r\n\uFEFF"))+len(raw):]
		}
	case err != nil && d.docs.holds(rest):
		value, at := mend(rest)
		if !json.Valid(value) || depth(value) > maxDepth {
			return cutOut{} // more than its end is missing
		}
		doc.value = value
		doc.bad = append(doc.bad, piece{raw: rest[at:], bad: badTorn})
	}
	return doc
}

func nonBlank(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) > 0 {
			n++
		}
	}
	return n
}

// lines reads one value after the other, from line n on.
func (d *reader) lines(r *bufio.Reader, n int) error {
	for ; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if werr := d.line(line, n, moreIn(r)); werr != nil {
			return fmt.Errorf("line %d: %w", n, werr)
		}
		if werr := d.pause(n); werr != nil {
			return fmt.Errorf("line %d: %w", n, werr)
		}
		if len(line) > 0 {
			d.advance(len(line))
		}
		if err == io.EOF {
			return nil
		}
	}
}

// moreIn tells whether anything but white space follows, as far as it is at hand.
func moreIn(r *bufio.Reader) bool {
	head, _ := r.Peek(256) // an error comes again when it is read
	return len(bytes.TrimSpace(head)) > 0
}

func (d *reader) advance(n int) {
	d.read += int64(n)
	if d.progress != nil {
		d.progress(d.read)
	}
}

// line hands the values of one line to their session, and what is none to its events.
func (d *reader) line(line []byte, n int, more bool) error {
	pieces, blank := splitLine(line, d.probe)
	if blank {
		return nil
	}
	for i, p := range pieces {
		if err := d.piece(p, source{line: n, nth: i}, more || i < len(pieces)-1); err != nil {
			return err
		}
	}
	d.w.rep.Lines++
	return nil
}

// piece takes what stands on a line. A list is no record, but may be a conversation.
func (d *reader) piece(p piece, src source, more bool) error {
	if p.bad == badObject && d.docs != nil && depth(p.raw) <= maxDepth && d.docs.holds(p.raw) {
		p.bad = ""
	}
	if p.bad == "" {
		return d.value(p.raw, src, more)
	}
	if err := d.begun(); err != nil {
		return err
	}
	return d.w.importError(src.line, p)
}

// begun opens a session when none is, and notes that something is written to it.
func (d *reader) begun() error {
	if d.h == nil {
		if err := d.next(""); err != nil {
			return err
		}
	}
	d.used = true
	return nil
}

// value takes a record, a conversation, or a list of conversations. more tells that others follow.
func (d *reader) value(raw json.RawMessage, src source, more bool) error {
	if d.docs == nil || !d.docs.holds(raw) {
		return d.object(raw, src)
	}
	list := elements(raw)
	if len(list) == 0 || list[0][0] != '{' || !d.docs.holds(list[0]) {
		return d.talk(raw, more)
	}
	for i, v := range list {
		take := func() error { return d.object(v, source{index: i + 1}) }
		if d.docs.holds(v) {
			take = func() error { return d.talk(v, more || len(list) > 1) }
		}
		if err := take(); err != nil {
			return err
		}
	}
	return nil
}

// object takes one record of the session that is read.
func (d *reader) object(raw json.RawMessage, src source) error {
	if err := d.begun(); err != nil {
		return err
	}
	return d.w.book(raw, src, d.h.record)
}

// talk takes one conversation, in a session of its own.
func (d *reader) talk(raw json.RawMessage, several bool) error {
	if d.h == nil || d.used {
		label := ""
		if several || d.number > 0 {
			label = firstSet(d.docs.label(raw), strconv.Itoa(d.number+1))
		}
		if err := d.next(label); err != nil {
			return err
		}
	}
	d.used = true
	return d.h.(documents).conversation(raw)
}

// next ends the session that is read, and opens another.
func (d *reader) next(label string) error {
	if err := d.end(); err != nil {
		return err
	}
	sink, err := d.open(label)
	if err != nil {
		return err
	}
	d.number++
	d.w = newWriter(sink, d.format.name)
	d.h, d.used = d.format.make(d.w), false
	return nil
}

// titled is a handler that finds out what the session is called from several records.
type titled interface{ title() string }

// report returns the report of the session that is read, as it is so far.
func (d *reader) report() Report {
	rep := d.w.report()
	if h, ok := d.h.(titled); ok {
		rep.Title = firstSet(h.title(), rep.Title)
	}
	return rep
}

// end writes what the session still held back, and closes its books.
func (d *reader) end() error {
	if d.h == nil {
		return nil
	}
	if err := d.h.end(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	rep, sink := d.report(), d.w.sink
	d.reports = append(d.reports, rep)
	d.w, d.h = nil, nil
	if s, ok := sink.(Ended); ok {
		return s.End(rep)
	}
	return nil
}
