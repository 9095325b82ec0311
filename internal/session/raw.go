package session

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"ctxfs/internal/archive"

	"golang.org/x/sys/unix"
)

// RawLog is the bytes of a log as they are stored, a torn end too. Read after io.EOF gives what was appended since.
type RawLog struct {
	head     io.Reader // what is archived; nil when there is none, or it was read
	archived int64
	plain    *os.File // nil when all is archived
}

// Raw reads a log to check it: what is archived, if anything, is held against its hash first.
func (x *Session) Raw(name string) (*RawLog, error) {
	rel, prefix, err := x.parts(name)
	if err != nil {
		return nil, err
	}
	l := &RawLog{}
	if c, ok := prefix.(*coldLog); ok {
		if err := archive.Check(c.Reader); err != nil {
			return nil, err
		}
		l.head, l.archived = io.NewSectionReader(c, 0, c.Size()), c.Size()
	}
	f, err := x.store.dir.OpenFile(rel, unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) && prefix != nil {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &os.PathError{Op: "read", Path: rel, Err: unix.EINVAL}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	l.plain = f
	return l, nil
}

func (l *RawLog) Read(p []byte) (int, error) {
	if l.head != nil {
		n, err := l.head.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		l.head = nil
	}
	if l.plain == nil {
		return 0, io.EOF
	}
	return l.plain.Read(p)
}

// Stat gives how long the log is now, in bytes, and when it was last written to, of one that is archived the zero time.
func (l *RawLog) Stat() (size int64, written time.Time, err error) {
	if l.plain == nil {
		return l.archived, time.Time{}, nil
	}
	st, err := l.plain.Stat()
	if err != nil {
		return 0, time.Time{}, err
	}
	return l.archived + st.Size(), st.ModTime(), nil
}

// Close ends reading.
func (l *RawLog) Close() error {
	if l.plain == nil {
		return nil
	}
	return l.plain.Close()
}
