package appendlog

import "bytes"

// Journal is told how far a writer is, so that another process can go on where this one dies.
type Journal interface {
	// Begin is told before lines enter the log that they will stand at size. The log's lock is held.
	Begin(size int64)
}

// begun is where the lines of a writer's next commit may stand already.
type begun struct{ from, to int64 }

// Rest is how a writer stands between two calls.
type Rest struct {
	Partial []byte // the unfinished line
	Ended   bool   // a '\n' that still comes belongs to the line before
	Over    bool   // the line became too long: what still comes of it is refused
}

// Rest tells how w stands, valid until the next call.
func (w *Writer) Rest() Rest { return Rest{w.partial, w.ended, w.over} }

// SetJournal has j told of each commit.
func (w *Writer) SetJournal(j Journal) { w.journal = j }

// Restore makes w what a writer of another process was, as Rest told it.
func (w *Writer) Restore(r Rest) { w.partial, w.ended, w.over = r.Partial, r.Ended, r.Over }

// Resume says that the lines of the next commit were being committed at from when the process died, and that the log was as
// long as to when it was opened again: what stands there of them is not written twice. 0, 0 takes that back.
func (w *Writer) Resume(from, to int64) { w.begun = begun{from, to} }

// begin gives what is to be written of lines that are to be committed. The log's lock is held.
func (w *Writer) begin(lines []byte) []byte {
	n := w.log.standing(lines, w.begun)
	w.begun = begun{}
	if n == 0 && w.journal != nil {
		w.journal.Begin(w.log.size.Load())
	}
	return lines[n:]
}

// standing tells how many bytes of lines stand in the log already; mu is held.
func (l *Log) standing(lines []byte, b begun) int {
	n := min(int64(len(lines)), b.to-b.from)
	if n <= 0 {
		return 0
	}
	have := make([]byte, n)
	if _, err := l.ReadAt(have, b.from); err != nil || !bytes.Equal(have, lines[:n]) {
		return 0
	}
	return int(n)
}
