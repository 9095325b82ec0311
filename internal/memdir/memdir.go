// Package memdir makes directories in memory: what is in one is on no disk, and gone when it is closed.
package memdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ctxfs/internal/beneath"

	"golang.org/x/sys/unix"
)

// Limits of a detached directory; the kernel keeps to them (ENOSPC).
type Limits struct {
	Bytes  int64
	Inodes int
}

// Dir is a directory in memory.
type Dir struct {
	*beneath.Dir
	path string   // of a folder in a file system of the host's; "": nothing leads here
	lock *os.File // on that folder, while it is in use
}

// Detached makes a tmpfs that is mounted nowhere. Only descriptors lead there: it is gone with the last one, also when
// the process is killed. It needs CAP_SYS_ADMIN (fsopen(2), fsmount(2)).
func Detached(l Limits) (*Dir, error) {
	fd, err := detached(l)
	if err != nil {
		return nil, fmt.Errorf("a file system in memory: %w", err)
	}
	return &Dir{Dir: beneath.At(os.NewFile(uintptr(fd), "memory"))}, nil
}

func detached(l Limits) (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("fsopen", err)
	}
	defer unix.Close(fs)
	for _, o := range [][2]string{{"source", "ctxfs"}, {"mode", "0711"}, {"size", fmt.Sprint(l.Bytes)}, {"nr_inodes", fmt.Sprint(l.Inodes)}} {
		if err := unix.FsconfigSetString(fs, o[0], o[1]); err != nil {
			return -1, os.NewSyscallError("fsconfig "+o[0], err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, os.NewSyscallError("fsconfig", err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	return fd, os.NewSyscallError("fsmount", err)
}

// prefix starts the name of every folder that Folder makes. It is followed by the uid.
const prefix = "ctxfs-temp-"

// Places are where an ordinary user's folders in memory may stand (XDG Base Directory Specification; shm_overview(7)).
func Places() []string {
	places := []string{"/dev/shm"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		places = append([]string{dir}, places...)
	}
	return places
}

// ErrNone: there is no place in memory.
var ErrNone = errors.New("no tmpfs")

// Folder makes a folder, for this user only, in the first of the places that is a tmpfs. A killed process leaves it
// behind, for Sweep.
func Folder(places []string) (*Dir, error) {
	var failed error
	for _, p := range places {
		d, err := folder(p)
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, ErrNone) && failed == nil {
			failed = fmt.Errorf("a folder in memory: %s: %w", p, err)
		}
	}
	if failed == nil {
		return nil, fmt.Errorf("%w at %s", ErrNone, strings.Join(places, " or "))
	}
	return nil, failed
}

func folder(place string) (*Dir, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(place, &st); err != nil || st.Type != unix.TMPFS_MAGIC {
		return nil, ErrNone
	}
	for {
		name, err := os.MkdirTemp(place, fmt.Sprintf("%s%d-", prefix, os.Geteuid()))
		if err != nil {
			return nil, err
		}
		lock, err := take(name)
		if err != nil {
			return nil, errors.Join(err, os.Remove(name))
		}
		if lock == nil {
			continue // a Sweep was quicker
		}
		return &Dir{Dir: beneath.At(lock), path: name, lock: lock}, nil
	}
}

// take opens and locks a folder of this user's. It is nil when another process or user has it, or it was removed.
func take(name string) (*os.File, error) {
	f, err := os.OpenFile(name, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0) // #nosec G304 -- a folder of the own, just made
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = unix.Fstat(int(f.Fd()), &st)
	}
	if err == nil && st.Nlink > 0 && st.Uid == uint32(os.Geteuid()) {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = nil
	}
	return nil, err
}

// Close ends the directory, and all that is in it.
func (d *Dir) Close() error {
	var err error
	if d.path != "" {
		err = empty(d.Dir, d.path)
	}
	return errors.Join(err, d.Dir.Close())
}

func empty(d *beneath.Dir, name string) error {
	entries, err := d.ReadDir(".")
	for _, e := range entries {
		err = errors.Join(err, d.RemoveAll(e.Name()))
	}
	return errors.Join(err, os.Remove(name))
}

// Sweep removes this user's folders of processes that were killed.
func Sweep(places []string) error {
	var failed error
	for _, p := range places {
		entries, err := os.ReadDir(p)
		if err != nil {
			continue // there is no such place here
		}
		for _, e := range entries {
			if e.IsDir() && strings.HasPrefix(e.Name(), fmt.Sprintf("%s%d-", prefix, os.Geteuid())) {
				failed = errors.Join(failed, sweep(filepath.Join(p, e.Name())))
			}
		}
	}
	return failed
}

func sweep(name string) error {
	f, err := take(name)
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	return empty(beneath.At(f), name)
}
