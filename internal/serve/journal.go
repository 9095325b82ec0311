package serve

import (
	"bytes"
	"io"
	"sync/atomic"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/frames"
	"ctxfs/internal/session"
)

// history is messages.jsonl to read from.
type history interface {
	io.ReaderAt
	Size() (int64, error)
}

// journal is a session as the sockets use it: as by the user who came first.
type journal struct {
	x    *session.Session
	by   session.Caller
	temp *tempLog // nil: the session is on disk
}

// tempLog is what is special about the log of a temporary session.
type tempLog struct {
	max  int64                         // the bytes that sockets may make of it
	last atomic.Pointer[appendlog.Log] // when the session has ended: the log, open, so that those who read it come to its end
}

// Append adds lines to messages.jsonl. They are on disk after Sync.
func (j journal) Append(lines []byte) error {
	if j.temp != nil {
		size, err := j.Size()
		if err != nil {
			return err
		}
		if size+int64(len(lines)) > j.temp.max {
			return frames.Refuse(frames.ENOSPC, "a temporary session holds at most %d bytes", j.temp.max)
		}
	}
	return j.x.Append(session.Messages, lines)
}

func (j journal) Sync() error {
	if j.temp != nil {
		return nil // nothing is on a disk
	}
	return j.x.Sync(session.Messages)
}

// last gives the log of a session that has ended, else nil.
func (j journal) last() *appendlog.Log {
	if j.temp == nil {
		return nil
	}
	return j.temp.last.Load()
}

func (j journal) Size() (int64, error) {
	n, err := j.x.LogSize(session.Messages)
	if l := j.last(); err != nil && l != nil {
		return l.Size(), nil
	}
	return n, err
}

func (j journal) ReadAt(p []byte, off int64) (int, error) {
	n, err := j.x.ReadLog(session.Messages, p, off)
	if l := j.last(); err != nil && l != nil {
		return l.ReadAt(p, off)
	}
	return n, err
}

// Watch wakes the channel when the log grew.
func (j journal) Watch(wake chan<- struct{}) (stop func()) { return j.x.Watch(wake) }

func (j journal) Event(kind string, data map[string]any) error { return j.x.Event(kind, data) }

func (j journal) State(s string) error { return j.x.WriteControl("state", []byte(s+"\n"), j.by) }

// eachLine gives the whole lines of r from off to size to fn, each with its '\n'. The bytes are good during the call.
func eachLine(r io.ReaderAt, off, size int64, fn func(line []byte, off int64) error) error {
	buf := make([]byte, 0, 64<<10)
	for at := off; at < size; {
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
		part := buf[len(buf):min(cap(buf), len(buf)+int(min(size-at, 1<<30)))]
		n, err := r.ReadAt(part, at)
		if n < len(part) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		at += int64(n)
		buf = buf[:len(buf)+n]
		for {
			i := bytes.IndexByte(buf, '\n')
			if i < 0 {
				break
			}
			if err := fn(buf[:i+1], off); err != nil {
				return err
			}
			off += int64(i + 1)
			buf = buf[i+1:]
		}
		if len(buf) > appendlog.MaxLine {
			return appendlog.ErrTooLong // written past ctxfs
		}
		buf = append(make([]byte, 0, max(64<<10, len(buf))), buf...)
	}
	return nil
}
