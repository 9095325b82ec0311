package session

import (
	"errors"
	"io/fs"
	"path"

	"ctxfs/internal/beneath"

	"golang.org/x/sys/unix"
)

// CopyLock is the file, in a store, that who copies the store has locked meanwhile (flock(2), LOCK_EX; docs/backup.md). A copy that
// takes the files one after another would miss what moves from one that it has not read yet to one that it has.
const CopyLock = StateDir + "/backup.lock"

// Moving is called before bytes move from one file of the store at dir to another, and done after it: then they can be removed where
// they were. While the store is being copied it is Busy.
func Moving(dir *beneath.Dir) (done func(), err error) {
	f, err := dir.OpenFile(CopyLock, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if _, serr := dir.Stat(path.Dir(CopyLock)); errors.Is(serr, fs.ErrNotExist) {
			return func() {}, nil // a folder that no daemon has served
		}
	}
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = &Error{Kind: Busy, Msg: "the store is being copied", Hint: "try again when that is done"}
		}
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
