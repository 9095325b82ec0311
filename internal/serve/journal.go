package serve

import (
	"bytes"
	"io"
	"sync"

	"ctxfs/internal/frames"
	"ctxfs/internal/session"
)

// journal is the history of a session, wherever it is kept.
type journal interface {
	Append(lines []byte) error // to messages.jsonl; durable after Sync
	Sync() error
	Size() (int64, error)
	ReadAt(p []byte, off int64) (int, error)
	Watch(wake chan<- struct{}) (stop func()) // wakes when it grew
	Event(kind string, data map[string]any) error
	State(s string) error
}

// durable is a session of the store.
type durable struct {
	x  *session.Session
	by session.Caller
}

func (d durable) Append(lines []byte) error { return d.x.Append(session.Messages, lines) }
func (d durable) Sync() error               { return d.x.Sync(session.Messages) }
func (d durable) Size() (int64, error)      { return d.x.LogSize(session.Messages) }
func (d durable) ReadAt(p []byte, off int64) (int, error) {
	return d.x.ReadLog(session.Messages, p, off)
}
func (d durable) Watch(wake chan<- struct{}) func()            { return d.x.Watch(wake) }
func (d durable) Event(kind string, data map[string]any) error { return d.x.Event(kind, data) }
func (d durable) State(s string) error {
	return d.x.WriteControl("state", []byte(s+"\n"), d.by)
}

// memory is a temporary session's history.
type memory struct {
	max int

	mu       sync.Mutex // protects what is below; a leaf
	log      []byte
	state    string
	watchers map[chan<- struct{}]bool
}

func (m *memory) Append(lines []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.log)+len(lines) > m.max {
		return frames.Refuse(frames.ENOSPC, "a temporary session holds at most %d bytes", m.max)
	}
	m.log = append(m.log, lines...)
	for c := range m.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	return nil
}

func (m *memory) Sync() error { return nil }

func (m *memory) Size() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.log)), nil
}

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if off >= int64(len(m.log)) {
		return 0, io.EOF
	}
	n := copy(p, m.log[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m *memory) Watch(wake chan<- struct{}) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watchers[wake] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watchers, wake)
	}
}

func (m *memory) Event(string, map[string]any) error { return nil }

func (m *memory) State(s string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = s
	return nil
}

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
