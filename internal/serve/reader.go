package serve

import (
	"bufio"
	"errors"
	"io"

	"ctxfs/internal/frames"
)

// errFlood is the end of a peer that sends a frame without end.
var errFlood = errors.New("a frame without end")

// lineReader cuts what a peer sends into frames, and reads past those that are too long.
type lineReader struct {
	r   *bufio.Reader
	buf []byte
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{r: bufio.NewReaderSize(r, 16<<10)} }

// next gives a frame without its '\n'; it is good until the next call. A frame that is too long is an *frames.Error, and
// the next call gives what follows it. A last frame may lack its '\n'.
func (l *lineReader) next() ([]byte, error) {
	if cap(l.buf) > 64<<10 {
		l.buf = nil // most frames are short
	}
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		switch {
		case err == nil && len(l.buf) <= frames.MaxFrame+1:
			return l.buf[:len(l.buf)-1], nil
		case err == nil, len(l.buf) > frames.MaxFrame+1:
			return nil, l.skip(err)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			return l.buf, nil
		default:
			return nil, err
		}
	}
}

// skip reads past the rest of a frame that is too long. err is nil when its end was read.
func (l *lineReader) skip(err error) error {
	for n := len(l.buf); errors.Is(err, bufio.ErrBufferFull); {
		var part []byte
		part, err = l.r.ReadSlice('\n')
		if n += len(part); n > skipLimit {
			return errFlood
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return frames.Refuse(frames.EMSGSIZE, "a frame is at most %d bytes", frames.MaxFrame)
}
