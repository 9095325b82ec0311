package mounts

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// nobody is the UID of a mount of which the kernel does not say whose it is.
const nobody = -1

// owner reads from the options of a superblock (fuse: show_options) who mounted it, and whether others are let in. fusermount3(1) has
// users mount under no other uid than their own.
func owner(options string) (uid int, others bool) {
	uid = nobody
	for _, o := range strings.Split(options, ",") {
		if text, ok := strings.CutPrefix(o, "user_id="); ok && uid == nobody {
			if n, err := strconv.ParseUint(text, 10, 32); err == nil {
				uid = int(n)
			}
		}
		others = others || o == "allow_other"
	}
	return uid, others
}

// LetsIn tells whether the kernel lets a user in: not even root into a mount of another user's without allow_other (fuse(4)).
func (m Mount) LetsIn(uid int) bool { return m.AllowOther || m.UID == uid }

// Believed tells whether a user may go by what the mount says, a store's path or a process: whoever mounted it has its daemon
// say what they like. One believes oneself, and root.
func (m Mount) Believed(uid int) bool { return m.UID == uid || m.UID == 0 }

// ErrProcess says that what a mount calls its process is none of the user's whose mount it is.
var ErrProcess = errors.New("no process of the user who mounted it")

// Process gives the process that a mount's status names by pid or worker, when it is one of the user's who mounted it: kill(2) with
// another number, or a path below /proc with other words, reaches what that user does not.
func (m Mount) Process(said string) (int, error) {
	pid, err := strconv.Atoi(said)
	if err != nil || pid <= 0 || strconv.Itoa(pid) != said {
		return 0, fmt.Errorf("%s: %q: %w", m.Point, said, ErrProcess)
	}
	data, err := os.ReadFile("/proc/" + said + "/status") // #nosec G304 -- of the kernel's, a number
	if err != nil {
		return 0, fmt.Errorf("%s: process %d: %w: %w", m.Point, pid, ErrProcess, err)
	}
	if uid := realUID(data); uid == nobody || uid != m.UID {
		return 0, fmt.Errorf("%s: process %d: %w", m.Point, pid, ErrProcess)
	}
	return pid, nil
}

// realUID reads whose a process is (proc_pid_status(5), Uid: real, effective, saved, of files), nobody's when it has several: then it
// is on its way from one to another.
func realUID(status []byte) int {
	_, rest, _ := strings.Cut(string(status), "\nUid:")
	line, _, _ := strings.Cut(rest, "\n")
	f := strings.Fields(line)
	if len(f) != 4 || f[0] != f[1] || f[1] != f[2] {
		return nobody
	}
	uid, err := strconv.ParseUint(f[0], 10, 32)
	if err != nil {
		return nobody
	}
	return int(uid)
}
