package posix

import (
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// The operations on plain files: each gives what the mount gave, and what the model says.

func (w *plainWorld) opening(o op) (got, want string) {
	name, how := o[2], flags(o[3])
	want = w.parent(name)
	kind := w.kind(name)
	switch {
	case want != "ok":
	case kind == "" && how&unix.O_CREAT == 0:
		want = "ENOENT"
	case kind != "" && how&unix.O_EXCL != 0:
		want = "EEXIST"
	}
	fd, err := unix.Open(w.path(name), how|unix.O_CLOEXEC, 0o644)
	if got = errnoName(err); got != "ok" || want != "ok" {
		if got == "ok" {
			unix.Close(fd)
		}
		return got, want
	}
	if kind == "" {
		w.files[name] = &inode{named: true}
	}
	f := w.files[name]
	if how&unix.O_TRUNC != 0 {
		f.data = nil
	}
	w.drop(o[1])
	w.open[o[1]] = slot{fd, &desc{inode: f, flags: how}}
	return got, want
}

func (w *plainWorld) drop(s string) {
	if d, ok := w.open[s]; ok {
		unix.Close(d.fd)
		delete(w.open, s)
	}
}

func (w *plainWorld) closing(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	delete(w.open, o[1])
	return errnoName(unix.Close(d.fd)), "ok"
}

func (w *plainWorld) dup(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok || o[1] == o[2] {
		return
	}
	fd, err := unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		w.drop(o[2])
		w.open[o[2]] = slot{fd, d.desc}
	}
	return errnoName(err), "ok"
}

// bytesAt gives what is in the file from an offset on.
func (f *inode) bytesAt(at, n int) []byte {
	if at >= len(f.data) {
		return nil
	}
	return f.data[at:min(at+n, len(f.data))]
}

// grow makes the file at least so long.
func (f *inode) grow(n int) {
	if n > len(f.data) {
		f.data = append(f.data, make([]byte, n-len(f.data))...)
	}
}

func (f *inode) put(at int, data []byte) {
	if len(data) > 0 {
		f.grow(at + len(data))
		copy(f.data[at:], data)
	}
}

func readInto(n int, read func(buf []byte) (int, error)) string {
	buf := make([]byte, n)
	got, err := read(buf)
	if err != nil {
		return errnoName(err)
	}
	return brief(buf[:got])
}

func (w *plainWorld) read(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	got = readInto(o.num(2), func(buf []byte) (int, error) { return unix.Read(d.fd, buf) })
	if !d.reads() {
		return got, "EBADF"
	}
	data := d.bytesAt(d.at, o.num(2))
	d.at += len(data)
	return got, brief(data)
}

func (w *plainWorld) pread(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	got = readInto(o.num(3), func(buf []byte) (int, error) { return unix.Pread(d.fd, buf, int64(o.num(2))) })
	if !d.reads() {
		return got, "EBADF"
	}
	return got, brief(d.bytesAt(o.num(2), o.num(3)))
}

func (w *plainWorld) write(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok || d.at+o.num(2) > 2*maxFile || len(d.data) > 2*maxFile {
		return
	}
	data := bytesOf(o.num(3), o.num(2))
	n, err := unix.Write(d.fd, data)
	got = fmt.Sprint(max(n, 0), " ", errnoName(err))
	if !d.writes() {
		return got, "0 EBADF"
	}
	if d.flags&unix.O_APPEND != 0 && len(data) > 0 {
		d.at = len(d.data)
	}
	d.put(d.at, data)
	d.at += len(data)
	return got, fmt.Sprint(len(data), " ok")
}

func (w *plainWorld) pwrite(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok || len(d.data) > 2*maxFile {
		return
	}
	data := bytesOf(o.num(4), o.num(3))
	n, err := unix.Pwrite(d.fd, data, int64(o.num(2)))
	got = fmt.Sprint(max(n, 0), " ", errnoName(err))
	if !d.writes() {
		return got, "0 EBADF"
	}
	at := o.num(2)
	if d.flags&unix.O_APPEND != 0 {
		at = len(d.data) // Linux, as pwrite(2) has it
	}
	d.put(at, data)
	return got, fmt.Sprint(len(data), " ok")
}

func (w *plainWorld) seek(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	base := map[string]int{"set": 0, "cur": d.at, "end": len(d.data)}[o[3]]
	whence := map[string]int{"set": unix.SEEK_SET, "cur": unix.SEEK_CUR, "end": unix.SEEK_END}[o[3]]
	off, err := unix.Seek(d.fd, int64(o.num(2)), whence)
	if err != nil {
		got = errnoName(err)
	} else {
		got = fmt.Sprint(off)
	}
	if base+o.num(2) < 0 {
		return got, "EINVAL"
	}
	d.at = base + o.num(2)
	return got, fmt.Sprint(d.at)
}

func (f *inode) cut(n int) {
	f.grow(n)
	f.data = f.data[:n:n]
}

func (w *plainWorld) truncate(o op) (got, want string) {
	got = errnoName(unix.Truncate(w.path(o[1]), int64(o.num(2))))
	if want = w.parent(o[1]); want != "ok" {
		return got, want
	}
	f := w.files[o[1]]
	if f == nil {
		return got, "ENOENT"
	}
	f.cut(o.num(2))
	return got, "ok"
}

func (w *plainWorld) ftruncate(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	got = errnoName(unix.Ftruncate(d.fd, int64(o.num(2))))
	if !d.writes() {
		return got, "EINVAL"
	}
	d.cut(o.num(2))
	return got, "ok"
}

func (w *plainWorld) fallocate(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	how, at, n := flags(o[2]), o.num(3), o.num(4)
	got = errnoName(unix.Fallocate(d.fd, uint32(how), int64(at), int64(n)))
	if !d.writes() {
		return got, "EBADF"
	}
	if how&unix.FALLOC_FL_KEEP_SIZE == 0 {
		d.grow(at + n)
	}
	if how&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) != 0 {
		clear(d.bytesAt(at, n))
	}
	return got, "ok"
}

func (w *plainWorld) unlink(o op) (got, want string) {
	got = errnoName(unix.Unlink(w.path(o[1])))
	if want = w.parent(o[1]); want != "ok" {
		return got, want
	}
	f := w.files[o[1]]
	if f == nil {
		return got, "ENOENT"
	}
	f.named = false
	delete(w.files, o[1])
	return got, "ok"
}

func (w *plainWorld) link(o op) (got, want string) {
	got = errnoName(unix.Link(w.path(o[1]), w.path(o[2])))
	from, to := w.parent(o[1]), w.parent(o[2])
	switch {
	case from != "ok":
		return got, from
	case w.kind(o[1]) == "":
		return got, "ENOENT"
	case to != "ok":
		return got, to
	case w.kind(o[2]) != "":
		return got, "EEXIST"
	}
	return got, "EPERM"
}

func (w *plainWorld) mkdir(o op) (got, want string) {
	got = errnoName(unix.Mkdir(w.path(o[1]), 0o755))
	if want = w.parent(o[1]); want != "ok" {
		return got, want
	}
	if w.kind(o[1]) != "" {
		return got, "EEXIST"
	}
	w.dirs[o[1]] = true
	return got, "ok"
}

func (w *plainWorld) rmdir(o op) (got, want string) {
	got = errnoName(unix.Rmdir(w.path(o[1])))
	if want = w.parent(o[1]); want != "ok" {
		return got, want
	}
	switch {
	case w.kind(o[1]) == "":
		return got, "ENOENT"
	case w.kind(o[1]) == "file":
		return got, "ENOTDIR"
	case len(w.names(o[1])) > 0:
		return got, "ENOTEMPTY"
	}
	delete(w.dirs, o[1])
	return got, "ok"
}

func (w *plainWorld) rename(o op) (got, want string) {
	from, to := o[1], o[2]
	got = errnoName(unix.Rename(w.path(from), w.path(to)))
	want = w.mayRename(from, to)
	if want != "ok" || from == to {
		return got, want
	}
	if over := w.files[to]; over != nil {
		over.named = false
		delete(w.files, to)
	}
	delete(w.dirs, to)
	w.move(from, to)
	return got, want
}

// mayRename is what rename(2) gives.
func (w *plainWorld) mayRename(from, to string) string {
	for _, name := range []string{from, to} {
		if err := w.parent(name); err != "ok" {
			return err
		}
	}
	a, b := w.kind(from), w.kind(to)
	switch {
	case a == "":
		return "ENOENT"
	case from == to:
		return "ok"
	case a == "dir" && strings.HasPrefix(to, from+"/"):
		return "EINVAL"
	case strings.HasPrefix(from, to+"/"):
		return "ENOTEMPTY"
	case a == "dir" && b == "file":
		return "ENOTDIR"
	case a == "file" && b == "dir":
		return "EISDIR"
	case b == "dir" && len(w.names(to)) > 0:
		return "ENOTEMPTY"
	}
	return "ok"
}

// move gives a file, or a folder with what is in it, another name.
func (w *plainWorld) move(from, to string) {
	for name, f := range w.files {
		if name == from || strings.HasPrefix(name, from+"/") {
			delete(w.files, name)
			defer func() { w.files[path.Join(to, name[len(from):])] = f }()
		}
	}
	for name := range w.dirs {
		if name == from || strings.HasPrefix(name, from+"/") {
			delete(w.dirs, name)
			defer func() { w.dirs[path.Join(to, name[len(from):])] = true }()
		}
	}
}

func (w *plainWorld) stat(o op) (got, want string) {
	got = look(unix.Stat, []string{w.path(o[2]), "type", "size", "nlink"})
	if want = w.parent(o[2]); want != "ok" {
		return got, want
	}
	f := w.files[o[2]]
	if f == nil {
		return got, "ENOENT"
	}
	return got, fmt.Sprintf("file %d 1", len(f.data))
}

func (w *plainWorld) fstat(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	got = look(func(_ string, st *unix.Stat_t) error { return unix.Fstat(d.fd, st) }, []string{"", "size", "nlink"})
	links := map[bool]int{true: 1, false: 0}[d.named]
	return got, fmt.Sprintf("%d %d", len(d.data), links)
}

func (w *plainWorld) fsync(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	return errnoName(unix.Fsync(d.fd)), "ok"
}

func (w *plainWorld) copy(o op) (got, want string) {
	from, ok := w.open[o[1]]
	to, ok2 := w.open[o[2]]
	if !ok || !ok2 || from.inode == to.inode || !from.reads() || !to.writes() || to.flags&unix.O_APPEND != 0 || to.at > maxFile {
		return
	}
	data := from.bytesAt(from.at, o.num(3))
	n, err := unix.CopyFileRange(from.fd, nil, to.fd, nil, o.num(3), 0)
	to.put(to.at, data)
	from.at += len(data)
	to.at += len(data)
	return fmt.Sprint(max(n, 0), " ", errnoName(err)), fmt.Sprint(len(data), " ok")
}

func (w *plainWorld) mmap(o op) (got, want string) {
	d, ok := w.open[o[2]]
	if !ok || d.flags&unix.O_ACCMODE != unix.O_RDWR {
		return
	}
	data, err := unix.Mmap(d.fd, 0, mapLength, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err == nil {
		w.munmap(o)
		w.maps[o[1]] = mapping{data, d.inode}
	}
	return errnoName(err), "ok"
}

func (w *plainWorld) munmap(o op) (got, want string) {
	if m, ok := w.maps[o[1]]; ok {
		delete(w.maps, o[1])
		return errnoName(unix.Munmap(m.data)), "ok"
	}
	return
}

// store writes through a mapping, where there is a file behind it.
func (w *plainWorld) store(o op) (got, want string) {
	m, ok := w.maps[o[1]]
	at := o.num(2)
	if !ok || at >= len(m.inode.data) {
		return
	}
	data := bytesOf(o.num(4), min(o.num(3), len(m.inode.data)-at, mapLength-at))
	copy(m.data[at:], data)
	m.put(at, data)
	return
}

func (w *plainWorld) load(o op) (got, want string) {
	m, ok := w.maps[o[1]]
	if !ok {
		return
	}
	data := m.bytesAt(o.num(2), min(o.num(3), mapLength-o.num(2)))
	if len(data) == 0 {
		return
	}
	return brief(m.data[o.num(2):][:len(data)]), brief(data)
}
