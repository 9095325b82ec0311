package posix

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The operations on control files: each gives what the mount gave, and what the model says.

func (w *controlWorld) opening(o op) (got, want string) {
	name, how := o[2], flags(o[3])
	fd, err := unix.Open(w.path(name), how|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return errnoName(err), "ok"
	}
	d := &controlDesc{name: name, flags: how, data: w.now(name)}
	switch {
	case how&unix.O_TRUNC != 0:
		d.data, d.dirty = "", true
	case how&unix.O_APPEND != 0:
		d.data, d.lines = "", true
	}
	if d, ok := w.open[o[1]]; ok {
		delete(w.open, o[1])
		want := w.commit(d.controlDesc, true)
		if got := errnoName(unix.Close(d.fd)); got != want {
			unix.Close(fd)
			return "close: " + got, "close: " + want
		}
	}
	w.open[o[1]] = controlSlot{fd, d}
	return "ok", "ok"
}

// closing is close(2), which judges what was written by all descriptors of the open file.
func (w *controlWorld) closing(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	delete(w.open, o[1])
	want = w.commit(d.controlDesc, true)
	return errnoName(unix.Close(d.fd)), want
}

func (w *controlWorld) dup(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if _, taken := w.open[o[2]]; !ok || taken {
		return
	}
	fd, err := unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		w.open[o[2]] = controlSlot{fd, d.controlDesc}
	}
	return errnoName(err), "ok"
}

// text gives the piece of text that a write is of.
func (d *controlDesc) text(o op, i int) string {
	texts := controlTexts()[d.name]
	return texts[o.num(i)%len(texts)]
}

// put is a write at an offset, or at the end.
func (w *controlWorld) put(d *controlDesc, at int, text string) string {
	if d.flags&unix.O_APPEND != 0 {
		at = len(d.data)
	}
	data := []byte(d.data)
	if at+len(text) > len(data) {
		data = append(data, make([]byte, at+len(text)-len(data))...)
	}
	copy(data[at:], text)
	d.data, d.dirty, d.bad = string(data), true, false
	if complete(d.name, d.data) {
		return w.commit(d, false)
	}
	return "ok"
}

func (w *controlWorld) write(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	text := d.text(o, 2)
	_, err := unix.Write(d.fd, []byte(text))
	if got = errnoName(err); !d.writes() {
		return got, "EBADF"
	}
	before := len(w.shows(d.controlDesc))
	if want = w.put(d.controlDesc, d.at, text); want == "ok" {
		d.at += len(text)
		if d.flags&unix.O_APPEND != 0 {
			d.at = before + len(text)
		}
	}
	return got, want
}

func (w *controlWorld) pwrite(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	text := d.text(o, 3)
	_, err := unix.Pwrite(d.fd, []byte(text), int64(o.num(2)))
	if got = errnoName(err); !d.writes() {
		return got, "EBADF"
	}
	return got, w.put(d.controlDesc, o.num(2), text)
}

func part(text string, at, n int) string {
	if at >= len(text) {
		return ""
	}
	return text[at:min(len(text), at+n)]
}

func (w *controlWorld) read(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok || d.flags&unix.O_APPEND != 0 { // where an append leaves the offset, others may have changed
		return
	}
	buf := make([]byte, o.num(2))
	n, err := unix.Read(d.fd, buf)
	if !d.reads() {
		return errnoName(err), "EBADF"
	}
	text := part(d.data, d.at, o.num(2))
	d.at += len(text)
	return errnoName(err) + string(buf[:max(n, 0)]), "ok" + text
}

func (w *controlWorld) pread(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	buf := make([]byte, 100)
	n, err := unix.Pread(d.fd, buf, int64(o.num(2)))
	if !d.reads() {
		return errnoName(err), "EBADF"
	}
	return errnoName(err) + string(buf[:max(n, 0)]), "ok" + part(w.shows(d.controlDesc), o.num(2), 100)
}

// fstat: the size is that of the file as others see it. Which of its open files is meant, the kernel does not tell.
func (w *controlWorld) fstat(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	return look(func(_ string, st *unix.Stat_t) error { return unix.Fstat(d.fd, st) }, []string{"", "type", "nlink", "size"}), fmt.Sprint("file 1 ", len(w.now(d.name)))
}

func (w *controlWorld) stat(o op) (got, want string) {
	return look(unix.Stat, []string{w.path(o[1]), "type", "size"}), fmt.Sprint("file ", len(w.now(o[1])))
}

func resized(text string, n int) string {
	if n <= len(text) {
		return text[:n]
	}
	return text + strings.Repeat("\x00", n-len(text))
}

func (w *controlWorld) ftruncate(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	got = errnoName(unix.Ftruncate(d.fd, int64(o.num(2))))
	if !d.writes() {
		return got, "EINVAL"
	}
	d.data, d.lines, d.dirty = resized(w.shows(d.controlDesc), o.num(2)), false, true
	return got, "ok"
}

func (w *controlWorld) truncate(o op) (got, want string) {
	got = errnoName(unix.Truncate(w.path(o[1]), int64(o.num(2))))
	return got, w.replaceBy(o[1], resized(w.now(o[1]), o.num(2)))
}

func (w *controlWorld) fsync(o op) (got, want string) {
	d, ok := w.open[o[1]]
	if !ok {
		return
	}
	return errnoName(unix.Fsync(d.fd)), w.commit(d.controlDesc, false)
}

func (w *controlWorld) unlink(o op) (got, want string) {
	got = errnoName(unix.Unlink(w.path(o[1])))
	if o[1] == "state" {
		return got, "EPERM"
	}
	delete(w.written, o[1])
	return got, "ok"
}

func unquote(o op, i int) string {
	text, err := strconv.Unquote(strings.Join(o[i:], " "))
	if err != nil {
		panic(err)
	}
	return text
}

// makePlain writes a file as an editor does.
func (w *controlWorld) makePlain(o op) (got, want string) {
	text := unquote(o, 2)
	w.plain[o[1]] = text
	return errnoName(os.WriteFile(w.path(plainPath(o[1])), []byte(text), 0o644)), "ok"
}

// replace renames it over a control file.
func (w *controlWorld) replace(o op) (got, want string) {
	got = errnoName(unix.Rename(w.path(plainPath(o[1])), w.path(o[2])))
	text, ok := w.plain[o[1]]
	if !ok {
		return got, "ENOENT"
	}
	if want = w.replaceBy(o[2], text); want == "ok" {
		delete(w.plain, o[1])
	}
	return got, want
}

// aside renames a control file to a plain one, as an editor's backup.
func (w *controlWorld) aside(o op) (got, want string) {
	got = errnoName(unix.Rename(w.path(o[2]), w.path(plainPath(o[1]))))
	w.plain[o[1]] = w.now(o[2])
	if o[2] != "state" {
		delete(w.written, o[2])
	}
	return got, "ok"
}

// echo is what a shell does at >.
func (w *controlWorld) echo(o op) (got, want string) {
	text := unquote(o, 2)
	got = errnoName(openWrite(w.path(o[1]), unix.O_WRONLY|unix.O_TRUNC, text))
	return got, w.replaceBy(o[1], text)
}
