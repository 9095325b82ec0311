package beneath

import (
	"bytes"
	"encoding/binary"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Found is one name of a directory that is scanned.
type Found struct {
	Name string
	Type uint8 // DT_DIR, DT_REG, ... of getdents64(2); never DT_UNKNOWN
	Ino  uint64
}

// Scan calls each with the names in the directory rel, "." and ".." not among them, in the order of the file system. It
// costs little for a name: neither sorting nor an attribute.
func (d *Dir) Scan(rel string, each func(Found)) error {
	f, err := d.OpenFile(rel, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Getdents(int(f.Fd()), buf)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			return wrap("readdir", rel, err)
		}
		if err := entries(int(f.Fd()), buf[:n], each); err != nil {
			return &os.PathError{Op: "readdir", Path: rel, Err: err}
		}
	}
}

// entries takes apart what getdents64(2) gave: ino (8 bytes), offset (8), length of the entry (2), type (1), the name and a
// NUL.
func entries(fd int, buf []byte, each func(Found)) error {
	const head = 19
	names := string(buf) // one piece for all names
	for at := 0; at+head <= len(buf); {
		size := int(binary.NativeEndian.Uint16(buf[at+16:]))
		if size < head || at+size > len(buf) {
			return unix.EIO
		}
		end := bytes.IndexByte(buf[at+head:at+size], 0)
		if end < 0 {
			return unix.EIO
		}
		e := Found{Name: names[at+head : at+head+end], Type: buf[at+18], Ino: binary.NativeEndian.Uint64(buf[at:])}
		at += size
		if e.Name == "." || e.Name == ".." {
			continue
		}
		if e.Type == unix.DT_UNKNOWN { // some file systems do not tell
			var st unix.Stat_t
			if err := unix.Fstatat(fd, e.Name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				continue // it went away meanwhile
			}
			e.Type = uint8(st.Mode & unix.S_IFMT >> 12)
		}
		each(e)
	}
	return nil
}

// Folder is a directory that is being looked at. Names given to its methods have no '/'.
type Folder struct {
	fd  int
	dir *Dir
	rel string
}

// Look opens the directory rel for as long as fn runs: its path is resolved once for all that fn asks.
func (d *Dir) Look(rel string, fn func(Folder) error) error {
	fd, err := d.openat(rel, unix.O_DIRECTORY|unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: rel, Err: err}
	}
	defer unix.Close(fd)
	return fn(Folder{fd, d, rel})
}

// Stat gives the attributes of the directory itself. Its errors, and those of the other methods, are plain errnos, or
// the guard's.
func (f Folder) Stat() (st unix.Stat_t, err error) { return st, unix.Fstat(f.fd, &st) }

// StatAt gives the attributes of a name in the directory: links are not followed.
func (f Folder) StatAt(name string) (st unix.Stat_t, err error) {
	return st, unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
}

// ReadAll reads a regular file of the directory into buf, and gives what was read. One that does not fit is ErrTooLarge.
func (f Folder) ReadAll(name string, buf []byte) ([]byte, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: resolve}
	fd, err := unix.Openat2(f.fd, name, &how)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if g := f.dir.guard; g != nil {
		if err := g(path.Join(f.dir.base, f.rel, name), &st); err != nil {
			return nil, err
		}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, unix.EINVAL
	}
	for n := 0; n < len(buf); {
		got, err := unix.Read(fd, buf[n:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case got == 0:
			return buf[:n], nil
		default:
			n += got
		}
	}
	return nil, ErrTooLarge
}

// StatAt is Stat for a name in d itself, which has no '/'.
func (d *Dir) StatAt(name string) (unix.Stat_t, error) {
	if strings.ContainsRune(name, '/') || name == ".." {
		return unix.Stat_t{}, &os.PathError{Op: "stat", Path: name, Err: unix.EINVAL}
	}
	st, err := Folder{fd: int(d.f.Fd())}.StatAt(name)
	return st, wrap("stat", name, err)
}
