package serve

import (
	"bytes"
	"io"

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
	x   *session.Session
	by  session.Caller
	log *appendlog.Log // of a temporary session: it is in use, so that those who read it come to its end
	max int64          // of a temporary session: the bytes that sockets may make of it
}

// Append adds lines to messages.jsonl. They are on disk after Sync.
func (j journal) Append(lines []byte) error {
	if j.log != nil && j.log.Size()+int64(len(lines)) > j.max {
		return frames.Refuse(frames.ENOSPC, "a temporary session holds at most %d bytes", j.max)
	}
	return j.x.Append(session.Messages, lines)
}

func (j journal) Sync() error {
	if j.log != nil {
		return nil // nothing is on a disk
	}
	return j.x.Sync(session.Messages)
}

func (j journal) Size() (int64, error) {
	if j.log != nil {
		return j.log.Size(), nil
	}
	return j.x.LogSize(session.Messages)
}

func (j journal) ReadAt(p []byte, off int64) (int, error) {
	if j.log != nil {
		return j.log.ReadAt(p, off)
	}
	return j.x.ReadLog(session.Messages, p, off)
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
		buf = append(make([]byte, 0, max(64<<10, len(buf))), buf...)
	}
	return nil
}
