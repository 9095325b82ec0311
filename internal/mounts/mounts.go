// Package mounts finds ctxfs mounts on this host, tells stale ones apart, and unmounts.
package mounts

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Mount is one ctxfs mount of this host.
type Mount struct {
	Point      string // the mountpoint
	Store      string // the store that it shows, as whoever mounted it says
	UID        int    // who mounted it (user_id=); -1 when the kernel does not say
	AllowOther bool   // other users are let in
}

// List gives the ctxfs mounts that this process can see, in the order of /proc/self/mountinfo (proc(5)).
func List() ([]Mount, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parse(f)
}

func parse(r io.Reader) ([]Mount, error) {
	var out []Mount
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		before, after, ok := strings.Cut(sc.Text(), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 2 || right[0] != "fuse.ctxfs" {
			continue
		}
		m := Mount{Point: unescape(left[4]), Store: unescape(right[1]), UID: nobody}
		if len(right) > 2 {
			m.UID, m.AllowOther = owner(right[2])
		}
		if left[3] != "/" { // a folder of one, bound here: what is called status in it is some user's file
			m.UID = nobody
		}
		out = append(out, m)
	}
	return out, sc.Err()
}

// unescape reads the octal escapes of mountinfo: space, tab, newline and backslash.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// At returns the mount at point or above it. ok is false when there is none.
func At(point string) (m Mount, ok bool, err error) {
	list, err := List()
	m, ok = Surrounding(list, Real(point))
	return m, ok, err
}

// Surrounding returns the mount of list that the absolute path p, without symbolic links, is in: the innermost, and of several at one
// mountpoint the last, which is on top.
func Surrounding(list []Mount, p string) (m Mount, ok bool) {
	for _, c := range list {
		if Inside(p, c.Point) && len(c.Point) >= len(m.Point) {
			m, ok = c, true
		}
	}
	return m, ok
}

// Inside tells whether the absolute path p is dir or stands below it.
func Inside(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// ErrStale says that a mountpoint's daemon is gone: programs see ENOTCONN there.
var ErrStale = errors.New("stale mountpoint: its daemon is gone")

// ErrMounted says that a ctxfs is mounted at a mountpoint already.
var ErrMounted = errors.New("a ctxfs is mounted here already")

// Check looks at a mountpoint before a mount: it must be a directory, and nothing of ctxfs's may stand on it. A stale
// one is ErrStale.
func Check(point string) error {
	if err := Stale(point); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Stat(point, &st); err != nil {
		return &os.PathError{Op: "mount", Path: point, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return &os.PathError{Op: "mount", Path: point, Err: unix.ENOTDIR}
	}
	if m, ok, err := At(point); err == nil && ok && m.Point == Real(point) {
		return fmt.Errorf("%s: %w; end it with: ctxfs umount %s", point, ErrMounted, Quote(point))
	}
	return nil
}

// Stale tells, by an error that is ErrStale, that point's daemon is gone. It asks with statfs(2): the kernel answers
// stat(2) of a dead mount from memory.
func Stale(point string) error {
	var fs unix.Statfs_t
	err := unix.Statfs(point, &fs)
	if errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED) {
		return fmt.Errorf("%s: %w; free it with: %s", point, ErrStale, FreeCommand(point))
	}
	return nil
}

// Free takes a stale mountpoint away, if it is one of ctxfs's: whoever still has files open there sees ENOTCONN.
func Free(point string) error {
	if m, ok, err := At(point); err != nil || !ok || m.Point != Real(point) {
		return fmt.Errorf("%s: not a mount of ctxfs", point)
	}
	return Unmount(point, true)
}

// Unmount unmounts point: by umount2(2) for root, else through fusermount3(1). lazy detaches it while it is in use.
func Unmount(point string, lazy bool) error {
	if os.Geteuid() == 0 {
		flags := 0
		if lazy {
			flags = unix.MNT_DETACH
		}
		if err := unix.Unmount(point, flags); err != nil {
			return &os.PathError{Op: "umount", Path: point, Err: err}
		}
		return nil
	}
	args := []string{"-u", point}
	if lazy {
		args = []string{"-uz", point}
	}
	out, err := exec.Command("fusermount3", args...).CombinedOutput() // #nosec G204 -- no shell; the mountpoint that the caller named
	if err != nil {
		return fmt.Errorf("umount %s: %s: %w", point, strings.TrimSpace(string(out)), err)
	}
	return nil
}

// Status reads the status file of a mount into its keys and values.
func Status(point string) (map[string]string, error) {
	data, err := ReadStatus(point)
	if err != nil {
		return nil, err
	}
	return ParseStatus(data), nil
}

// maxStatus is more than any status file has; that of another user's mount may have no end.
const maxStatus = 1 << 20

// ReadStatus reads the status file of a mount. What is no file there is neither followed nor waited for.
func ReadStatus(point string) ([]byte, error) {
	name := filepath.Join(point, "status")
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) // #nosec G304 -- of a mount that the kernel lists
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxStatus+1))
	if err == nil && len(data) > maxStatus {
		err = &os.PathError{Op: "read", Path: name, Err: unix.EFBIG}
	}
	return data, err
}

// ParseStatus reads the `key: value` lines of a status file.
func ParseStatus(data []byte) map[string]string {
	kv := map[string]string{}
	for _, line := range strings.Split(string(data), "\n") {
		if k, v, ok := strings.Cut(line, ": "); ok {
			kv[k] = v
		}
	}
	return kv
}

// Overlap tells, by an error, that a store and a mountpoint stand inside one another: then the daemon would wait for
// itself. Links on the way are followed; what does not exist yet is taken as it is written.
func Overlap(store, point string) error {
	s, p := Real(store), Real(point)
	if Inside(s, p) {
		return fmt.Errorf("the store %s stands inside the mountpoint %s: choose a store outside it with --store", store, point)
	}
	if Inside(p, s) {
		return fmt.Errorf("the mountpoint %s stands inside the store %s: choose another mountpoint", point, store)
	}
	return nil
}

// Real gives the absolute path of p as the kernel knows it: the links of the longest part that exists are resolved.
func Real(p string) string {
	abs, err := filepath.Abs(p)
	if err != nil {
		return p
	}
	if r, err := filepath.EvalSymlinks(abs); err == nil {
		return r
	}
	if abs == "/" {
		return abs
	}
	return filepath.Join(Real(filepath.Dir(abs)), filepath.Base(abs))
}
