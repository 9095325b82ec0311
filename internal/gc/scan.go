package gc

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// dataReader reads a file but for its holes: a user's file of a terabyte that takes no disk takes no time. Where a hole was,
// one NUL is read, so that what stands before and behind it is not joined.
type dataReader struct {
	f   *os.File
	off int64 // of the next byte
	end int64 // of the data that off is in
}

func (r *dataReader) Read(p []byte) (int, error) {
	if r.off >= r.end {
		data, err := unix.Seek(int(r.f.Fd()), r.off, unix.SEEK_DATA)
		if err == unix.ENXIO {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		end, err := unix.Seek(int(r.f.Fd()), data, unix.SEEK_HOLE)
		if err != nil {
			return 0, err
		}
		hole := data > r.off
		r.off, r.end = data, end
		if hole && len(p) > 0 {
			p[0] = 0
			return 1, nil
		}
	}
	n, err := r.f.ReadAt(p[:min(int64(len(p)), r.end-r.off)], r.off)
	r.off += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

const readSize = 1 << 20

func unreadable(rel string, err error) error {
	if err != nil {
		return fmt.Errorf("%s may name blobs, and cannot be read: %w", rel, err)
	}
	return nil
}

// scanIDs gives the blob ids in r to note, some more than once.
func scanIDs(r io.Reader, note func(id string)) error {
	const idLen = len("blake3-") + 64
	buf := make([]byte, readSize)
	keep := 0
	for {
		n, err := r.Read(buf[keep:])
		chunk := buf[:keep+n]
		for at := 0; ; {
			i := bytes.Index(chunk[at:], []byte("blake3-"))
			if i < 0 || at+i+idLen > len(chunk) {
				break
			}
			if id := chunk[at+i : at+i+idLen]; isID(id) {
				note(string(id))
			}
			at += i + 1
		}
		keep = copy(buf, chunk[max(0, len(chunk)-idLen):]) // an id may go on in what comes next
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// isID tells whether s, which starts as an id does, is one. It is asked often, and mostly of ids.
func isID(s []byte) bool {
	for _, c := range s[len("blake3-"):] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
