package session

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// checkCWD holds a session's cwd to a directory inside the agent's root (Session ABI): one that is not there is
// ENOENT; one that is there, but outside the root, is EACCES.
func checkCWD(x *Session, data []byte, by Caller) ([]byte, error) {
	cwd := strings.TrimSuffix(string(data), "\n")
	if !path.IsAbs(cwd) || strings.ContainsAny(cwd, "\n\x00") || len(cwd) >= unix.PathMax {
		return nil, refuse(Invalid, "cwd is one absolute path inside the agent's root, not %.40q", cwd)
	}
	if climbs(cwd) {
		return nil, refuse(Denied, "cwd %s leads out of the agent's root", cwd)
	}
	clean := path.Clean(cwd)
	err := x.c.inRoot(clean)
	if err == nil {
		return []byte(clean + "\n"), nil
	}
	if errors.Is(err, fs.ErrNotExist) && x.store.visible(clean, by) {
		return nil, refuse(Denied, "cwd %s is outside the agent's root", clean)
	}
	return nil, err
}

// Relocate changes the session's cwd to where its directory has moved. Nobody worked in the session: it stays as old as it
// was, and in its place among the others.
func (x *Session) Relocate(cwd string, by Caller) error {
	x.ctlMu.Lock()
	defer x.ctlMu.Unlock()
	keep, err := checkCWD(x, []byte(cwd), by)
	if err != nil {
		return err
	}
	a, err := x.attr()
	if err != nil {
		return err
	}
	defer x.Touch()
	if err := x.put("cwd", keep); err != nil {
		return err
	}
	return x.setTime(x.rel(), a.Mtime)
}

// climbs tells whether a path's ".." go above its root at any point.
func climbs(p string) bool {
	depth := 0
	for _, part := range strings.Split(p, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return true
			}
		default:
			depth++
		}
	}
	return false
}

// inRoot tells whether cwd is a directory as seen from inside the agent's root. Links in the root count from it,
// as in a chroot.
func (c *Container) inRoot(cwd string) error {
	root, err := c.store.host().dir.Sub(c.RootRel())
	if errors.Is(err, fs.ErrNotExist) && cwd == "/" {
		return nil // the root is made when it is first used
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return root.IsDirInRoot(cwd)
}

// visible tells whether the host has the path and by could know that: each folder on the way is searchable for
// everybody, or the daemon runs as by itself. No other mount is entered: it could hang, or be the daemon's own, whose
// folder the kernel may hold locked just now. That a path leads into another mount is no secret.
func (s *Store) visible(p string, by Caller) bool {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, p, &how)
	if err == unix.EXDEV {
		return true
	}
	if err != nil {
		return false
	}
	_ = unix.Close(fd) // it was only looked at
	if by.UID == 0 || !s.chown {
		return true
	}
	for dir := filepath.Dir(p); ; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		if err != nil || st.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == "/" {
			return true
		}
	}
}
