package thread

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Make runs fn, which makes a file, a folder or a link, so that it belongs to uid and gid from its first moment, but for the group
// in a folder with the set-group-id bit. A chown(2) after it could fail, or not come about. Unlike As, it leaves this process its
// privilege, which must be root's. EPERM says that it cannot make files for that user.
func Make(uid, gid int, fn func() error) (err error) {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() {
		if !root() {
			runtime.LockOSThread() // the thread ends with this goroutine
		}
	}()
	if !become(uid, gid) {
		return unix.EPERM
	}
	// To another user than root the kernel leaves no effective privilege over files (setfsuid(2)).
	if err := unix.Capset(&head, &caps[0]); err != nil {
		return os.NewSyscallError("capset", err)
	}
	return fn()
}

// become makes the thread another user in the eyes of the file system. setfsuid(2) tells nothing of a failure, but who it was.
func become(uid, gid int) bool {
	_, _ = unix.SetfsgidRetGid(gid)
	_, _ = unix.SetfsuidRetUid(uid)
	isGID, _ := unix.SetfsgidRetGid(-1)
	isUID, _ := unix.SetfsuidRetUid(-1)
	return isUID == uid && isGID == gid
}

// root makes the thread what the process is, which gives it its effective privilege back.
func root() bool { return become(unix.Geteuid(), unix.Getegid()) }
