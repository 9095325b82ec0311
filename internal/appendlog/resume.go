package appendlog

// Journal records the commits of a writer, so that the process after a crash knows what of them is in the log. The log's
// lock is held during both calls.
type Journal interface {
	// Begin records that n bytes of lines are about to be written at offset at of the log.
	Begin(at int64, n int)
	// End records the outcome: all of the bytes are in the log, or none of them.
	End(written bool)
}

// Rest is the state of a writer between two calls.
type Rest struct {
	Partial []byte // the unfinished line
	Ended   bool   // a '\n' that still comes belongs to the line before
	Over    bool   // the line became too long: what still comes of it is refused
	// Line counts the lines that the writer began. While it stays the same, Partial only grows.
	Line uint64
}

// Rest returns the state of w. It is valid until the next call.
func (w *Writer) Rest() Rest { return Rest{w.partial, w.ended, w.over, w.line} }

// SetJournal has j record each commit.
func (w *Writer) SetJournal(j Journal) { w.journal = j }

// Restore gives w the state of a writer of another process, which Rest returned there.
func (w *Writer) Restore(r Rest) {
	w.partial, w.ended, w.over, w.line = r.Partial, r.Ended, r.Over, r.Line
}

// Resume says that the first done bytes of the lines of the next commit are in the log already: they are not written
// again.
func (w *Writer) Resume(done int64) { w.done = done }

// Recovered returns the length of the log in bytes when it was opened and a torn last line was cut off.
func (l *Log) Recovered() int64 { return l.recovered }

// begin returns what is to be written of lines that are to be committed. The log's lock is held.
func (w *Writer) begin(lines []byte) []byte {
	rest := lines[min(w.done, int64(len(lines))):]
	w.done = 0
	return rest
}

// intend has the journal of w, which may be nil, record a commit that begins.
func (w *Writer) intend(at int64, n int) {
	if w != nil && w.journal != nil {
		w.journal.Begin(at, n)
	}
}

// settle has the journal of w, which may be nil, record the outcome of a commit.
func (w *Writer) settle(written bool) {
	if w != nil && w.journal != nil {
		w.journal.End(written)
	}
}

// clear drops the unfinished line.
func (w *Writer) clear() {
	w.partial = nil
	w.line++
}
