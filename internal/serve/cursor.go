package serve

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ctxfs/internal/frames"
)

// position names the place behind record n, whose line ends at end: the cursor of resume and follow.
func position(n int, end int64) string { return fmt.Sprintf("%d:%d", n, end) }

// seek finds what a cursor names: the records up to a number, with the offset behind them where the cursor has it.
func (p *place) seek(after string) (n int, off int64, err error) {
	if after == "" {
		return 0, 0, nil
	}
	count, at, exact := strings.Cut(after, ":")
	n, err = strconv.Atoi(count)
	if err != nil || n < 0 {
		return 0, 0, frames.Refuse(frames.EINVAL, "after is a cursor as a frame gave it, or a record's number")
	}
	size, err := p.j.Size()
	if err != nil {
		return 0, 0, err
	}
	if exact {
		off, err = strconv.ParseInt(at, 10, 64)
		if err != nil || off < 0 || off > size || !p.lineEnds(off) || (n == 0) != (off == 0) {
			return 0, 0, frames.Refuse(frames.EINVAL, "after is no cursor of this session")
		}
		return n, off, nil
	}
	return p.count(n, size)
}

// lineEnds tells whether a line ends at off.
func (p *place) lineEnds(off int64) bool {
	if off == 0 {
		return true
	}
	b, err := readLine(p.j, off-1, off)
	return err == nil && bytes.Equal(b, []byte{'\n'})
}

// errEnough ends a count.
var errEnough = errors.New("enough")

func (p *place) count(n int, size int64) (int, int64, error) {
	have, at := 0, int64(0)
	if n == 0 {
		return 0, 0, nil
	}
	err := eachLine(p.j, 0, size, func(b []byte, off int64) error {
		have, at = have+1, off+int64(len(b))
		if have == n {
			return errEnough
		}
		return nil
	})
	if err != nil && err != errEnough {
		return 0, 0, err
	}
	if have < n {
		return 0, 0, frames.Refuse(frames.EINVAL, "after is record %d, and the session has %d", n, have)
	}
	return n, at, nil
}
