package appendlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// badTail gives the end of the first size bytes of f that is no whole lines, and why it is not.
func badTail(f *os.File, size int64) (tail []byte, why, err error) {
	tail, err = tornTail(f, size)
	if err != nil {
		return nil, nil, err
	}
	hole, err := findHole(f, size-int64(len(tail)))
	if hole < 0 || err != nil {
		return tail, errors.New("the last line was torn by a crash"), err
	}
	head, err := tornTail(f, hole)
	if err != nil {
		return nil, nil, err
	}
	from := hole - int64(len(head))
	tail = make([]byte, size-from)
	_, err = f.ReadAt(tail, from)
	return tail, fmt.Errorf("a power loss left a hole at byte %d", hole), err
}

// Parts of a log in which holes are looked for: its end, and more of what was written before this machine was started.
const (
	holesNow    = 1 << 20
	holesBefore = 64 << 20
)

// findHole looks for a NUL among the last lines of f, which end at size; -1: there is none. No line has one (RFC 8259): it
// is a write that the disk did not get before the power went, when it did get a later one.
func findHole(f *os.File, size int64) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return -1, err
	}
	window := int64(holesNow)
	if st.ModTime().Before(started()) {
		window = holesBefore // a kernel keeps back what was written in half a minute
	}
	buf := make([]byte, min(256<<10, size))
	for at := max(0, size-window); at < size; at += int64(len(buf)) {
		part := buf[:min(int64(len(buf)), size-at)]
		if _, err := f.ReadAt(part, at); err != nil {
			return -1, err
		}
		if i := bytes.IndexByte(part, 0); i >= 0 {
			return at + int64(i), nil
		}
	}
	return -1, nil
}

// withoutHoles gives the lines of a bad tail that are whole all the same: they go back into the log. No fsync can have
// returned for what stands behind a hole, but it is not lost for that.
func withoutHoles(tail []byte) (whole []byte) {
	for line := range bytes.Lines(tail) {
		if bytes.HasSuffix(line, []byte{'\n'}) && bytes.IndexByte(line, 0) < 0 {
			whole = append(whole, line...)
		}
	}
	return whole
}

// started is when this machine was; where nobody knows, it is now, at which more is read.
func started() time.Time {
	var up unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) // zero then
	return time.Now().Add(-time.Duration(up.Nano()))
}

// tornTail reads what stands after the last '\n' of the first size bytes of f. Each step back is as long as all before
// it, so that a long tail is copied only twice or so.
func tornTail(f *os.File, size int64) ([]byte, error) {
	var tail []byte
	for at := size; at > 0; {
		n := min(max(64<<10, int64(len(tail))), at)
		at -= n
		buf := make([]byte, n, int(n)+len(tail))
		if _, err := f.ReadAt(buf, at); err != nil {
			return nil, err
		}
		if i := bytes.LastIndexByte(buf, '\n'); i >= 0 {
			return append(buf[i+1:], tail...), nil
		}
		if tail = append(buf, tail...); len(tail) > MaxLine {
			return nil, ErrTooLong // no append left that: the file was written past ctxfs, and may be of any size
		}
	}
	return tail, nil
}
