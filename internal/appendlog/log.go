// Package appendlog keeps one append-only log of lines: messages.jsonl or events.jsonl of a session. Whole lines are
// committed in one piece; a torn line that a crash left is set aside when the log is opened; what is refused is
// kept. Bytes that are in the log are never changed. It knows packages record, thread and beneath.
package appendlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"ctxfs/internal/record"
	"ctxfs/internal/thread"

	"golang.org/x/sys/unix"
)

// MaxLine is the longest line that a log takes, in bytes with its '\n': 64 MiB. A longer one is ErrTooLong.
const MaxLine = 64 << 20

// ErrTooLong is the error of a line over MaxLine. Programs see EFBIG.
var ErrTooLong = fmt.Errorf("the line is longer than %d bytes", MaxLine)

// Quarantine keeps bytes that may not enter a log. why is for people. Its error says that they could not be kept.
type Quarantine func(data []byte, why error) error

// Prefix is the beginning of a log that was moved elsewhere, as into an archive. It ends with a whole line, and does not
// change. ReadAt is safe for concurrent use.
type Prefix interface {
	io.ReaderAt
	io.Closer
	Size() int64 // bytes
}

// Log is an open log. It is safe for concurrent use.
type Log struct {
	f          *os.File
	owner      uint32                  // of f: a user, who is the one to whom a full disk or a quota is told
	prefix     Prefix                  // nil: all of the log is in f
	base       int64                   // length of the prefix
	torn       error                   // why the log cannot be appended to; set by New
	quarantine Quarantine              // set before the log is used by more than one
	room       func(bytes int64) error // nil: there is no limit
	tally      *Tally                  // nil: nobody counts

	// mu is held while lines enter the file: it orders commits. Nothing else is locked under it.
	mu sync.Mutex
	// size is the length of the log in bytes: where the last whole line ends. Written under mu.
	size atomic.Int64
	// rest is that the file is longer: the beginning of a line that a full disk cut could not be taken back. Written under mu.
	rest atomic.Bool
	// lines is how many lines were committed since the log was opened.
	lines atomic.Int64
	// recovered is size as New left it.
	recovered int64

	sync groupSync
	disk durable
}

// New takes over f, which must be open for reading and appending (O_RDWR|O_APPEND). A torn last line is
// completed when only its '\n' is missing, else it goes to quarantine and is cut off. So do lines
// in which a power loss left a hole.
func New(f *os.File, q Quarantine) (*Log, error) { return NewAfter(nil, f, q) }

// NewAfter is New for a log whose beginning is prefix, and whose end is f. It takes over both.
func NewAfter(prefix Prefix, f *os.File, q Quarantine) (*Log, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	l := &Log{f: f, owner: st.Sys().(*syscall.Stat_t).Uid, quarantine: q}
	l.disk.flush = func() error { return unix.Fdatasync(int(f.Fd())) }
	l.startAfter(prefix)
	if err := l.recover(); err != nil {
		return nil, fmt.Errorf("recover %s: %w", f.Name(), err)
	}
	l.recovered = l.size.Load()
	return l, nil
}

func (l *Log) startAfter(prefix Prefix) {
	if prefix != nil {
		l.prefix, l.base = prefix, prefix.Size()
	}
}

// NewReader views the whole lines of f, which may be open for reading only, after those of prefix, which may be nil.
// Nothing is recovered or changed.
func NewReader(prefix Prefix, f *os.File) (*Log, error) {
	size, err := fileSize(f)
	if err != nil {
		return nil, err
	}
	tail, _, err := badTail(f, size)
	if err != nil {
		return nil, err
	}
	l := &Log{f: f}
	l.disk.flush = f.Sync // nothing was written by it
	l.startAfter(prefix)
	l.size.Store(l.base + size - int64(len(tail)))
	return l, nil
}

// SetQuarantine replaces the quarantine that New was given. Call it before the log has a writer.
func (l *Log) SetQuarantine(q Quarantine) { l.quarantine = q }

// recover finds the end of the last whole line.
func (l *Log) recover() error {
	size, err := fileSize(l.f)
	if err != nil {
		return err
	}
	tail, why, err := badTail(l.f, size)
	if err != nil {
		return err
	}
	l.size.Store(l.base + size)
	if len(tail) == 0 {
		return nil
	}
	if record.Check(tail) == nil {
		return l.Commit([]byte{'\n'})
	}
	whole := size - int64(len(tail))
	l.size.Store(l.base + whole)
	if err := l.quarantine(tail, why); err != nil {
		// A full disk, as a rule. Nothing is cut off that is not kept: the log can be read, and not appended to.
		l.torn = fmt.Errorf("a torn line cannot be set aside: %w", err)
		return nil
	}
	if err := l.f.Truncate(whole); err != nil {
		return err
	}
	if back := withoutHoles(tail); len(back) > 0 {
		if err := l.Commit(back); err != nil {
			return err
		}
	}
	return l.f.Sync()
}

// Torn returns why the log cannot be appended to until it is opened again: a torn last line could not be set aside, or
// the disk is read-only. nil: it can.
func (l *Log) Torn() error { return l.torn }

// Refuse has the log refuse appends with the error why. Call it before the log is used by more than one.
func (l *Log) Refuse(why error) { l.torn = why }

// fileSize is the length of a regular file. Another kind of file cannot be a log: EINVAL.
func fileSize(f *os.File) (int64, error) {
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: f.Name(), Err: unix.EINVAL}
	}
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// SetRoom has fn asked before bytes are appended: its error is the append's. Call it before the log has a writer.
func (l *Log) SetRoom(fn func(bytes int64) error) { l.room = fn }

// Tally counts what was appended to logs.
type Tally struct{ Lines, Bytes atomic.Int64 }

// Add counts lines, of so many bytes together.
func (t *Tally) Add(lines, bytes int) {
	t.Lines.Add(int64(lines))
	t.Bytes.Add(int64(bytes))
}

// SetTally has t count what writers append from now on. Call it before the log has one.
func (l *Log) SetTally(t *Tally) { l.tally = t }

// Commit appends whole lines in one piece. After an error nothing of them is in the log.
func (l *Log) Commit(lines []byte) error {
	return l.commit(lines, bytes.Count(lines, []byte{'\n'}), nil)
}

// commit is Commit of so many lines for a writer, which may be nil.
func (l *Log) commit(lines []byte, count int, w *Writer) error {
	if l.torn != nil {
		return l.torn
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.takeBack(); err != nil {
		return err
	}
	if w != nil {
		all := len(lines)
		if lines = w.begin(lines); len(lines) == 0 {
			return nil
		}
		if len(lines) < all { // the rest of what was begun
			count = bytes.Count(lines, []byte{'\n'})
		}
	}
	if l.room != nil {
		if err := l.room(int64(len(lines))); err != nil {
			return err
		}
	}
	w.intend(l.size.Load(), len(lines))
	n := 0
	err := thread.As(l.owner, func() (err error) {
		n, err = writeFull(l.f, lines)
		return err
	})
	if err != nil {
		l.rest.Store(n > 0)
		err = errors.Join(err, l.takeBack())
		w.settle(false)
		return err
	}
	l.size.Add(int64(len(lines)))
	l.lines.Add(int64(count))
	if l.tally != nil && w != nil {
		l.tally.Add(count, len(lines))
	}
	w.settle(true)
	return nil
}

// takeBack cuts off what a failed write left behind: it is no line, and the next one would be joined to it. Some file systems
// refuse that too while a quota is used up; then nothing is appended until they do not. mu is held.
func (l *Log) takeBack() error {
	if !l.rest.Load() {
		return nil
	}
	err := l.f.Truncate(l.size.Load() - l.base)
	l.rest.Store(err != nil)
	return err
}

// writeFull writes all of p, going on after a short write: the next try tells why it was short. It gives how much of p was
// written.
func writeFull(f *os.File, p []byte) (written int, err error) {
	for written < len(p) {
		n, err := unix.Write(int(f.Fd()), p[written:])
		if n > 0 {
			written += n
			continue
		}
		if err == nil {
			err = syscall.EIO
		}
		if err != unix.EINTR {
			return written, &os.PathError{Op: "write", Path: f.Name(), Err: err}
		}
	}
	return written, nil
}

// Size is the length of the log in bytes.
func (l *Log) Size() int64 { return l.size.Load() }

// Lines is the number of lines that were committed since the log was opened.
func (l *Log) Lines() int64 { return l.lines.Load() }

// ReadAt reads the log's bytes, as io.ReaderAt.
func (l *Log) ReadAt(p []byte, off int64) (int, error) {
	if off >= l.base {
		return l.f.ReadAt(p, off-l.base)
	}
	head := p[:min(int64(len(p)), l.base-off)]
	n, err := l.prefix.ReadAt(head, off)
	if n < len(head) || len(head) == len(p) {
		return n, err
	}
	m, err := l.f.ReadAt(p[n:], 0)
	return n + m, err
}

// File is the plain file that holds the whole log and nothing else, for the kernel to read from; nil when a part of the
// log is elsewhere, or a torn line stands behind it. Do not write to it.
func (l *Log) File() *os.File {
	if l.prefix != nil || l.torn != nil || l.rest.Load() {
		return nil
	}
	return l.f
}

// Close gives the file back.
func (l *Log) Close() error {
	l.mu.Lock()
	err := l.takeBack() // else the next New does
	l.mu.Unlock()
	err = errors.Join(err, l.f.Close())
	if l.prefix != nil {
		err = errors.Join(err, l.prefix.Close())
	}
	return err
}
