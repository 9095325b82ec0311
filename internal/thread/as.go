package thread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// As runs fn as another user in the eyes of the file system (setfsuid(2)): what fn writes counts as that user's, so that the
// part of a disk that is kept back for root stays free. A process that is not root is left as it is: it works for one user
// only. fn must not wait for long: its thread serves nobody else meanwhile.
func As(uid uint32, fn func() error) error {
	if unix.Geteuid() != 0 || uid == 0 {
		return fn()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := unix.SetfsuidRetUid(int(uid)); err != nil {
		return err
	}
	defer func() {
		if _, err := unix.SetfsuidRetUid(0); err != nil {
			runtime.LockOSThread() // once more than it is unlocked: the thread ends with this goroutine, and never serves as root's
		}
	}()
	return fn()
}
