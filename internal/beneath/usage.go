package beneath

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// maxUsageDepth is how deep folders in folders are counted: each takes a descriptor meanwhile.
const maxUsageDepth = 128

// Usage counts what the directory rel and all in it take: bytes on disk (st_blocks) and files of any type, each name for itself.
// Folders deeper than 128 are an error. What goes away meanwhile is not counted.
func (d *Dir) Usage(rel string) (bytes, files int64, err error) {
	f, err := d.OpenFile(rel, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	u := usage{buf: make([]byte, 64<<10)}
	if err := u.folder(int(f.Fd()), 0); err != nil {
		return 0, 0, wrap("usage", rel, err)
	}
	return u.bytes, u.files, nil
}

type usage struct {
	bytes, files int64
	buf          []byte
}

func (u *usage) folder(fd, depth int) error {
	if depth > maxUsageDepth {
		return fmt.Errorf("folders deeper than %d: %w", maxUsageDepth, unix.ELOOP)
	}
	var folders []string
	for {
		n, err := unix.Getdents(fd, u.buf)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			if err != nil {
				return err
			}
			break
		}
		err = entries(fd, u.buf[:n], func(e Found) {
			var st unix.Stat_t
			if unix.Fstatat(fd, e.Name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				return // it went away
			}
			u.bytes += st.Blocks * 512
			u.files++
			if e.Type == unix.DT_DIR {
				folders = append(folders, e.Name)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, name := range folders {
		if err := u.under(fd, name, depth); err != nil {
			return err
		}
	}
	return nil
}

func (u *usage) under(fd int, name string, depth int) error {
	sub, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP {
		return nil // it went away, or another took its name
	}
	if err != nil {
		return err
	}
	defer unix.Close(sub)
	return u.folder(sub, depth+1)
}
