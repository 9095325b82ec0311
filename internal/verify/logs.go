package verify

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/cas"
	"ctxfs/internal/record"
	"ctxfs/internal/session"
)

// log reads every line of a log and gives their number. A last line without its end is what a crash leaves: the next
// use of the session sets it aside.
func (v *verifier) log(x *session.Session, name string) int {
	rel := path.Join(x.Rel(), name)
	if x.IsArchived(name) {
		v.r.Archived++
	}
	f, err := x.Raw(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	if err != nil {
		v.problem(rel, "%v", err)
		return 0
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	read := int64(0)
	for n := 0; ; n++ {
		line, err := v.settled(f, r, read)
		read += int64(len(line))
		v.r.Bytes += int64(len(line))
		if err == io.EOF {
			if len(line) > 0 && !takenBack(f, read) {
				v.repairable(rel, "the last %d bytes are a torn line (mount the store to set them aside)", len(line))
			}
			return n
		}
		if err != nil {
			v.problem(rel, "line %d: %v", n+1, err)
			return n
		}
		v.line(x, name, n+1, line)
	}
}

// A daemon that is writing a line has written a part of it: the kernel makes write(2) wait for a disk for 200 ms at a time
// (balance_dirty_pages). A file that nobody has written to for long is not waited for, and all of a store's only some seconds.
const (
	pause     = 25 * time.Millisecond
	quiet     = 20 // pauses in which a log that is written to stays as long as it is
	maxPauses = 200
	restsFor  = time.Minute
)

// settled reads a line, and of one that has no end yet what else comes. read is how much of the log was read before.
func (v *verifier) settled(f *session.RawLog, r *bufio.Reader, read int64) ([]byte, error) {
	line, err := readLine(r, nil)
	for n := 0; err == io.EOF && len(line) > 0 && n < quiet && v.pauses > 0; n++ {
		if _, at, serr := f.Stat(); serr != nil || time.Since(at) > restsFor || takenBack(f, read+int64(len(line))) {
			break
		}
		v.pause(pause)
		v.pauses--
		was := len(line)
		if line, err = readLine(r, line); len(line) > was {
			n = 0
		}
	}
	return line, err
}

// takenBack tells whether a log is shorter than what was read of it: so it is when there was no room for all of a line.
func takenBack(f *session.RawLog, read int64) bool {
	size, _, err := f.Stat()
	return err == nil && size < read
}

// readLine goes on to read a line with its end. One that no log can hold is an error: a user's file may be of any size.
func readLine(r *bufio.Reader, line []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > appendlog.MaxLine {
			return line, appendlog.ErrTooLong
		}
	}
}

func (v *verifier) line(x *session.Session, name string, n int, line []byte) {
	rel := path.Join(x.Rel(), name)
	if err := record.Check(line); err != nil {
		tell := v.problem
		if bytes.IndexByte(line, 0) >= 0 { // a hole that a power loss left: the next use of the session sets it aside
			tell = v.repairable
		}
		tell(rel, "line %d: %v", n, err)
		return
	}
	if name != session.Messages {
		return
	}
	rec, err := record.Parse(line, n, 0)
	if err != nil {
		v.problem(rel, "line %d: %v", n, err)
		return
	}
	for i := range rec.Blocks {
		b := &rec.Blocks[i]
		if b.Kind != record.Image {
			continue
		}
		if id, err := cas.Parse(b.Ref); err == nil && !v.has(session.OwnerRel(x.Rel()), id) {
			v.problem(rel, "line %d: block %d names %s, which the owner does not have", n, i+1, id)
		}
	}
}
