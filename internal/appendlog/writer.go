package appendlog

import (
	"bytes"

	"ctxfs/internal/record"
)

// Writer gathers one writer's bytes into lines. A writer is one open file description as one process has it: FUSE's
// (Fh, LockOwner). The caller keeps it from concurrent use.
type Writer struct {
	log     *Log
	partial []byte // the unfinished line
	// ended is set when Flush committed a line that lacked its '\n': one that still comes belongs to that line.
	ended bool
	// over is set when the line became too long, until its '\n': what still comes of it is refused for the same reason, and kept
	// with as little ado as in pieces of MaxLine.
	over bool

	journal Journal // nil: none
	done    int64   // bytes of the next commit's lines that are in the log already
	line    uint64  // counts the lines that were begun
}

// NewWriter starts a writer on l.
func (l *Log) NewWriter() *Writer { return &Writer{log: l} }

// Pending is the length of the unfinished line.
func (w *Writer) Pending() int { return len(w.partial) }

// Write takes the next bytes and commits the lines that they complete, in one piece. The first line that is not a
// record ends the write with its error (record.ErrNotObject or ErrTooLong): the lines before it stay committed; it
// and what follows it in data go to quarantine. A line that is too long is refused when it becomes so, and again whenever more
// of it comes, up to its '\n' or to a write that begins with a record.
func (w *Writer) Write(data []byte) error {
	ended := w.ended
	if ended && len(data) > 0 {
		w.ended = false
		if data = bytes.TrimPrefix(data, []byte{'\n'}); len(data) == 0 {
			return nil
		}
	}
	last := bytes.LastIndexByte(data, '\n')
	if last < 0 {
		return w.gather(data)
	}
	if w.over && !w.anew(data) {
		w.keep(w.partial, data, ErrTooLong)
		w.over = false
		w.clear()
		return ErrTooLong
	}
	whole, rest := data[:last+1], data[last+1:]
	if len(w.partial) > 0 {
		whole = append(w.partial[:len(w.partial):len(w.partial)], whole...)
	}
	good, count, err := goodLines(whole)
	if good > 0 {
		if cerr := w.log.commit(whole[:good], count, w); cerr != nil {
			w.ended = ended
			return cerr // nothing of data was taken: the writer can try again with the same bytes
		}
	}
	w.clear()
	if err != nil {
		w.keep(whole[good:], rest, err)
		return err
	}
	return w.gather(rest)
}

// anew tells whether data, which has a '\n', begins with a record: the writer has given the long line up. What was still
// gathered of that goes to quarantine.
func (w *Writer) anew(data []byte) bool {
	if record.Check(data[:bytes.IndexByte(data, '\n')+1]) != nil {
		return false
	}
	if len(w.partial) > 0 {
		w.keep(w.partial, nil, ErrTooLong)
	}
	w.over = false
	w.clear()
	return true
}

// gather adds to the unfinished line.
func (w *Writer) gather(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if len(w.partial)+len(data) >= MaxLine {
		w.keep(w.partial, data, ErrTooLong)
		w.over = true
		w.clear()
		return ErrTooLong
	}
	w.partial = append(w.partial, data...)
	if w.over {
		return ErrTooLong
	}
	return nil
}

// keep puts two pieces that belong together into quarantine. The writer has its line's error already: that it could not be
// kept adds nothing that it could act on.
func (w *Writer) keep(a, b []byte, why error) {
	_ = w.log.quarantine(bytes.Join([][]byte{a, b}, nil), why)
}

// goodLines gives the length of the lines at the head of whole that are records, how many they are, and why the next one is none.
func goodLines(whole []byte) (good, count int, err error) {
	for good < len(whole) {
		n := bytes.IndexByte(whole[good:], '\n') + 1
		if n > MaxLine {
			return good, count, ErrTooLong
		}
		if err := record.Check(whole[good : good+n]); err != nil {
			return good, count, err
		}
		good += n
		count++
	}
	return good, count, nil
}

// Flush is for a close(2) that may not be the last: an unfinished line that is a whole record is committed with its
// '\n'; one that is not is an error, and waits for more bytes or for Close.
func (w *Writer) Flush() error {
	if len(w.partial) == 0 {
		return nil
	}
	if err := record.Check(w.partial); err != nil && w.over {
		return ErrTooLong
	} else if err != nil {
		return err
	}
	if err := w.log.commit(append(w.partial, '\n'), 1, w); err != nil {
		return err
	}
	w.ended, w.over = true, false
	w.clear()
	return nil
}

// Close ends the writer: an unfinished line that Flush could not commit goes to quarantine.
func (w *Writer) Close() {
	err := w.Flush()
	if len(w.partial) > 0 {
		w.keep(w.partial, nil, err)
		w.clear()
	}
}
