// Package importer turns the log that a coding agent left into ctxfs records: messages for messages.jsonl, events for
// events.jsonl, pictures for the blob store. It reads a stream and writes to a Sink; it opens no file and keeps no
// state between imports. One log is one session. The same bytes in give the same bytes out.
//
// Every JSON object of the log has exactly one fate (a message, part of a message, an event, or skipped for a named
// reason), and Report adds them up: see Report.Check.
//
// What the formats look like, and their traps: claude.go and codex.go.
package importer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Sink takes what an import writes, in order. Lines are JSON objects without '\n'; the Sink may keep them.
type Sink interface {
	// Message takes a line for messages.jsonl.
	Message(line []byte) error
	// Event takes a line for events.jsonl.
	Event(line []byte) error
	// Blob keeps data (a decoded image or document) and returns its reference, as "blake3-<hex>". It is called
	// before the record that names it.
	Blob(data []byte) (ref string, err error)
}

// Format names a kind of log.
type Format string

// The formats that are understood.
const (
	ClaudeCode Format = "claude-code" // ~/.claude/projects/<cwd>/<session>.jsonl
	Codex      Format = "codex"       // ~/.codex/sessions/<date>/rollout-<time>-<session>.jsonl
)

// handler knows one format. It is made for one import.
type handler interface {
	// isRecord tells whether o can be a record of this format. Detect and the salvage of torn lines ask it; o may
	// lack its last members.
	isRecord(o object) bool
	// starts lists how a record of this format begins, to find one behind a torn line.
	starts() []string
	// record takes one object of the log and says what became of it.
	record(src source) (outcome, error)
	// end writes what was held back.
	end() error
}

// format is one entry of the list of formats.
type format struct {
	name Format
	make func(*writer) handler
}

// formats lists what is understood, in the order in which Detect asks.
func formats() []format {
	return []format{
		{ClaudeCode, newClaude},
		{Codex, newCodex},
	}
}

// ErrFormat is the reason why a log cannot be imported: it is in no format that is understood here.
var ErrFormat = errors.New("not a session log of a known format")

// Import reads r whole as one session in format f and writes it to s. onProgress, which may be nil, is told the
// number of bytes consumed so far, after each line. A line that cannot be read is no error: it becomes an event of
// type "import_error" and is counted in Report.Bad. Errors are those of r and s, and ErrFormat; the Report then tells
// how far the import came.
func Import(r io.Reader, f Format, s Sink, onProgress func(bytes int64)) (Report, error) {
	w := newWriter(s, f)
	h, err := newHandler(f, w)
	if err != nil {
		return w.report(), err
	}
	if err := readAll(bufio.NewReaderSize(r, 1<<16), w, h, onProgress); err != nil {
		return w.report(), err
	}
	if err := h.end(); err != nil {
		return w.report(), fmt.Errorf("import %s: at the end: %w", f, err)
	}
	return w.report(), nil
}

func newHandler(f Format, w *writer) (handler, error) {
	for _, k := range formats() {
		if k.name == f {
			return k.make(w), nil
		}
	}
	return nil, fmt.Errorf("%w: %q; understood are %s", ErrFormat, f, names())
}

func readAll(r *bufio.Reader, w *writer, h handler, onProgress func(int64)) error {
	var read int64
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("import %s: line %d: %w", w.rep.Format, n, err)
		}
		if werr := takeLine(w, h, n, line); werr != nil {
			return fmt.Errorf("import %s: line %d: %w", w.rep.Format, n, werr)
		}
		read += int64(len(line))
		if onProgress != nil && len(line) > 0 {
			onProgress(read)
		}
		if err == io.EOF {
			return nil
		}
	}
}

// takeLine hands the objects of one line to h, and what is no object to the events.
func takeLine(w *writer, h handler, n int, line []byte) error {
	pieces, blank := splitLine(line, h)
	if blank {
		return nil
	}
	w.rep.Lines++
	for i, p := range pieces {
		if p.bad != "" {
			if err := w.importError(n, p); err != nil {
				return err
			}
			continue
		}
		w.rep.Records++
		src := source{line: n, nth: i, obj: parseObject(p.raw)}
		w.sawTime(src.obj.str("timestamp"))
		out, err := h.record(src)
		if err != nil {
			return err
		}
		w.account(out)
	}
	return nil
}
