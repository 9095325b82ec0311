// Package beneath works on files under one directory and nowhere else. Every path is opened with openat2(2) and
// RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_XDEV, so that neither "..", nor a link or a
// mount that a user planted in a store, nor a race on a rename can lead a daemon that runs as root outside. What a user
// planted by another name of somebody else's file (a hard link), a Guard refuses.
package beneath

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is a directory and the tree below it. Paths given to its methods are relative, with '/' between names, and
// "." is the directory itself. A Dir is safe for concurrent use.
type Dir struct {
	f     *os.File
	base  string // of a Sub: its path below the Dir that was opened
	guard Guard
}

// Guard looks at what was opened, before it is used: rel is its path below the Dir that was opened first. Its error
// refuses it. What is about to be made is not asked about.
type Guard func(rel string, st *unix.Stat_t) error

// SetGuard has g look at all that d, and each Sub of it, opens. Call it before d is used by more than one.
func (d *Dir) SetGuard(g Guard) { d.guard = g }

// Open opens the directory name, which may be any path of the host.
func Open(name string) (*Dir, error) {
	f, err := os.OpenFile(name, unix.O_DIRECTORY|unix.O_PATH|unix.O_CLOEXEC, 0) // #nosec G304 -- the store that the operator named
	if err != nil {
		return nil, err
	}
	return &Dir{f: f}, nil
}

// At is the directory that f has open, and takes f over.
func At(f *os.File) *Dir { return &Dir{f: f} }

// Close ends the use of d.
func (d *Dir) Close() error { return d.f.Close() }

// Sub opens a directory below d as a Dir of its own.
func (d *Dir) Sub(rel string) (*Dir, error) {
	f, err := d.OpenFile(rel, unix.O_DIRECTORY|unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	return &Dir{f: f, base: path.Join(d.base, rel), guard: d.guard}, nil
}

// A mount below is not entered: a user's own could keep who looks at it waiting for ever.
const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// OpenFile opens rel with open(2) flags. perm is used when the file is created.
func (d *Dir) OpenFile(rel string, flags int, perm uint32) (*os.File, error) {
	fd, err := d.openat(rel, flags, perm)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: rel, Err: err}
	}
	return os.NewFile(uintptr(fd), path.Base(rel)), nil
}

// Create makes the file rel, and opens it with open(2) flags. Something that stands there already is EEXIST.
func (d *Dir) Create(rel string, flags int, perm uint32, own Owner) (f *os.File, err error) {
	err = own.make(func() (err error) {
		f, err = d.OpenFile(rel, flags|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, perm)
		return err
	})
	return f, err
}

// openat opens rel. With a guard, what is made is told from what is there already.
func (d *Dir) openat(rel string, flags int, perm uint32) (int, error) {
	if d.guard == nil || flags&unix.O_CREAT != 0 && flags&unix.O_EXCL != 0 {
		return d.resolve(rel, flags, perm)
	}
	if flags&unix.O_CREAT != 0 {
		if fd, err := d.resolve(rel, flags|unix.O_EXCL, perm); err != unix.EEXIST {
			return fd, err
		}
	}
	return d.openGuarded(rel, flags&^unix.O_CREAT)
}

// openGuarded opens what is there.
func (d *Dir) openGuarded(rel string, flags int) (int, error) {
	// What is refused must not be cut off first.
	fd, err := d.resolve(rel, flags&^unix.O_TRUNC, 0)
	if err != nil {
		return fd, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = d.guard(path.Join(d.base, rel), &st)
	}
	if err == nil && flags&unix.O_TRUNC != 0 && st.Mode&unix.S_IFMT == unix.S_IFREG {
		err = unix.Ftruncate(fd, 0)
	}
	if err != nil {
		_ = unix.Close(fd) // the first error is the one to report
		return -1, err
	}
	return fd, nil
}

func (d *Dir) resolve(rel string, flags int, perm uint32) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: resolve}
	if flags&(unix.O_CREAT|unix.O_TMPFILE) != 0 {
		how.Mode = uint64(perm)
	}
	for {
		fd, err := unix.Openat2(int(d.f.Fd()), rel, &how)
		// EAGAIN: a rename raced with the resolution; openat2(2) says to try again.
		if err == unix.EINTR || err == unix.EAGAIN && flags&unix.O_NONBLOCK == 0 {
			continue
		}
		return fd, err
	}
}

// parent opens the directory that holds rel and gives rel's last name. The caller closes the fd.
func (d *Dir) parent(op, rel string) (int, string, error) {
	dir, name := path.Split(rel)
	if name == "" || name == "." || name == ".." {
		return -1, "", &os.PathError{Op: op, Path: rel, Err: unix.EINVAL}
	}
	if dir = strings.TrimSuffix(dir, "/"); dir == "" {
		dir = "."
	}
	fd, err := d.openat(dir, unix.O_DIRECTORY|unix.O_PATH, 0)
	if err != nil {
		return -1, "", &os.PathError{Op: op, Path: rel, Err: err}
	}
	return fd, name, nil
}

// at runs fn on the directory that holds rel, and names op and rel in its error.
func (d *Dir) at(op, rel string, fn func(fd int, name string) error) error {
	fd, name, err := d.parent(op, rel)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := fn(fd, name); err != nil {
		return &os.PathError{Op: op, Path: rel, Err: err}
	}
	return nil
}

// Stat gives the attributes of rel itself: links are not followed.
func (d *Dir) Stat(rel string) (unix.Stat_t, error) {
	var st unix.Stat_t
	if rel == "." {
		return st, wrap("stat", rel, unix.Fstat(int(d.f.Fd()), &st))
	}
	err := d.at("stat", rel, func(fd int, name string) error {
		return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return st, err
}

// Born tells when rel itself was made; where the file system does not know, when it last changed.
func (d *Dir) Born(rel string) (at time.Time, err error) {
	err = d.at("stat", rel, func(fd int, name string) error {
		var st unix.Statx_t
		err := unix.Statx(fd, name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME|unix.STATX_CTIME, &st)
		t := st.Btime
		if st.Mask&unix.STATX_BTIME == 0 {
			t = st.Ctime
		}
		at = time.Unix(t.Sec, int64(t.Nsec))
		return err
	})
	return at, err
}

func wrap(op, rel string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: rel, Err: err}
}

// Mkdir makes one directory.
func (d *Dir) Mkdir(rel string, perm uint32, own Owner) error {
	return d.at("mkdir", rel, func(fd int, name string) error {
		return own.make(func() error { return unix.Mkdirat(fd, name, perm) })
	})
}

// MkdirAll makes rel and what is missing above it; each directory made goes to made (which may be nil). Something else
// that stands at rel is ENOTDIR.
func (d *Dir) MkdirAll(rel string, perm uint32, own Owner, made func(rel string) error) error {
	if rel == "." || rel == "" {
		return nil
	}
	if err := d.isDir(rel); !errors.Is(err, unix.ENOENT) { // it is there, as a rule
		return err
	}
	err := d.Mkdir(rel, perm, own)
	if errors.Is(err, unix.ENOENT) {
		if err := d.MkdirAll(path.Dir(rel), perm, own, made); err != nil {
			return err
		}
		err = d.Mkdir(rel, perm, own)
	}
	if errors.Is(err, unix.EEXIST) {
		return d.isDir(rel)
	}
	if err == nil && made != nil {
		return made(rel)
	}
	return err
}

func (d *Dir) isDir(rel string) error {
	st, err := d.Stat(rel)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return &os.PathError{Op: "mkdir", Path: rel, Err: unix.ENOTDIR}
	}
	return err
}

// Unlink removes a file, and Rmdir an empty directory.
func (d *Dir) Unlink(rel string) error {
	return d.at("unlink", rel, func(fd int, name string) error { return unix.Unlinkat(fd, name, 0) })
}

// Rmdir removes an empty directory.
func (d *Dir) Rmdir(rel string) error {
	return d.at("rmdir", rel, func(fd int, name string) error { return unix.Unlinkat(fd, name, unix.AT_REMOVEDIR) })
}

// Rename moves old to new, both below d, with renameat2(2) flags.
func (d *Dir) Rename(oldRel, newRel string, flags uint) error {
	return d.at("rename", newRel, func(newFd int, newName string) error {
		oldFd, oldName, err := d.parent("rename", oldRel)
		if err != nil {
			return err
		}
		defer unix.Close(oldFd)
		return unix.Renameat2(oldFd, oldName, newFd, newName, flags)
	})
}

// Symlink makes a link at rel with the given target text. Nothing in this package ever follows it.
func (d *Dir) Symlink(target, rel string, own Owner) error {
	return d.at("symlink", rel, func(fd int, name string) error {
		return own.make(func() error { return unix.Symlinkat(target, fd, name) })
	})
}

// Readlink gives the target text of the link rel.
func (d *Dir) Readlink(rel string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n := 0
	err := d.at("readlink", rel, func(fd int, name string) (err error) {
		n, err = unix.Readlinkat(fd, name, buf)
		return err
	})
	return string(buf[:max(n, 0)]), err
}

// Chown sets owner and group of rel itself.
func (d *Dir) Chown(rel string, uid, gid int) error {
	f, err := d.OpenFile(rel, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return wrap("chown", rel, unix.Fchownat(int(f.Fd()), "", uid, gid, unix.AT_EMPTY_PATH))
}

// Chmod sets the permission bits of rel, which must not be a link.
func (d *Dir) Chmod(rel string, perm uint32) error {
	f, err := d.OpenFile(rel, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	// fchmod(2) refuses O_PATH descriptors; /proc names the file that is already open, not a path again.
	return wrap("chmod", rel, unix.Fchmodat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), perm, 0))
}

// Utimes sets access and modification time; a time with Nsec unix.UTIME_OMIT is left, UTIME_NOW is the clock's.
func (d *Dir) Utimes(rel string, times [2]unix.Timespec) error {
	f, err := d.OpenFile(rel, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return wrap("utimes", rel, unix.UtimesNanoAt(int(f.Fd()), "", times[:], unix.AT_EMPTY_PATH))
}

// ReadDir lists the directory rel in name order.
func (d *Dir) ReadDir(rel string) ([]os.DirEntry, error) {
	f, err := d.OpenFile(rel, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	sortByName(entries)
	return entries, err
}
