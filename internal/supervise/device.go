package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// MountOptions say what is mounted where.
type MountOptions struct {
	Point      string
	Source     string   // what mount(8) shows: the store
	AllowOther bool     // users other than this one may use it
	Options    []string // nosuid, noexec, ...
	MaxRead    int      // bytes of a READ
}

// Mount mounts a file system of type fuse.ctxfs and gives its /dev/fuse, from which its requests are read: by mount(2) as
// root, else, or where that is not allowed, through fusermount3(1).
func Mount(o MountOptions) (*os.File, error) {
	if os.Geteuid() == 0 {
		f, err := o.direct()
		if err == nil {
			return f, nil
		}
		if g, herr := o.helped(); herr == nil {
			return g, nil
		}
		return nil, err
	}
	return o.helped()
}

func (o MountOptions) direct() (*os.File, error) {
	var st unix.Stat_t
	if err := unix.Stat(o.Point, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: o.Point, Err: err}
	}
	dev, err := os.OpenFile("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	data := []string{fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,max_read=%d,default_permissions",
		dev.Fd(), st.Mode&unix.S_IFMT, os.Geteuid(), os.Getegid(), o.MaxRead)}
	for _, opt := range o.Options {
		set, clear, ok := mountFlag(opt)
		if flags = flags&^clear | set; !ok {
			data = append(data, opt)
		}
	}
	if o.AllowOther {
		data = append(data, "allow_other")
	}
	if err := unix.Mount(o.Source, o.Point, "fuse.ctxfs", flags, strings.Join(data, ",")); err != nil {
		return nil, errors.Join(os.NewSyscallError("mount", err), dev.Close())
	}
	return dev, nil
}

// mountFlag gives the bits of an option of mount(8) that is one of mount(2)'s flags.
func mountFlag(opt string) (set, clear uintptr, ok bool) {
	name, no := strings.CutPrefix(opt, "no")
	bit, ok := map[string]uintptr{"dev": unix.MS_NODEV, "suid": unix.MS_NOSUID, "exec": unix.MS_NOEXEC}[name]
	if no {
		return bit, 0, ok
	}
	return 0, bit, ok
}

// helped asks fusermount3, which is setuid root, to mount; it hands over /dev/fuse (libfuse, util/fusermount.c).
func (o MountOptions) helped() (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "fusermount3"), os.NewFile(uintptr(pair[1]), "fusermount3")
	defer ours.Close()
	opts := append([]string{"default_permissions"}, o.Options...)
	if o.AllowOther {
		opts = append(opts, "allow_other")
	}
	escape := strings.NewReplacer(`\`, `\\`, `,`, `\,`)
	opts = append(opts, "fsname="+escape.Replace(o.Source), "subtype=ctxfs", fmt.Sprintf("max_read=%d", o.MaxRead))
	cmd := exec.Command("fusermount3", o.Point, "-o", strings.Join(opts, ",")) // #nosec G204 -- no shell; the caller's own options
	cmd.Env = append(os.Environ(), "_FUSE_COMMFD=3")
	cmd.ExtraFiles = []*os.File{theirs}
	out, err := cmd.CombinedOutput()
	theirs.Close()
	if err != nil {
		return nil, fmt.Errorf("fusermount3: %s: %w", strings.TrimSpace(string(out)), err)
	}
	_, _, dev, err := conn{ours}.hear()
	if err == nil && dev == nil {
		err = errors.New("fusermount3 handed over no file")
	}
	return dev, err
}
