package posix

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// call makes a system call, and gives ok, an errno's name or what it read.
type call func(p *play, a []string) string

func calls() map[string]call {
	simple := func(f func(a []string) error) call {
		return func(_ *play, a []string) string { return errnoName(f(a)) }
	}
	onFD := func(f func(fd int, a []string) error) call {
		return func(p *play, a []string) string {
			fd, ok := p.held[a[0]]
			if !ok {
				return "nothing is held as " + a[0]
			}
			return errnoName(f(fd, a[1:]))
		}
	}
	return map[string]call{
		"create": simple(func(a []string) error {
			return openClose(a[0], unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, octal(a, 1, 0o644))
		}),
		"open":   simple(func(a []string) error { return openClose(a[0], flags(a[1]), octal(a, 2, 0o644)) }),
		"mkdir":  simple(func(a []string) error { return unix.Mkdir(a[0], octal(a, 1, 0o755)) }),
		"rmdir":  simple(func(a []string) error { return unix.Rmdir(a[0]) }),
		"unlink": simple(func(a []string) error { return unix.Unlink(a[0]) }),
		"rename": simple(func(a []string) error { return unix.Rename(a[0], a[1]) }),
		"renameat2": simple(func(a []string) error {
			return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], uint(flags(a[2])))
		}),
		"link":     simple(func(a []string) error { return unix.Link(a[0], a[1]) }),
		"symlink":  simple(func(a []string) error { return unix.Symlink(a[0], a[1]) }),
		"mkfifo":   simple(func(a []string) error { return unix.Mkfifo(a[0], octal(a, 1, 0o644)) }),
		"mknod":    simple(mknod),
		"chmod":    simple(func(a []string) error { return unix.Chmod(a[0], octal(a, 1, 0)) }),
		"chown":    simple(func(a []string) error { return unix.Chown(a[0], number(a[1]), number(a[2])) }),
		"lchown":   simple(func(a []string) error { return unix.Lchown(a[0], number(a[1]), number(a[2])) }),
		"truncate": simple(func(a []string) error { return unix.Truncate(a[0], int64(number(a[1]))) }),
		"utimens":  simple(utimens),
		"access":   simple(func(a []string) error { return unix.Access(a[0], access(a[1])) }),
		"write":    simple(func(a []string) error { return openWrite(a[0], unix.O_WRONLY, a[1]) }),
		"append":   simple(func(a []string) error { return openWrite(a[0], unix.O_WRONLY|unix.O_APPEND, a[1]) }),
		"chdir":    simple(func(a []string) error { return unix.Chdir(a[0]) }),
		"umask":    simple(func(a []string) error { unix.Umask(int(octal(a, 0, 0))); return nil }),
		"exec":     running,
		"read":     readAll,
		"ls":       list,
		"readlink": readlink,
		"stat":     func(_ *play, a []string) string { return look(unix.Stat, a) },
		"lstat":    func(_ *play, a []string) string { return look(unix.Lstat, a) },
		"mark":     mark,
		"moved":    moved,
		"hold":     hold,
		"close": func(p *play, a []string) string {
			fd := p.held[a[0]]
			delete(p.held, a[0])
			return errnoName(unix.Close(fd))
		},
		"fstat": func(p *play, a []string) string {
			return look(func(_ string, st *unix.Stat_t) error { return unix.Fstat(p.held[a[0]], st) }, a)
		},
		"fread":  fread,
		"seek":   seek,
		"fwrite": onFD(func(fd int, a []string) error { return whole(unix.Write(fd, []byte(a[0])))(len(a[0])) }),
		"pwrite": onFD(func(fd int, a []string) error {
			return whole(unix.Pwrite(fd, []byte(a[1]), int64(number(a[0]))))(len(a[1]))
		}),
		"ftruncate": onFD(func(fd int, a []string) error { return unix.Ftruncate(fd, int64(number(a[0]))) }),
		"fallocate": onFD(func(fd int, a []string) error {
			return unix.Fallocate(fd, uint32(flags(a[0])), int64(number(a[1])), int64(number(a[2])))
		}),
		"fchmod":   onFD(func(fd int, a []string) error { return unix.Fchmod(fd, octal(a, 0, 0)) }),
		"fchown":   onFD(func(fd int, a []string) error { return unix.Fchown(fd, number(a[0]), number(a[1])) }),
		"futimens": onFD(func(fd int, a []string) error { return unix.UtimesNanoAt(fd, "", timespecs(a), unix.AT_EMPTY_PATH) }),
		"fsync":    onFD(func(fd int, _ []string) error { return unix.Fsync(fd) }),
		"openat":   onFD(func(fd int, a []string) error { return openatClose(fd, a[0], flags(a[1]), octal(a, 2, 0o644)) }),
		"mkdirat":  onFD(func(fd int, a []string) error { return unix.Mkdirat(fd, a[0], octal(a, 1, 0o755)) }),
		"unlinkat": onFD(func(fd int, a []string) error { return unix.Unlinkat(fd, a[0], 0) }),
		"fchdir":   onFD(func(fd int, _ []string) error { return unix.Fchdir(fd) }),
		"copy":     copyRange,
		"reopen": func(p *play, a []string) string {
			return errnoName(openClose(fmt.Sprintf("/proc/self/fd/%d", p.held[a[0]]), flags(a[1]), 0))
		},
	}
}

func openClose(path string, flags int, mode uint32) error {
	return openatClose(unix.AT_FDCWD, path, flags, mode)
}

func openatClose(dir int, path string, flags int, mode uint32) error {
	fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, mode)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

func openWrite(path string, flags int, text string) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	err = whole(unix.Write(fd, []byte(text)))(len(text))
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	return err
}

// whole is an error also when less was done than was to be.
func whole(n int, err error) func(want int) error {
	return func(want int) error {
		if err == nil && n != want {
			return fmt.Errorf("%d of %d bytes", n, want)
		}
		return err
	}
}

func octal(a []string, i int, or uint32) uint32 {
	if i >= len(a) {
		return or
	}
	n, err := strconv.ParseUint(a[i], 8, 32)
	if err != nil {
		panic(err)
	}
	return uint32(n)
}

func number(s string) int {
	switch s {
	case "alice":
		return alice
	case "carol":
		return carol
	case "team":
		return team
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return int(n)
}

// flags reads names of flags with commas between.
func flags(s string) (n int) {
	known := map[string]int{
		"0": 0, "O_RDONLY": unix.O_RDONLY, "O_WRONLY": unix.O_WRONLY, "O_RDWR": unix.O_RDWR, "O_CREAT": unix.O_CREAT, "O_EXCL": unix.O_EXCL,
		"O_TRUNC": unix.O_TRUNC, "O_APPEND": unix.O_APPEND, "O_DIRECTORY": unix.O_DIRECTORY, "O_NOFOLLOW": unix.O_NOFOLLOW, "O_PATH": unix.O_PATH,
		"O_TMPFILE": unix.O_TMPFILE, "O_NOATIME": unix.O_NOATIME, "O_SYNC": unix.O_SYNC, "O_DIRECT": unix.O_DIRECT,
		"NOREPLACE": unix.RENAME_NOREPLACE, "EXCHANGE": unix.RENAME_EXCHANGE, "WHITEOUT": unix.RENAME_WHITEOUT,
		"KEEP_SIZE": unix.FALLOC_FL_KEEP_SIZE, "PUNCH_HOLE": unix.FALLOC_FL_PUNCH_HOLE, "ZERO_RANGE": unix.FALLOC_FL_ZERO_RANGE, "COLLAPSE_RANGE": unix.FALLOC_FL_COLLAPSE_RANGE,
	}
	for name := range strings.SplitSeq(s, ",") {
		f, ok := known[name]
		if !ok {
			panic("no such flag: " + name)
		}
		n |= f
	}
	return n
}

func access(s string) (n uint32) {
	for _, c := range s {
		n |= map[rune]uint32{'r': unix.R_OK, 'w': unix.W_OK, 'x': unix.X_OK, 'f': unix.F_OK}[c]
	}
	return n
}

func mknod(a []string) error {
	kind := map[string]uint32{"file": unix.S_IFREG, "socket": unix.S_IFSOCK, "fifo": unix.S_IFIFO, "char": unix.S_IFCHR, "block": unix.S_IFBLK}[a[1]]
	return unix.Mknod(a[0], kind|octal(a, 2, 0o644), int(unix.Mkdev(1, 3)))
}

// timespecs reads two times: now, omit, or seconds with nanoseconds after a dot.
func timespecs(a []string) []unix.Timespec {
	var ts []unix.Timespec
	for _, s := range a[:2] {
		sec, nsec, _ := strings.Cut(s, ".")
		switch s {
		case "now":
			ts = append(ts, unix.Timespec{Nsec: unix.UTIME_NOW})
		case "omit":
			ts = append(ts, unix.Timespec{Nsec: unix.UTIME_OMIT})
		default:
			t := unix.Timespec{Sec: int64(number(sec))}
			if nsec != "" {
				t.Nsec = int64(number(nsec))
			}
			ts = append(ts, t)
		}
	}
	return ts
}

func utimens(a []string) error {
	how := 0
	if len(a) > 3 && a[3] == "nofollow" {
		how = unix.AT_SYMLINK_NOFOLLOW
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, a[0], timespecs(a[1:]), how)
}

// look gives what was asked for of a file's attributes.
func look(stat func(string, *unix.Stat_t) error, a []string) string {
	var st unix.Stat_t
	if err := stat(a[0], &st); err != nil {
		return errnoName(err)
	}
	kinds := map[uint32]string{unix.S_IFREG: "file", unix.S_IFDIR: "folder", unix.S_IFLNK: "link", unix.S_IFIFO: "fifo", unix.S_IFSOCK: "socket", unix.S_IFCHR: "char", unix.S_IFBLK: "block"}
	time := func(t unix.Timespec) string { return fmt.Sprintf("%d.%d", t.Sec, t.Nsec) }
	var out []string
	for _, what := range a[1:] {
		switch what {
		case "type":
			out = append(out, kinds[st.Mode&unix.S_IFMT])
		case "mode":
			out = append(out, fmt.Sprintf("%04o", st.Mode&0o7777))
		case "uid":
			out = append(out, user(st.Uid))
		case "gid":
			out = append(out, user(st.Gid))
		case "size":
			out = append(out, fmt.Sprint(st.Size))
		case "nlink":
			out = append(out, fmt.Sprint(st.Nlink))
		case "atime":
			out = append(out, time(st.Atim))
		case "mtime":
			out = append(out, time(st.Mtim))
		default:
			panic("no such attribute: " + what)
		}
	}
	if out == nil {
		return "ok"
	}
	return strings.Join(out, " ")
}

func user(id uint32) string {
	switch id {
	case root:
		return "root"
	case alice:
		return "alice"
	case carol:
		return "carol"
	case team:
		return "team"
	}
	return fmt.Sprint(id)
}

// mark remembers the times of files, and waits until the clock of the file system has gone on.
func mark(p *play, a []string) string {
	for _, path := range a {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return errnoName(err)
		}
		p.marks[path] = st
	}
	time.Sleep(12 * time.Millisecond)
	return "ok"
}

// moved tells which of a file's times went on since mark: of "mtime ctime"; and that one went back.
func moved(p *play, a []string) string {
	var st unix.Stat_t
	if err := unix.Lstat(a[0], &st); err != nil {
		return errnoName(err)
	}
	old := p.marks[a[0]]
	if len(a) > 1 {
		old = p.marks[a[1]] // it has another name now
	}
	var out []string
	for _, t := range []struct {
		name     string
		old, now unix.Timespec
	}{{"mtime", old.Mtim, st.Mtim}, {"ctime", old.Ctim, st.Ctim}} {
		switch d := t.now.Nano() - t.old.Nano(); {
		case d > 0:
			out = append(out, t.name)
		case d < 0:
			out = append(out, t.name+" went back")
		}
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, " ")
}

func hold(p *play, a []string) string {
	fd, err := unix.Open(a[1], flags(a[2])|unix.O_CLOEXEC, octal(a, 3, 0o644))
	if err == nil {
		p.held[a[0]] = fd
	}
	return errnoName(err)
}

func readAll(_ *play, a []string) string {
	data, err := os.ReadFile(a[0])
	if err != nil {
		return errnoName(err)
	}
	return shown(data)
}

// shown writes bytes as text: runs of NULs as their number.
func shown(data []byte) string {
	var out strings.Builder
	for len(data) > 0 {
		n := slices.IndexFunc(data, func(b byte) bool { return b != 0 })
		if n < 0 {
			n = len(data)
		}
		if n > 0 {
			fmt.Fprintf(&out, "[%d]", n)
			data = data[n:]
			continue
		}
		out.WriteByte(data[0])
		data = data[1:]
	}
	if out.Len() == 0 {
		return "nothing"
	}
	return out.String()
}

// fread reads up to so many bytes, at an offset when there is one.
func fread(p *play, a []string) string {
	buf := make([]byte, number(a[1]))
	var n int
	var err error
	if len(a) > 2 {
		n, err = unix.Pread(p.held[a[0]], buf, int64(number(a[2])))
	} else {
		n, err = unix.Read(p.held[a[0]], buf)
	}
	if err != nil {
		return errnoName(err)
	}
	return shown(buf[:n])
}

func seek(p *play, a []string) string {
	whence := map[string]int{"set": unix.SEEK_SET, "cur": unix.SEEK_CUR, "end": unix.SEEK_END, "data": unix.SEEK_DATA, "hole": unix.SEEK_HOLE}[a[2]]
	off, err := unix.Seek(p.held[a[0]], int64(number(a[1])), whence)
	if err != nil {
		return errnoName(err)
	}
	return fmt.Sprint(off)
}

func copyRange(p *play, a []string) string {
	n, err := unix.CopyFileRange(p.held[a[0]], nil, p.held[a[1]], nil, number(a[2]), 0)
	if err != nil {
		return errnoName(err)
	}
	return fmt.Sprint(n)
}

func readlink(_ *play, a []string) string {
	buf := make([]byte, 8192)
	n, err := unix.Readlink(a[0], buf)
	if err != nil {
		return errnoName(err)
	}
	return string(buf[:n])
}

func list(_ *play, a []string) string {
	entries, err := os.ReadDir(a[0])
	if err != nil {
		return errnoName(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if names == nil {
		return "nothing"
	}
	return strings.Join(names, " ")
}

// running copies sleep(1) to a file and has it run until the case ends.
func running(p *play, a []string) string {
	data, err := os.ReadFile("/bin/sleep")
	if err != nil {
		return err.Error()
	}
	if err := os.WriteFile(a[0], data, 0o755); err != nil {
		return errnoName(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return err.Error()
	}
	c := exec.Command(dir+"/"+a[0], "100")
	for range 100 {
		if err = c.Start(); !errors.Is(err, unix.ETXTBSY) { // a child that another case just forked holds what was written
			break
		}
		time.Sleep(time.Millisecond)
		c = exec.Command(dir+"/"+a[0], "100")
	}
	if err != nil {
		return errnoName(err)
	}
	p.progs = append(p.progs, c.Process)
	return "ok"
}
