package serve

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"ctxfs/internal/frames"
)

func TestLineReader(t *testing.T) {
	most, long := strings.Repeat("m", frames.MaxFrame), strings.Repeat("l", frames.MaxFrame+1)
	in := "a\n\n" + most + "\n" + long + "\n" + long + long + "\nb\nlast"
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "half": iotest.HalfReader(strings.NewReader(in)), "error with data": iotest.DataErrReader(strings.NewReader(in))} {
		l := newLineReader(r)
		for i, want := range []string{"a", "", most, "!", "!", "b", "last"} {
			got, err := l.next()
			var e *frames.Error
			if want == "!" && errors.As(err, &e) && e.Code == frames.EMSGSIZE {
				continue
			}
			if err != nil || string(got) != want {
				t.Errorf("%s: line %d: %d bytes, %v", name, i, len(got), err)
			}
		}
		if _, err := l.next(); err != io.EOF {
			t.Errorf("%s: at the end: %v", name, err)
		}
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestLineReaderFlood(t *testing.T) {
	if _, err := newLineReader(zeros{}).next(); err != errFlood {
		t.Errorf("got %v", err)
	}
}
