//go:build linux && amd64

package fault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// work is what the programs and agents of a day do, each error noted and gone on from. It ends with the mount still there,
// unless the daemon could not start.
func (w *world) work(l *ledger) error {
	if err := w.mount(); err != nil {
		return err
	}
	w.write(l)
	w.read(l)
	w.control(l)
	w.plain(l)
	w.cold(l)
	_ = l.did("import", w.command("import", "../../samples/claude-code.jsonl", "--mount", w.point, "--agent", "coder", "--session", "imported"))
	l.mu.Lock()
	l.gone["doomed"], l.gone["extra"] = true, true
	l.mu.Unlock()
	_ = l.did("delete", w.command("session", "delete", w.session("extra"), "--yes"))
	_ = l.did("gc", w.command("gc", "--mount", w.point))
	w.read(l)
	return nil
}

// write has several writers in a new session, in one that a crash tore, in an archived one, and in one whose log is missing.
func (w *world) write(l *ledger) {
	for _, name := range []string{"new", "extra"} {
		err := os.Mkdir(w.session(name), 0o700)
		if errors.Is(err, syscall.EEXIST) {
			err = nil
		}
		_ = l.did("mkdir "+name, err)
	}
	var all sync.WaitGroup
	for _, s := range []string{"new", "new", "torn", "ended", "cold", "half", "bare"} {
		l.mu.Lock()
		if l.logs[s] == nil {
			l.logs[s] = map[string][]entry{}
		}
		writer := fmt.Sprintf("%s-w%d", s, len(l.logs[s]))
		l.logs[s][writer] = nil
		l.mu.Unlock()
		all.Go(func() { w.writer(l, s, writer, 6) })
	}
	all.Wait()
	_ = l.did("a bad line is refused", refused(writeTo(w.session("new")+"/messages.jsonl", "no record\n", os.O_WRONLY|os.O_APPEND)))
}

// refused turns the error that is wanted into none.
func refused(err error) error {
	if errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return fmt.Errorf("want EINVAL, got %w", err)
}

// writer appends lines by one descriptor: one, two or three pieces of a line, and several lines, in a write.
func (w *world) writer(l *ledger, session, writer string, rounds int) {
	fd, err := unix.Open(w.session(session)+"/messages.jsonl", unix.O_WRONLY|unix.O_APPEND|unix.O_CLOEXEC, 0)
	if l.did("open "+session, err) != nil {
		return
	}
	for i := range rounds {
		a, b := message(writer, 2*i, strings.Repeat("a ", 30)), message(writer, 2*i+1, strings.Repeat("b ", 400))
		switch i % 3 {
		case 0:
			err = writeAll(fd, a)
			l.wrote(session, writer, l.did("write "+session, err), a)
		case 1:
			err = writeAll(fd, a+b)
			l.wrote(session, writer, l.did("write "+session, err), a, b)
		case 2: // half a line is not refused for want of room: the write that ends it is
			if err = writeAll(fd, b[:len(b)/2]); err == nil {
				err = writeAll(fd, b[len(b)/2:])
				if err != nil {
					err = errors.Join(err, l.did("write again", writeAll(fd, b[len(b)/2:])))
				}
			}
			l.wrote(session, writer, l.did("write "+session, err), b)
		}
		if i%2 == 1 && l.did("fsync "+session, unix.Fsync(fd)) == nil {
			l.sync(session, writer)
		}
	}
	_ = l.did("close "+session, unix.Close(fd))
}

func writeAll(fd int, text string) error {
	n, err := unix.Write(fd, []byte(text))
	if err == nil && n != len(text) {
		err = fmt.Errorf("%d of %d bytes", n, len(text))
	}
	return err
}

// read looks at what is made of logs, and at lists.
func (w *world) read(l *ledger) {
	for _, f := range []string{"session/new/context/pack.md", "session/cold/context/pack.json", "session/ended/context/recall/half", "session/torn/messages.jsonl",
		"session/cold/messages.jsonl", "session/pic/messages.jsonl", "session/index/list", "session/index/current", "session/new/events.jsonl"} {
		_, err := os.ReadFile(filepath.Join(w.agent(), f))
		if errors.Is(err, syscall.ENOENT) && strings.Contains(f, "/new/") {
			continue // its mkdir failed, which was noted
		}
		_ = l.did("read "+f, err)
	}
	_, err := os.ReadDir(filepath.Join(w.agent(), "session"))
	_ = l.did("list sessions", err)
}

// control writes control files of a session, twice each.
func (w *world) control(l *ledger) {
	for round := range 2 {
		for _, c := range [][2]string{{"context/budget", fmt.Sprintf("%d\n", 5000+round)}, {"context/summary.md", fmt.Sprintf("Summary %d.\n", round)},
			{"state", []string{"active\n", "done\n"}[round]}, {"context/facts.jsonl", fmt.Sprintf("{\"fact\":\"f%d\"}\n", round)}} {
			file := w.session("pic") + "/" + c[0]
			old, err := os.ReadFile(file)
			if err == nil && round == 0 {
				l.put(file, string(old), nil, 0)
			}
			begun := l.now()
			err = l.did("write "+c[0], writeTo(file, c[1], os.O_CREATE|os.O_WRONLY|os.O_TRUNC))
			l.put(file, c[1], err, begun)
		}
	}
	_ = l.did("inject", writeTo(w.session("pic")+"/context/injections.jsonl", `{"target":"model","injection_point":"system_prompt"}`+"\n", os.O_WRONLY|os.O_APPEND))
	_ = l.did("unlink summary", os.Remove(w.session("pic")+"/context/summary.md"))
	delete(l.files, w.session("pic")+"/context/summary.md")
	delete(l.puts, w.session("pic")+"/context/summary.md")
}

// plain works on the files that are agents' own.
func (w *world) plain(l *ledger) {
	dir := w.session("pic") + "/context/pinned/"
	if err := l.did("write pinned", writeTo(dir+"a.md", "pinned a\n", os.O_CREATE|os.O_WRONLY)); err == nil {
		l.put(dir+"a.md", "pinned a\n", nil, 0)
	}
	if l.did("write pinned", writeTo(dir+"b.tmp", "pinned b\n", os.O_CREATE|os.O_WRONLY)) == nil {
		_ = l.did("rename pinned", os.Rename(dir+"b.tmp", dir+"b.md"))
	}
	begun := l.now()
	if err := l.did("write, fsync, rename, fsync of the folder", durably(dir, "c.md", "pinned c\n")); err == nil {
		l.put(dir+"c.md", "pinned c\n", nil, begun)
	}
	_ = l.did("mkdir child", os.MkdirAll(w.session("pic")+"/context/child/rev-1", 0o700))
	_ = l.did("unlink pinned", os.Remove(dir+"b.md"))
	_ = l.did("rename session", os.Rename(w.session("ended"), w.session("ended2")))
	_ = l.did("rename session", os.Rename(w.session("ended2"), w.session("ended")))
}

// durably puts a file in place as a careful program does.
func durably(dir, name, text string) error {
	f, err := os.OpenFile(dir+name+".tmp", os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(dir+name+".tmp", dir+name); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// cold archives, appends, archives again, and restores.
func (w *world) cold(l *ledger) {
	time.Sleep(20 * time.Millisecond) // RELEASE comes after close(2) returned
	_ = l.did("archive", w.command("session", "archive", w.session("new")))
	l.mu.Lock()
	l.logs["new"]["new-w9"] = nil
	l.mu.Unlock()
	w.writer(l, "new", "new-w9", 2)
	time.Sleep(20 * time.Millisecond)
	_ = l.did("archive", w.command("session", "archive", w.session("new")))
	_ = l.did("restore", w.command("session", "restore", w.session("cold")))
	text := lines("new-big", w.bulk, 300)
	err := l.did("write big", writeTo(w.session("new")+"/messages.jsonl", text, os.O_WRONLY|os.O_APPEND))
	l.wrote("new", "new-big", err, strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")...)
	if list := l.logs["new"]["new-big"]; len(list) > 0 {
		list[len(list)-1].text += "\n"
	}
	time.Sleep(20 * time.Millisecond)
	_ = l.did("archive", w.command("session", "archive", w.session("new")))
}
