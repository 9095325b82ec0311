package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"ctxfs/internal/mounts"

	"golang.org/x/sys/unix"
)

const device = "/dev/fuse"

// fuseDevice opens /dev/fuse (fuse(4)), which has no effect until something is mounted.
func (h *Host) fuseDevice() []Finding {
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case err == nil:
		_ = unix.Close(fd)
		return ok("%s opens", device)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return fail("modprobe fuse (in a container: run it with --device /dev/fuse)", "%s: %v: the kernel has no FUSE", device, err)
	case errors.Is(err, unix.EACCES):
		return fail("chmod 666 /dev/fuse", "%s: %v", device, err)
	case errors.Is(err, unix.EPERM):
		return fail("run the container with --device /dev/fuse, the unit with DeviceAllow=/dev/fuse rw", "%s: %v: a rule of the cgroup forbids it", device, err)
	}
	return fail("ls -l /dev/fuse", "%s: %v", device, err)
}

// fusermount looks for fusermount3(1), by which ordinary users mount.
func (h *Host) fusermount() []Finding {
	bad := fail
	if h.UID == 0 {
		bad = warn // root mounts without it, others do not
	}
	path, err := exec.LookPath("fusermount3")
	if err != nil {
		return bad("apt-get install fuse3", "fusermount3 is not in PATH: ordinary users cannot mount")
	}
	word := mounts.Quote(path)
	var st unix.Stat_t
	var on unix.Statfs_t
	if err := errors.Join(unix.Stat(path, &st), unix.Statfs(path, &on)); err != nil {
		return bad("ls -l "+word, "%s: %v", path, err)
	}
	if st.Mode&unix.S_ISUID == 0 || st.Uid != 0 {
		return bad(fmt.Sprintf("chown root %s && chmod u+s %s", word, word), "%s is not setuid root: ordinary users cannot mount", path)
	}
	if on.Flags&unix.ST_NOSUID != 0 {
		return bad("mount -o remount,suid "+mounts.Quote(filepath.Dir(path)), "%s is on a file system that is mounted nosuid: ordinary users cannot mount", path)
	}
	return ok("%s", path)
}

const fuseConf = "/etc/fuse.conf"

var allowed = regexp.MustCompile(`(?m)^[ \t]*user_allow_other[ \t]*(#.*)?$`)

// allowOther looks whether an ordinary user who wants --allow-other may have it (mount.fuse3(8)).
func (h *Host) allowOther() []Finding {
	if h.UID == 0 {
		return ok("root may let other users in")
	}
	data, err := os.ReadFile(fuseConf)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail("chmod a+r "+fuseConf, "%v", err)
	}
	switch {
	case allowed.Match(data):
		return ok("user_allow_other is in %s", fuseConf)
	case h.AllowOther:
		return fail("echo user_allow_other >>"+fuseConf+" (as root)", "the settings say allow-other, and %s has no line user_allow_other", fuseConf)
	}
	return ok("not asked for")
}

// Linux versions, 5.6 as 5006: the oldest with all that ctxfs cannot do without (openat2(2)); the one with what it does better with
// (FUSE_NOTIFY_RESEND, passthrough).
const (
	leastLinux = 5006
	fullLinux  = 6009
)

func (h *Host) kernel() []Finding {
	const mend = "install Linux 6.9 or newer"
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return fail("uname -r", "uname: %v", err)
	}
	release := unix.ByteSliceToString(name.Release[:])
	switch v := linuxVersion(release); {
	case v < leastLinux:
		return fail(mend, "Linux %s: ctxfs needs 5.6", release)
	case v < fullLinux:
		return warn(mend, "Linux %s: a worker that dies ends its mount, and logs are read through the daemon; from 6.9 on neither is so", release)
	}
	return ok("Linux %s", release)
}

// linuxVersion reads a release as uname(2) gives it; 0 is one that nobody knows.
func linuxVersion(release string) int {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return 0
	}
	return 1000*major + minor
}

func (h *Host) settings() []Finding {
	if h.Settings == nil {
		return ok("the files of settings are in order")
	}
	var out []Finding
	for _, line := range strings.Split(h.Settings.Error(), "\n") {
		out = append(out, fail("edit that line (ctxfs config --example has all of them)", "%s", line)...)
	}
	return out
}
