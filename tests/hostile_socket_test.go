package tests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// dialAs connects to coder's socket as a user.
func (w *world) dialAs(uid int) *client {
	w.t.Helper()
	var conn *net.UnixConn
	must(w.t, w.as(uid, func() (err error) {
		conn, err = dial(w.point+"/agent", "coder")
		return err
	}))
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	w.t.Cleanup(func() { conn.Close() })
	return &client{t: w.t, conn: conn, in: bufio.NewReaderSize(conn, 2<<20)}
}

// frames makes an attack of frames of bob's.
func frames(lines ...string) func(w *world) string {
	return func(w *world) string { return each(w.codes(lines...)...) }
}

func socketAttacks() []attack {
	long := strings.Repeat("x", 300)
	return []attack{
		{"forged identity", "send with `uid`, `gid`, `pid`, `user`, `peer` of another in the frame", "recorded as the sender's, in the sender's home", func(w *world) string {
			w.codes(fmt.Sprintf(`{"op":"send","id":"f1","session":"forged","input":"x","uid":%d,"gid":0,"pid":1,"user":"alice","peer":{"uid":0}}`, alice))
			data, err := os.ReadFile(w.part + "/agent/coder/session/forged/messages.jsonl")
			if err != nil || !strings.Contains(string(data), fmt.Sprintf(`"uid":%d`, bob)) {
				return fmt.Sprint(string(data), err)
			}
			return "recorded as the sender's, in the sender's home"
		}},
		{"another's session over the socket", "resume, follow, cancel of another's session by name", "ENOENT", frames(`{"op":"resume","session":"a"}`, `{"op":"follow","session":"a","uid":64001}`, `{"op":"cancel","id":"1","session":"a"}`, `{"op":"resume","session":"a","scope":"temp"}`, `{"op":"follow","session":"a","home":"64001"}`)},
		{"a share one is not in", "send, resume, follow, cancel with its name; of a share that is not there", "EACCES, ENOENT", frames(`{"op":"send","id":"1","scope":"shared","share":"team","session":"s","input":"x"}`, `{"op":"resume","scope":"shared","share":"team","session":"s"}`, `{"op":"follow","scope":"shared","share":"team"}`, `{"op":"cancel","id":"1","scope":"shared","share":"team","session":"s"}`, `{"op":"resume","scope":"shared","share":"nope"}`)},
		{"odd shares", "`share`: `../home/64001`, `..`, `.`, empty, with `/`, NUL, newline, 300 bytes; `scope`: junk", "EINVAL", func(w *world) string {
			var lines []string
			for _, s := range []string{"../home/64001", "..", ".", "", "team/agent", `team\u0000`, `team\n`, long, ".ctxfs"} {
				lines = append(lines, fmt.Sprintf(`{"op":"resume","scope":"shared","session":"s","share":"%s"}`, s))
			}
			return each(w.codes(append(lines, `{"op":"resume","scope":"root"}`, `{"op":"resume","scope":["shared"],"share":"team"}`, `{"op":"resume","scope":"private","share":"team"}`)...)...)
		}},
		{"odd sessions", "`session`: `../a`, `..`, with `/`, NUL, newline, escape, 300 bytes, a number, `index`", "EINVAL", func(w *world) string {
			var lines []string
			for _, s := range []string{`"../a"`, `".."`, `"a/b"`, `"a\u0000"`, `"a\n"`, `"a\u001b[2J"`, `"` + long + `"`, "7", `"index"`, `"x.sock"`} {
				lines = append(lines, `{"op":"send","id":"1","input":"x","session":`+s+`}`)
			}
			return each(w.codes(lines...)...)
		}},
		{"odd ids", "`id`: with NUL, a number, an object, 100 KB", "EINVAL", frames(`{"op":"send","id":"a\u0000","input":"x"}`, `{"op":"send","id":7,"input":"x"}`, `{"op":"send","id":{},"input":"x"}`, `{"op":"send","id":"`+strings.Repeat("x", 100<<10)+`","input":"x"}`)},
		{"junk frames", "no JSON, a list, 9,000 levels deep, not UTF-8, `op` unknown", "EINVAL", frames("junk", "[]", `{"op":"ping","x":`+strings.Repeat("[", 100000), "{\"op\":\"ping\",\"x\":\"\xff\"}", `{"op":"PING"}`, `{"op":"shutdown"}`, "null")},
		{"forged cursors", "`after`: of another's log, beyond the end, negative, junk", "EINVAL", frames(`{"op":"resume","session":"b","after":"3:7777"}`, `{"op":"resume","session":"b","after":"999999:1"}`, `{"op":"resume","session":"b","after":"-1:-1"}`, `{"op":"resume","session":"b","after":"1:99999999999999999999"}`, `{"op":"resume","session":"b","after":"x"}`, `{"op":"resume","session":"b","after":-5}`)},
		{"serve as another's agent", "serve at the socket that another sends to", "nothing is heard", func(w *world) string {
			eve := w.dialAs(bob)
			eve.ask("op", "serve", "uid", 0)
			eve.next()
			a := w.dialAs(alice)
			a.ask("op", "send", "id", "s1", "session", "sent", "input", secret)
			all, _ := a.done()
			_ = eve.conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			buf := make([]byte, 100)
			if n, _ := eve.conn.Read(buf); n > 0 || types(all) != "start, error EHOSTDOWN, done error" {
				return string(buf[:n]) + types(all)
			}
			return "nothing is heard"
		}},
		{"steal a run", "delta, message, done, error, cancel with the id of another's run, as an agent and as a client", "EINVAL, ENOENT; the run goes on", func(w *world) string {
			agent := w.dialAs(0)
			agent.ask("op", "serve")
			agent.next()
			a := w.dialAs(alice)
			a.ask("op", "send", "id", "r1", "session", "run", "input", "go")
			start, _ := a.next()
			agent.next()
			eve := w.dialAs(bob)
			eve.ask("op", "serve")
			eve.next()
			got := w.codes(fmt.Sprintf(`{"op":"cancel","run":%q,"session":"run"}`, start.Run), fmt.Sprintf(`{"op":"cancel","id":%q}`, start.Run),
				fmt.Sprintf(`{"op":"done","run":%q,"text":"evil"}`, start.Run), fmt.Sprintf(`{"op":"delta","run":%q,"text":"evil"}`, start.Run))
			for _, op := range []string{"delta", "message", "done", "error"} {
				eve.ask("op", op, "run", start.Run, "text", "evil", "role", "assistant", "content", "evil", "code", "EIO", "message", "evil")
				f, _ := eve.next()
				got = append(got, f.Code)
			}
			agent.ask("op", "done", "run", start.Run, "text", "good")
			all, _ := a.done()
			agent.conn.Close()
			eve.conn.Close()
			log, _ := os.ReadFile(w.store + "/home/64001/agent/coder/session/run/messages.jsonl")
			if types(all) != "message, done ok" || strings.Contains(string(log), "evil") || !strings.Contains(string(log), "good") {
				return types(all) + string(log)
			}
			return each(got...) + "; the run goes on"
		}},
		{"pass descriptors", "SCM_RIGHTS with a frame, 200 times", "dropped: the daemon keeps none", func(w *world) string {
			before := w.fds()
			c := w.dialAs(bob)
			f, err := os.Open("/dev/null")
			must(w.t, err)
			defer f.Close()
			g, err := os.Open("/etc/passwd")
			must(w.t, err)
			defer g.Close()
			for range 200 {
				if _, _, err := c.conn.WriteMsgUnix([]byte(`{"op":"ping"}`+"\n"), unix.UnixRights(int(f.Fd()), int(g.Fd())), nil); err != nil {
					break
				}
				if f, _ := c.next(); f.Type != "pong" {
					return f.Type
				}
			}
			if now := w.fds(); now > before+4 {
				return fmt.Sprintf("%d descriptors, %d before", now, before)
			}
			return "dropped: the daemon keeps none"
		}},
		{"forged credentials", "SCM_CREDENTIALS of root's with a frame", "EPERM", func(w *world) string {
			c := w.dialAs(bob)
			return result(w.as(bob, func() error {
				_, _, err := c.conn.WriteMsgUnix([]byte("x"), unix.UnixCredentials(&unix.Ucred{Pid: 1}), nil)
				return err
			}))
		}},
		{"other socket types", "connect(2) of a datagram and a seqpacket socket", "EPROTOTYPE", all(func(w *world) (errs []error) {
			must(w.t, none(os.Lstat(w.point+"/agent/coder.sock")))
			dir, err := unix.Open(w.point+"/agent", unix.O_PATH, 0)
			must(w.t, err)
			defer unix.Close(dir)
			for _, typ := range []int{unix.SOCK_DGRAM, unix.SOCK_SEQPACKET} {
				fd, err := unix.Socket(unix.AF_UNIX, typ, 0)
				must(w.t, err)
				errs = append(errs, unix.Connect(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/coder.sock", dir)}))
				unix.Close(fd)
			}
			return errs
		})},
		{"abstract sockets", "look for one of the daemon's in /proc/net/unix", "there is none", func(w *world) string {
			data, err := os.ReadFile("/proc/net/unix")
			must(w.t, err)
			if strings.Contains(string(data), "@ctxfs") || strings.Contains(string(data), "@/ctx") {
				return "there is one"
			}
			return "there is none"
		}},
		{"take a socket's place", "bind(2), unlink(2), rename(2), chmod(2) of `agent/coder.sock`", "EADDRINUSE, EPERM", all(func(w *world) []error {
			sock := w.point + "/agent/coder.sock"
			must(w.t, none(os.Lstat(sock)))
			dir, err := unix.Open(w.point+"/agent", unix.O_PATH, 0)
			must(w.t, err)
			defer unix.Close(dir)
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			must(w.t, err)
			defer unix.Close(fd)
			bind := func(name string) error {
				return unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir, name)})
			}
			return []error{bind("coder.sock"), bind("evil.sock"), os.Remove(sock), os.Rename(sock, w.point+"/agent/x.sock"), os.Chmod(sock, 0o600)}
		})},
		{"a frame without end", "32 MiB with no newline", "EMSGSIZE, and the end", func(w *world) string {
			c := w.dialAs(bob)
			go func() { _, _ = io.Copy(c.conn, io.LimitReader(zeros{}, 32<<20)) }()
			for {
				f, ok := c.next()
				if !ok {
					return "the end without a word"
				}
				if f.Code != "" {
					return f.Code + ", and the end"
				}
			}
		}},
		{"slow frames", "60 connections that say a byte each and wait", "others are answered at once", func(w *world) string {
			for range 60 {
				_, _ = w.dialAs(bob).conn.Write([]byte("{"))
			}
			start := time.Now()
			a := w.dialAs(alice)
			a.ask("op", "ping")
			if f, _ := a.next(); f.Type != "pong" || time.Since(start) > 2*time.Second {
				return f.Type + time.Since(start).String()
			}
			return "others are answered at once"
		}},
		{"many connections", "200 connections", "EAGAIN after 64; others connect", func(w *world) string {
			open, refused := 0, 0
			var conns []*client
			for range 200 {
				c := w.dialAs(bob)
				conns = append(conns, c)
				_, _ = io.WriteString(c.conn, `{"op":"ping"}`+"\n")
				switch f, _ := c.next(); {
				case f.Type == "pong":
					open++
				case f.Code == "EAGAIN":
					refused++
				}
			}
			a := w.dialAs(alice)
			a.ask("op", "ping")
			f, _ := a.next()
			for _, c := range conns {
				c.conn.Close()
			}
			if open > 64 || open+refused != 200 || f.Type != "pong" {
				return fmt.Sprint(open, refused, f)
			}
			return "EAGAIN after 64; others connect"
		}},
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func procAttacks() []attack {
	pid := func(w *world) int { return w.worker() }
	return []attack{
		{"the daemon in /proc", "read `environ`, `mem`, `maps`, `auxv`, `fdinfo/0`, `io`, `syscall` of the daemon", "EACCES", all(func(w *world) (errs []error) {
			for _, f := range []string{"environ", "mem", "maps", "auxv", "fdinfo/0", "io", "syscall"} {
				errs = append(errs, none(os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid(w), f))))
			}
			return errs
		})},
		{"links in /proc", "go through `root`, `cwd`, `exe`, `fd/0`, `map_files`, `task/*/cwd` of the daemon", "EACCES", all(func(w *world) (errs []error) {
			for _, f := range []string{"root/etc/shadow", "cwd/etc/shadow", "exe", "fd/0", "fd/3", "map_files", fmt.Sprintf("task/%d/cwd/etc", pid(w)), "fd"} {
				errs = append(errs, none(os.Open(fmt.Sprintf("/proc/%d/%s", pid(w), f))))
			}
			return errs
		})},
		{"ptrace", "ptrace(2), process_vm_readv(2), pidfd_getfd(2), kill(2), prlimit(2) of the daemon", "EPERM", all(func(w *world) []error {
			fd, err := unix.PidfdOpen(pid(w), 0)
			must(w.t, err)
			defer unix.Close(fd)
			buf := make([]byte, 8)
			local := []unix.Iovec{{Base: &buf[0], Len: 8}}
			_, verr := unix.ProcessVMReadv(pid(w), local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
			return []error{unix.PtraceSeize(pid(w)), verr, none(unix.PidfdGetfd(fd, 3, 0)), unix.Kill(pid(w), unix.SIGKILL), unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0),
				unix.Prlimit(pid(w), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: 1}, nil)}
		})},
		{"umount", "umount2(2) of the mount, plain and MNT_DETACH", "EPERM", all(func(w *world) []error {
			return []error{unix.Unmount(w.point, 0), unix.Unmount(w.point, unix.MNT_DETACH)}
		})},
		{"ctxfs umount", "`ctxfs umount` of root's mount", "refused, and still mounted", func(w *world) string {
			out, err := asUser(bob, program, "umount", w.point).CombinedOutput()
			if xerr := (*exec.ExitError)(nil); !errors.As(err, &xerr) {
				return fmt.Sprint(string(out), err)
			}
			return "refused, and still mounted"
		}},
		{"a second daemon", "`ctxfs mount --store` of the same store, `gc`, `verify --repair`, as an ordinary user", "refused", func(w *world) string {
			for _, args := range [][]string{{"mount", filepath.Dir(w.point), "--store", w.store}, {"gc", "--store", w.store}, {"verify", "--repair", "--store", w.store}} {
				if out, err := asUser(bob, program, args...).CombinedOutput(); err == nil {
					return args[0] + ": " + string(out)
				}
			}
			return "refused"
		}},
		{"the kernel's control files", "write to `abort` of the connection in /sys/fs/fuse/connections", "EACCES, ENOENT", func(w *world) string {
			list, _ := filepath.Glob("/sys/fs/fuse/connections/*/abort")
			got := []string{"ENOENT", "EACCES"} // where fusectl is not mounted there are none
			for _, f := range list {
				got = append(got, result(w.as(bob, func() error { return writeTo(f, "1", os.O_WRONLY) })))
			}
			return each(got...)
		}},
	}
}
