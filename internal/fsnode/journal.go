package fsnode

import (
	"bufio"
	"errors"
	"io"
	"os"

	"ctxfs/internal/beneath"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// journal is a file of rows that only grows, until it is replaced by one with the rows that still count. The replacement
// is one step: a process that is killed leaves either all old rows or all new ones. It needs no fsync, since the kernel's
// memory of node ids ends with the kernel. The table's lock is held during all calls.
type journal struct {
	f    *os.File
	rows int

	create func() (*os.File, error) // makes an empty file
	place  func(*os.File) error     // puts that in the place of f, for the next process
}

// nodesFile is the file of the store with the numbers that outlive a mount.
const nodesFile = session.StateDir + "/nodes"

// openNodes opens the journal of the numbers that outlive a mount.
func openNodes(dir *beneath.Dir) (*journal, error) {
	open := func(name string, flags int) (*os.File, error) {
		return dir.OpenFile(name, unix.O_RDWR|unix.O_CREAT|unix.O_APPEND|unix.O_NOFOLLOW|flags, 0o600)
	}
	f, err := open(nodesFile, 0)
	if errors.Is(err, unix.EROFS) { // numbers that are given out now end with the process
		f, err = dir.OpenFile(nodesFile, unix.O_RDONLY|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return nil, err
	}
	next := nodesFile + ".new"
	return &journal{f: f,
		create: func() (*os.File, error) { return open(next, unix.O_TRUNC) },
		place:  func(*os.File) error { return dir.Rename(next, nodesFile, 0) },
	}, nil
}

// keptNodes is the journal of the numbers that end with the mount.
func keptNodes(k Kept) (*journal, error) {
	if _, err := k.Nodes.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return &journal{f: k.Nodes,
		create: func() (*os.File, error) {
			fd, err := unix.MemfdCreate("ctxfs nodes", unix.MFD_CLOEXEC)
			return os.NewFile(uintptr(fd), "nodes"), os.NewSyscallError("memfd_create", err)
		},
		place: k.KeepNodes,
	}, nil
}

// read calls take with each row. A row that a crash tore is passed over, and what is written next begins a row of its own.
// So is what is longer than any row, as NULs that a power loss left.
func (j *journal) read(take func(row string)) error {
	in := bufio.NewReaderSize(j.f, 64<<10)
	for long := false; ; {
		row, err := in.ReadSlice('\n')
		switch {
		case err == io.EOF:
			if long || len(row) > 0 {
				return j.write([]byte{'\n'}, 0)
			}
			return nil
		case err == nil && !long:
			take(string(row[:len(row)-1]))
			j.rows++
		case err != nil && err != bufio.ErrBufferFull:
			return err
		}
		long = err != nil
	}
}

// write adds n rows.
func (j *journal) write(rows []byte, n int) error {
	j.rows += n
	_, err := j.f.Write(rows)
	return err
}

// replace writes n rows in the place of all that were written before. After an error the old ones count.
func (j *journal) replace(rows []byte, n int) error {
	next, err := j.create()
	if err != nil {
		return err
	}
	if _, err = next.Write(rows); err == nil {
		err = j.place(next)
	}
	if err != nil {
		return errors.Join(err, next.Close())
	}
	old := j.f
	j.f, j.rows = next, n
	return old.Close()
}

// crowded reports whether most rows are about what does not count any more, when live rows do.
func (j *journal) crowded(live int) bool { return j.rows > 2*live+maxRows }
