package tests

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func setGroups(groups []uint32) syscall.Errno {
	_, _, no := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0)
	return no
}

func homeAttacks() []attack {
	theirs := func(w *world, rel string) string { return filepath.Join(w.home(alice), rel) }
	session := func(w *world) string { return filepath.Dir(w.log) }
	return []attack{
		{"read a log", "open(2) of another's `messages.jsonl`, `events.jsonl`, `meta.json`", "EACCES", all(func(w *world) []error {
			return []error{none(os.ReadFile(w.log)), none(os.ReadFile(session(w) + "/events.jsonl")), none(os.ReadFile(session(w) + "/meta.json"))}
		})},
		{"read what is derived", "open(2) of another's `pack.md`, `pack@900.md`, `latest.md`, `summary.md`, `recall/secret`, `swap/open/messages:1`", "EACCES", all(func(w *world) (errs []error) {
			for _, f := range []string{"context/pack.md", "context/pack@900.md", "latest.md", "context/summary.md", "context/recall/secret", "context/swap/open/messages:1"} {
				errs = append(errs, none(os.ReadFile(session(w)+"/"+f)))
			}
			return errs
		})},
		{"list", "readdir(3) of another's home, agents, sessions, session, root", "EACCES", all(func(w *world) (errs []error) {
			for _, d := range []string{"", "agent", "agent/coder/session", "agent/coder/session/a", "agent/coder/root"} {
				errs = append(errs, none(os.ReadDir(theirs(w, d))))
			}
			return errs
		})},
		{"list homes", "readdir(3) of `home`", "only one's own", func(w *world) string {
			got := ""
			err := w.as(bob, func() error {
				list, err := os.ReadDir(w.point + "/home")
				for _, e := range list {
					got += e.Name()
				}
				return err
			})
			if err != nil || got != "64002" {
				return result(err) + got
			}
			return "only one's own"
		}},
		{"stat", "stat(2) and access(2) of another's session and log", "EACCES", all(func(w *world) []error {
			return []error{none(os.Stat(session(w))), none(os.Stat(w.log)), unix.Access(w.log, unix.F_OK)}
		})},
		{"append", "open(2) of another's log with O_APPEND", "EACCES", asBob(func(w *world) error { return tryAdd(w.log, "{}\n") })},
		{"truncate", "truncate(2) of another's log; open(2) with O_TRUNC", "EACCES", all(func(w *world) []error { return []error{os.Truncate(w.log, 0), write(w.log, "")} })},
		{"write a control file", "`echo done >` another's `state`, `budget`, `meta.json`", "EACCES", all(func(w *world) []error {
			return []error{write(session(w)+"/state", "done\n"), write(session(w)+"/context/budget", "1\n"), write(session(w)+"/meta.json", "{}\n")}
		})},
		{"make a session", "mkdir(2) in another's `session/`, `agent/`", "EACCES", all(func(w *world) []error {
			return []error{os.Mkdir(theirs(w, "agent/coder/session/x"), 0o700), os.Mkdir(theirs(w, "agent/evil"), 0o700)}
		})},
		{"make a home", "mkdir(2) of a home for another uid", "EPERM", asBob(func(w *world) error { return os.Mkdir(w.home(64009), 0o777) })},
		{"odd homes", "mkdir(2) of `home/x`, `home/064002`, `home/-1`, `home/4294967296`", "EINVAL", all(func(w *world) (errs []error) {
			for _, n := range []string{"x", "064002", "-1", "4294967296"} {
				errs = append(errs, os.Mkdir(w.point+"/home/"+n, 0o700))
			}
			return errs
		})},
		{"rename out", "rename(2) of another's session or file into one's own", "EACCES", all(func(w *world) []error {
			return []error{os.Rename(session(w), w.room+"/session/mine"), os.Rename(theirs(w, "agent/coder/root/work/file"), w.room+"/root/f")}
		})},
		{"rename in", "rename(2) of one's own file over another's", "EACCES", asBob(func(w *world) error {
			must(w.t, os.WriteFile(w.room+"/root/f", nil, 0o600))
			return os.Rename(w.room+"/root/f", theirs(w, "agent/coder/root/work/file"))
		})},
		{"exchange", "renameat2(2) with RENAME_EXCHANGE of one's own session and another's", "EACCES", asBob(func(w *world) error {
			return unix.Renameat2(unix.AT_FDCWD, w.own, unix.AT_FDCWD, session(w), unix.RENAME_EXCHANGE)
		})},
		{"move a home", "rename(2) of another's home, of one's own to another uid", "EPERM", all(func(w *world) []error {
			return []error{os.Rename(w.home(alice), w.home(64009)), os.Rename(w.home(bob), w.home(64009))}
		})},
		{"chmod and chown", "chmod(2), chown(2) of another's home", "EPERM", all(func(w *world) []error {
			return []error{os.Chmod(w.home(alice), 0o777), os.Chown(w.home(alice), bob, bob)}
		})},
		{"give away", "chown(2) of one's own session and file to another", "EPERM", all(func(w *world) []error {
			must(w.t, os.WriteFile(w.room+"/root/f", nil, 0o600))
			return []error{os.Chown(w.own, alice, alice), os.Chown(w.room+"/root/f", alice, alice)}
		})},
		{"remove", "unlink(2) of another's log, rmdir(2) of another's session", "EACCES", all(func(w *world) []error { return []error{unix.Unlink(w.log), unix.Rmdir(session(w))} })},
		{"remove a home", "rmdir(2) of another's home", "EPERM", asBob(func(w *world) error { return unix.Rmdir(w.home(alice)) })},
		{"make nodes", "mknod(2), symlink(2), link(2) into another's root", "EACCES", all(func(w *world) []error {
			return []error{unix.Mkfifo(theirs(w, "agent/coder/root/x"), 0o666), os.Symlink("/", theirs(w, "agent/coder/root/x")), os.Link(w.room+"/root", theirs(w, "agent/coder/root/x"))}
		})},
		{"attributes", "getxattr(2) of `user.ctxfs.tokens`, listxattr(2), setxattr(2) of another's log", "EACCES", all(func(w *world) []error {
			return []error{none(unix.Getxattr(w.log, "user.ctxfs.tokens", make([]byte, 99))), none(unix.Listxattr(w.log, make([]byte, 99))), unix.Setxattr(w.log, "user.x", nil, 0)}
		})},
		{"orders", "setxattr(2) of `user.ctxfs.do` on another's session: delete, archive, restore", "EACCES", all(func(w *world) (errs []error) {
			for _, verb := range []string{"delete", "archive", "restore", "quiet"} {
				errs = append(errs, unix.Setxattr(session(w), "user.ctxfs.do", []byte(verb), 0))
			}
			return errs
		})},
		{"stop the sockets", "setxattr(2) of `user.ctxfs.do` = quiet on the mount", "EACCES", asBob(func(w *world) error { return unix.Setxattr(w.point, "user.ctxfs.do", []byte("quiet"), 0) })},
		{"unknown orders", "setxattr(2) of `user.ctxfs.do` on one's own session: junk, a path, 64 KiB", "EINVAL", all(func(w *world) (errs []error) {
			for _, verb := range []string{"", "Delete", "delete ../a", "delete\x00", strings.Repeat("x", 65536)} {
				errs = append(errs, unix.Setxattr(w.own, "user.ctxfs.do", []byte(verb), 0))
			}
			return errs
		})},
		{"privileged attributes", "setxattr(2) of `trusted.x`, `user.x` on one's own file", "ENOTSUP, EPERM", all(func(w *world) []error {
			must(w.t, os.WriteFile(w.room+"/root/f", nil, 0o600))
			return []error{unix.Setxattr(w.room+"/root/f", "trusted.x", []byte("x"), 0), unix.Setxattr(w.room+"/root/f", "user.x", []byte("x"), 0)}
		})},
		{"O_PATH and /proc/self/fd", "open(2) with O_PATH of another's log, to open it again by /proc/self/fd", "EACCES", asBob(func(w *world) error {
			return none(unix.Open(w.log, unix.O_PATH, 0))
		})},
		{"a descriptor of the folder above", "openat(2) relative to a descriptor of `home`, and of another's home", "EACCES", all(func(w *world) []error {
			var errs []error
			for dir, rel := range map[string]string{w.point + "/home": "64001/agent/coder/session/a/messages.jsonl", w.home(alice): "agent/coder/session/a/messages.jsonl"} {
				fd, err := unix.Open(dir, unix.O_PATH, 0)
				must(w.t, err)
				errs = append(errs, none(unix.Openat(fd, rel, unix.O_RDONLY, 0)), none(unix.Openat(fd, rel, unix.O_PATH, 0)))
				unix.Close(fd)
			}
			return errs
		})},
		{"file handles", "open_by_handle_at(2) with the handle of another's log, which root made", "EPERM", func(w *world) string {
			h, id, err := unix.NameToHandleAt(unix.AT_FDCWD, w.log, 0)
			if err == unix.EOPNOTSUPP {
				return "EPERM" // the mount makes no handles at all
			}
			must(w.t, err)
			_ = id
			fd, err := unix.Open(w.point, unix.O_RDONLY, 0)
			must(w.t, err)
			defer unix.Close(fd)
			return result(w.as(bob, func() error { return none(unix.OpenByHandleAt(fd, h, unix.O_RDONLY)) }))
		}},
		{"statfs", "statfs(2) of another's log; of the mount", "EACCES, allowed", all(func(w *world) []error {
			var st unix.Statfs_t
			return []error{unix.Statfs(w.log, &st), unix.Statfs(w.point, &st)}
		})},
		{"watch", "inotify_add_watch(2) on another's log, session, home", "EACCES", all(func(w *world) []error {
			fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
			must(w.t, err)
			defer unix.Close(fd)
			return []error{none(unix.InotifyAddWatch(fd, w.log, unix.IN_ALL_EVENTS)), none(unix.InotifyAddWatch(fd, session(w), unix.IN_ALL_EVENTS)), none(unix.InotifyAddWatch(fd, w.home(alice), unix.IN_ALL_EVENTS))}
		})},
		{"locks", "flock(2), fcntl(2) and a lease on `status` and the program, which everybody may read, to make others wait", "locks: allowed, and nobody waits for them; lease: EACCES", func(w *world) string {
			var got []string
			err := w.as(bob, func() error {
				for _, name := range []string{w.point + "/status", w.point + "/bin/ctxfs"} {
					f, err := os.Open(name)
					must(w.t, err)
					defer f.Close()
					got = append(got, result(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)))
					lk := unix.Flock_t{Type: unix.F_RDLCK}
					got = append(got, result(unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lk)))
					_, lease := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
					if result(lease) != "EACCES" && result(lease) != "EINVAL" {
						got = append(got, "lease "+result(lease))
					}
					_, serr := os.ReadFile(w.point + "/status")
					must(w.t, serr)
				}
				return w.as(alice, func() error {
					return errors.Join(none(os.ReadFile(w.point+"/status")), exec.Command(w.point+"/bin/ctxfs", "version").Run())
				})
			})
			if s := each(got...); err == nil && s == "allowed" {
				return "locks: allowed, and nobody waits for them; lease: EACCES"
			}
			return each(got...)
		}},
		{"a user namespace", "unshare(2) as root of an own user namespace, then read another's log", "EACCES", func(w *world) string {
			c := asUser(bob, "unshare", "-r", "cat", w.log)
			out, err := c.CombinedOutput()
			if err == nil || strings.Contains(string(out), secret) {
				return "read: " + string(out)
			}
			return "EACCES" // or the kernel gives ordinary users no namespaces
		}},
		{"write to what is everybody's", "open(2) to write, unlink(2), mkdir(2) in `status`, `bin`, `tool`, the root", "EACCES", all(func(w *world) []error {
			return []error{write(w.point+"/status", "x"), write(w.point+"/bin/ctxfs", "x"), os.Remove(w.point + "/bin/ctxfs"), os.Mkdir(w.point+"/tool/x", 0o777), os.Mkdir(w.point+"/x", 0o777)}
		})},
		{"another's agent folder", "write, unlink(2), rmdir(2), rename(2) in `agent/coder.d`, which another registered", "EACCES, EPERM", all(func(w *world) []error {
			d := w.point + "/agent/coder.d"
			return []error{os.WriteFile(d+"/cwd", []byte("/\n"), 0o666), unix.Rmdir(d), os.Rename(d, w.point+"/agent/mine.d")}
		})},
	}
}
