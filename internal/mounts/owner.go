package mounts

import (
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
