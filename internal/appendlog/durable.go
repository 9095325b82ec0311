package appendlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"ctxfs/internal/record"

	"golang.org/x/sys/unix"
)

// durable is what a log knows of its bytes on disk. Flushes run one at a time, and nothing else uses it.
type durable struct {
	flush  func() error // fdatasync(2) of the file
	settle func() error // makes the way to the file durable; nil when it is
	size   int64        // bytes of the file that are on disk, as a flush reported
	failed bool         // a flush failed since

	dev, ino uint64    // of the file
	memory   Unflushed // nil: a failure is forgotten with the log
}

// Unflushed remembers files of which a flush failed, by device and inode, beyond the end of the log that flushed them, and
// of the process.
type Unflushed interface {
	// Unflushed returns how many bytes of the file were on disk before the flush that failed.
	Unflushed(dev, ino uint64) (size int64, failed bool)
	SetUnflushed(dev, ino uint64, size int64)
	ClearUnflushed(dev, ino uint64)
}

// SetUnflushed has m remember a flush that failed until the lines are written again. What m remembers of the log's file
// counts. Call it before the log is used by more than one.
func (l *Log) SetUnflushed(m Unflushed) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(l.f.Fd()), &st); err != nil {
		return err
	}
	l.disk.memory, l.disk.dev, l.disk.ino = m, uint64(st.Dev), st.Ino //nolint:unconvert // 32 bits on some hosts
	if size, failed := m.Unflushed(l.disk.dev, l.disk.ino); failed {
		l.disk.failed = true
		l.disk.size = l.lineStart(size)
	}
	return nil
}

// lineStart returns off if a line of the file begins there, else 0: the file may be another one than off is of.
func (l *Log) lineStart(off int64) int64 {
	var last [1]byte
	if off > 0 {
		if _, err := l.f.ReadAt(last[:], off-1); err != nil || last[0] != '\n' {
			return 0
		}
	}
	return off
}

// fail notes that a flush failed.
func (d *durable) fail() {
	d.failed = true
	if d.memory != nil {
		d.memory.SetUnflushed(d.dev, d.ino, d.size)
	}
}

// succeed notes that the first size bytes are on disk.
func (d *durable) succeed(size int64) {
	if d.failed && d.memory != nil {
		d.memory.ClearUnflushed(d.dev, d.ino)
	}
	d.size, d.failed = size, false
}

// SetSettle has Sync call fn, until it succeeds once, before it says that lines are on disk: fn makes the names durable that
// lead to the file. Call it before the log is used by more than one.
func (l *Log) SetSettle(fn func() error) { l.disk.settle = fn }

// Sync returns when all that is committed is on disk. Callers that wait at the same time share one flush.
//
// A kernel that could not write a page tells it once and takes the page for written after that (fsync(2), EIO). So after a
// flush that failed, the lines that it was to bring to the disk are written in place again, before the next one may tell
// that they are there.
func (l *Log) Sync() error { return l.sync.do(l.toDisk) }

func (l *Log) toDisk() error {
	size := l.size.Load() - l.base
	if l.disk.failed {
		if err := l.rewrite(l.disk.size, size); err != nil {
			return fmt.Errorf("write again what may not be on disk: %w", err)
		}
	}
	if err := l.disk.flush(); err != nil {
		l.disk.fail()
		return err
	}
	l.disk.succeed(size)
	if l.disk.settle != nil {
		if err := l.disk.settle(); err != nil {
			return err
		}
		l.disk.settle = nil
	}
	return nil
}

// rewrite writes the lines of the file from off to end in their own place. What does not read as lines is not what was
// committed: then nothing more can be promised of this log.
func (l *Log) rewrite(off, end int64) error {
	// Not l.f: at a descriptor with O_APPEND, pwrite(2) appends.
	w, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", l.f.Fd()), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer w.Close()
	r := bufio.NewReaderSize(io.NewSectionReader(l.f, off, end-off), 1<<20)
	for off < end {
		line, err := r.ReadBytes('\n')
		if err != nil || record.Check(line) != nil {
			return errors.Join(err, unix.EIO)
		}
		if _, err := w.WriteAt(line, off); err != nil {
			return err
		}
		off += int64(len(line))
	}
	return nil
}
