package watch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"ctxfs/internal/importer"
	"ctxfs/internal/intake"
)

// follower reads one log into its session.
type follower struct {
	w    *Watcher
	log  found
	id   fileID
	off  int64  // up to where the log was read: the end of a line
	size int64  // of the log when it was read: half a line may stand behind off
	tail []byte // what stands before that
	// The import so far; nil before the first step, and after a failure: then what the session has is found out again.
	stream *importer.Stream
	sink   *intake.Sink

	grew     time.Time // when the log was last written to
	unsynced bool      // since then, sync was not called
	retry    time.Time // not before; zero when the last step went well
	wait     time.Duration
	parent   parentage
	agents   map[string]string // the status of subagents that was entered in the session, by their ids
	refused  fs.FileInfo       // the log of which a line is not taken, however often it is tried; nil: none
}

// fileID tells files apart.
type fileID struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

func idOf(st fs.FileInfo) fileID {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return fileID{uint64(sys.Dev), sys.Ino} //nolint:unconvert // 32 bits on some hosts
	}
	return fileID{}
}

func (w *Watcher) newFollower(log found) *follower {
	return &follower{w: w, log: log}
}

// tailSize is how much of what was read is compared before more is read.
const tailSize = 1 << 10

// step reads what is new. A log that is another than it was is read from its start, into the session that it has or gets.
func (f *follower) step() error {
	file, err := openLog(f.log.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return f.close() // it may come again
		}
		return err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return err
	}
	if f.stream != nil && f.replaced(file, st) {
		f.w.cfg.Tell("%s is another log than it was: read from its start", f.log.path)
		if idOf(st) != f.id { // the other one cannot be read again
			if err := f.settle(); err != nil && !errors.Is(err, intake.ErrOther) {
				return err
			}
		}
		if err := f.close(); err != nil {
			return err
		}
	}
	if f.stream != nil {
		err := f.read(file, st)
		if !errors.Is(err, intake.ErrOther) { // a log that was cut short goes on otherwise
			return err
		}
		if err := f.close(); err != nil {
			return err
		}
	}
	return f.begin(file, st)
}

// replaced tells whether the file is another, is shorter, or says otherwise in what was read.
func (f *follower) replaced(file *os.File, st fs.FileInfo) bool {
	if idOf(st) != f.id || st.Size() < f.off {
		return true
	}
	now := make([]byte, len(f.tail))
	_, err := file.ReadAt(now, f.off-int64(len(now)))
	return err == nil && !bytes.Equal(now, f.tail)
}

// begin finds the log's session and reads the log from its start.
func (f *follower) begin(file *os.File, st fs.FileInfo) error {
	was := f.w.named(f.w.agent(f.log.format), f.log.path)
	for n := 0; n <= intake.MaxNames; n++ {
		name := was
		if n > 0 {
			name = f.w.cfg.Name(f.log.path, n)
		}
		if name == "" {
			continue
		}
		err := f.try(name, file, st)
		if err == nil {
			if old := st.ModTime(); old.Before(f.grew) {
				f.grew = old // it was at rest before it was seen
			}
			return nil
		}
		if err = errors.Join(err, f.close()); !errors.Is(err, intake.ErrOther) {
			return err
		}
	}
	return fmt.Errorf("%w: so are all up to %s", intake.ErrOther, f.w.cfg.Name(f.log.path, intake.MaxNames))
}

// try reads the log into one session.
func (f *follower) try(name string, file *os.File, st fs.FileInfo) error {
	var err error
	agent := f.w.agent(f.log.format)
	if f.w.taken(agent, name, f.log.path) {
		return intake.ErrOther
	}
	if f.sink, err = intake.Open(f.w.store, agent, name, f.log.format); err != nil {
		return err
	}
	if f.stream, err = importer.NewStream(f.log.format, f.sink); err != nil {
		return err
	}
	f.id, f.off, f.tail, f.grew = idOf(st), 0, nil, time.Now()
	return f.read(file, st)
}

// read takes the whole lines that are new. Half a line waits.
func (f *follower) read(file *os.File, st fs.FileInfo) error {
	f.size = st.Size()
	if st.Size() <= f.off {
		return f.commit()
	}
	lines := lineReader{r: io.NewSectionReader(file, f.off, st.Size()-f.off)}
	for {
		line, err := lines.next()
		if err != nil {
			return err
		}
		if line == nil {
			return f.commit()
		}
		if err := f.take(line); err != nil {
			return err
		}
	}
}

// take hands one line to the import.
func (f *follower) take(line []byte) error {
	if err := f.stream.Line(line); err != nil {
		return err
	}
	f.off += int64(len(line))
	f.tail = append(f.tail, line[max(0, len(line)-tailSize):]...)
	f.tail = append(f.tail[:0], f.tail[max(0, len(f.tail)-tailSize):]...)
	f.grew, f.unsynced = time.Now(), true
	return nil
}

// commit appends what was gathered, and describes the session as its log does now. A log that was cut short waits: it may
// grow to what it was, or turn out to be another.
func (f *follower) commit() error {
	if f.sink.Other() {
		return intake.ErrOther
	}
	if f.sink.Behind(f.stream.Lines()) {
		return nil
	}
	if err := f.sink.Commit(); err != nil {
		return err
	}
	return f.sink.Describe(f.stream.Report())
}

// due is when there is something to do though the log does not grow; zero: never.
func (f *follower) due() time.Time {
	switch {
	case !f.retry.IsZero():
		return f.retry
	case f.unsynced:
		return f.grew.Add(f.w.cfg.Sync)
	case f.waits():
		return f.grew.Add(f.patience())
	}
	return time.Time{}
}

// patience is how long the log must not grow before what the import holds back is written.
func (f *follower) patience() time.Duration {
	if f.stream.TurnEnded() {
		return f.w.cfg.Sync
	}
	return f.w.cfg.Settle
}

// waits tells whether the import holds back what it can write: a log that was cut short waits for its lines instead.
func (f *follower) waits() bool {
	return f.stream != nil && f.stream.Waits() && !f.sink.Behind(f.stream.Lines())
}

// settle writes what may still go on or be repeated, and brings all to disk.
func (f *follower) settle() error {
	if f.waits() {
		if err := f.stream.Settle(); err != nil {
			return err
		}
	}
	return f.sync()
}

// sync brings what was appended to disk. When nothing is held back, the log need not be read again until it changes.
func (f *follower) sync() error {
	f.unsynced = false
	if f.stream == nil {
		return nil
	}
	if err := f.commit(); err != nil {
		return err
	}
	if err := f.sink.Sync(); err != nil {
		return err
	}
	if err := f.link(); err != nil {
		return err
	}
	f.wait = 0 // all that was there is on disk
	delete(f.w.told, f.log.path)
	if !f.stream.Waits() {
		f.w.state.done(f)
	}
	return nil
}

// maxWait is how long it waits at most until what failed is tried again.
const maxWait = time.Minute

// fail lets go of the session, to find out anew what it has, and waits longer each time. A log of which a line is refused
// rests until it changes.
func (f *follower) fail(err error) {
	_ = f.close() // it failed already
	f.wait, f.refused = min(max(2*f.wait, time.Second), maxWait), nil
	if errors.Is(err, syscall.EFBIG) || errors.Is(err, syscall.EINVAL) {
		f.wait = maxWait
		f.refused, _ = os.Lstat(f.log.path) // gone: nothing rests
	}
	f.retry = time.Now().Add(f.wait)
}

// rests tells whether the log is what it was when a line of it was refused.
func (f *follower) rests() bool {
	if f.refused == nil {
		return false
	}
	now, err := os.Lstat(f.log.path)
	return err == nil && os.SameFile(now, f.refused) && now.Size() == f.refused.Size() && now.ModTime().Equal(f.refused.ModTime())
}

func (f *follower) close() error {
	f.stream, f.off, f.tail = nil, 0, nil
	f.parent, f.agents = parentage{}, nil
	if f.sink == nil {
		return nil
	}
	s := f.sink
	f.sink = nil
	return s.Close()
}
