package fsnode

import (
	"fmt"
	"os"
	"path"
	"sync"
	"sync/atomic"

	"ctxfs/internal/beneath"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// A plain file that loses its name is still there for whoever has it open, and for whom the kernel found it just before. What is open of it
// leads to it; besides, the last ones are held until the kernel forgets them, which is at once as a rule.

// left is what an entry has of a plain file without a name.
type left struct {
	st   atomic.Pointer[unix.Stat_t] // its attributes when it lost the name
	file atomic.Pointer[os.File]     // the file, opened with O_PATH; nil: it is not held any more
}

// letGo ends the holding of a file. To close it can take long: that may remove it.
func (l *left) letGo() {
	if file := l.file.Swap(nil); file != nil {
		go file.Close()
	}
}

// lastOnes are those that lost their names last: no more are held, since nobody has asked for them.
type lastOnes struct {
	mu   sync.Mutex // protects what is below
	ring [64]*entry
	next int
}

func (l *lastOnes) add(e *entry) {
	l.mu.Lock()
	old := l.ring[l.next]
	l.ring[l.next] = e
	l.next = (l.next + 1) % len(l.ring)
	l.mu.Unlock()
	if old != nil && old != e {
		old.left.letGo()
	}
}

// leave is called before a plain file loses its name, rel in dir. What has it open is kept for the process after this one.
func (f *FS) leave(n node, dir *beneath.Dir, rel string) error {
	file, err := dir.OpenFile(rel, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		file.Close()
		return &os.PathError{Op: "stat", Path: path.Base(rel), Err: err}
	}
	st.Nlink = 0
	n.e.left.st.Store(&st)
	n.e.left.letGo() // of an attempt that failed
	n.e.left.file.Store(file)
	f.lastOnes.add(n.e)
	f.orphan(n.id)
	return nil
}

// onLeft runs do on a plain file without a name, while it is there.
func (f *FS) onLeft(n node, do func(fd int) error) error {
	if found, err := f.handles.onFile(n.id, do); found {
		return err
	}
	file := n.e.left.file.Load()
	if file == nil {
		return unix.ESTALE
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return unix.ESTALE
	}
	if cerr := conn.Control(func(fd uintptr) { err = do(int(fd)) }); cerr != nil {
		return unix.ESTALE // it was let go
	}
	return err
}

// onFile runs do on a file that is open of the node, if there is one.
func (hs *handles) onFile(id uint64, do func(fd int) error) (found bool, err error) {
	hs.mu.RLock()
	defer hs.mu.RUnlock()
	for _, h := range hs.open {
		if h.node.id == id && h.file != nil {
			return true, do(int(h.file.Fd()))
		}
	}
	return false, nil
}

// leftAttr gives the attributes of a plain file without a name.
func (f *FS) leftAttr(n node, a *fuse.Attr) error {
	var st unix.Stat_t
	err := f.onLeft(n, func(fd int) error { return unix.Fstat(fd, &st) })
	if last := n.e.left.st.Load(); err != nil && last != nil {
		st, err = *last, nil
	}
	if err == nil {
		fromStat(a, &st)
	}
	return err
}

// setLeft is setPlain for a file without a name. Its owner stays.
func (f *FS) setLeft(n node, h *handle, in *fuse.SetAttrIn) error {
	if _, ok := in.GetUID(); ok {
		return unix.EPERM
	}
	if size, ok := in.GetSize(); ok {
		if err := f.cutLeft(n, h, int64(size), in.InHeader.Uid); err != nil {
			return err
		}
	}
	return f.onLeft(n, func(fd int) error {
		if mode, ok := in.GetMode(); ok {
			if err := unix.Chmod(procName(fd), mode&0o7777); err != nil {
				return err
			}
		}
		if gid, ok := in.GetGID(); ok {
			if err := unix.Fchownat(fd, "", -1, int(gid), unix.AT_EMPTY_PATH); err != nil {
				return err
			}
		}
		if in.Valid&setTimes == 0 {
			return nil
		}
		times := timesOf(in)
		return unix.UtimesNanoAt(fd, "", times[:], unix.AT_EMPTY_PATH)
	})
}

func (f *FS) cutLeft(n node, h *handle, size int64, by uint32) error {
	if h != nil && h.file != nil {
		return cut(h.file, size, by)
	}
	file, err := f.reopen(n, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	return cut(file, size, by)
}

// reopen opens a plain file without a name.
func (f *FS) reopen(n node, flags int) (file *os.File, err error) {
	err = f.onLeft(n, func(fd int) error {
		file, err = os.OpenFile(procName(fd), flags|unix.O_NONBLOCK, 0)
		return err
	})
	return file, err
}

// procName names a file that is open: it is not looked for again.
func procName(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// readLeft gives the target of a link without a name.
func (f *FS) readLeft(n node) (string, error) {
	buf := make([]byte, unix.PathMax)
	size := 0
	err := f.onLeft(n, func(fd int) (err error) {
		size, err = unix.Readlinkat(fd, "", buf)
		return err
	})
	return string(buf[:max(size, 0)]), err
}
