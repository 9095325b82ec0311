package verify

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"

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
	for n := 0; ; n++ {
		line, err := readLine(r)
		v.r.Bytes += int64(len(line))
		if err == io.EOF {
			if len(line) > 0 {
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

// readLine reads a line with its end. One that no log can hold is an error: a user's file may be of any size.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
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
