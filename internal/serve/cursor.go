package serve

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ctxfs/internal/frames"
	"ctxfs/internal/record"
)

// position names the place behind record n, whose line ends at end: the cursor of resume and follow.
func position(n int, end int64) string { return fmt.Sprintf("%d:%d", n, end) }

// seek finds the place behind what after names: a cursor, a record number, or else the id of a record.
func (p *place) seek(after string) (n int, off int64, err error) {
	if after == "" {
		return 0, 0, nil
	}
	n, off, err = p.cursor(after)
	var refused *frames.Error
	if !errors.As(err, &refused) {
		return n, off, err
	}
	if m, end, ferr := p.behind(after); ferr != nil || m > 0 {
		return m, end, ferr
	}
	return n, off, err
}

// behind finds the first record whose id is id. n is 0 when there is none.
func (p *place) behind(id string) (n int, off int64, err error) {
	size, err := p.j.Size()
	if err != nil {
		return 0, 0, err
	}
	at, found := 0, false
	err = eachLine(p.j, 0, size, func(b []byte, from int64) error {
		at++
		if found = hasID(b, id); found {
			off = from + int64(len(b))
			return errEnough
		}
		return nil
	})
	if !found {
		return 0, 0, err
	}
	return at, off, nil
}

// hasID reports whether a line's record has the id. Most lines are not parsed: a JSON writer may only escape what is not
// a plain character.
func hasID(line []byte, id string) bool {
	if !bytes.Contains(line, []byte(id)) && !bytes.ContainsRune(line, '\\') {
		return false
	}
	r, err := record.Parse(line, 1, 0)
	return err == nil && r.ID == id
}

// cursor finds the records up to a number, with the offset behind them where the cursor has it.
func (p *place) cursor(after string) (n int, off int64, err error) {
	count, at, exact := strings.Cut(after, ":")
	n, err = strconv.Atoi(count)
	if err != nil || n < 0 {
		return 0, 0, frames.Refuse(frames.EINVAL, "after is a cursor of a frame, a record number, or the id of a record of this session")
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
