package watch

import (
	"bytes"
	"io"
)

// lineReader reads whole lines.
type lineReader struct {
	r    io.Reader
	buf  []byte
	at   int
	ends bool
}

// next gives the next line with its '\n', nil when there is no whole one any more. It is valid until the next call.
func (l *lineReader) next() ([]byte, error) {
	for from := l.at; ; {
		if i := bytes.IndexByte(l.buf[from:], '\n'); i >= 0 {
			line := l.buf[l.at : from+i+1]
			l.at = from + i + 1
			return bytes.Clone(line), nil
		}
		if l.ends {
			return nil, nil
		}
		l.buf = append(l.buf[:0], l.buf[l.at:]...)
		from, l.at = len(l.buf), 0
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

func (l *lineReader) fill() error {
	at := len(l.buf)
	l.buf = append(l.buf, make([]byte, 256<<10)...)
	n, err := l.r.Read(l.buf[at:])
	l.buf = l.buf[:at+n]
	if err == io.EOF {
		l.ends = true
		return nil
	}
	return err
}
