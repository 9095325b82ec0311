package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// shareAttacks are carol's, who is a member of the share, and bob's, who is not.
func shareAttacks() []attack {
	asCarol := func(calls func(w *world) []error) func(w *world) string {
		return func(w *world) string {
			var list []string
			_ = w.as(carol, func() error {
				for _, err := range calls(w) {
					list = append(list, result(err))
				}
				return nil
			})
			return each(list...)
		}
	}
	return []attack{
		{"a member", "a member reads and appends, reads the pack, makes a session", "allowed", asCarol(func(w *world) []error {
			return []error{none(os.ReadFile(w.share + "/messages.jsonl")), tryAdd(w.share+"/messages.jsonl", message("user", "of carol")), none(os.ReadFile(w.share + "/context/pack.md")), os.MkdirAll(w.point+"/shared/team/agent/coder/session/carols", 0o770)}
		})},
		{"no member", "one who is none reads, lists, appends, makes a session", "EACCES", all(func(w *world) []error {
			return []error{none(os.ReadFile(w.share + "/messages.jsonl")), none(os.ReadDir(w.point + "/shared/team")), tryAdd(w.share+"/messages.jsonl", "{}\n"), os.Mkdir(w.point+"/shared/team/agent/evil", 0o770)}
		})},
		{"modes in a share", "whom what a member makes belongs to", "its maker and the group, 0660 and 2770", func(w *world) string {
			dir, err := os.Stat(w.share)
			must(w.t, err)
			log, err := os.Stat(w.store + "/shared/team/agent/coder/session/s/messages.jsonl")
			must(w.t, err)
			own, lown := dir.Sys().(*syscall.Stat_t), log.Sys().(*syscall.Stat_t)
			if own.Uid != alice || own.Gid != team || lown.Uid != alice || lown.Gid != team || own.Mode&0o7777 != 0o2770 || lown.Mode&0o777 != 0o660 {
				return fmt.Sprintf("%d %d %o, %d %d %o", own.Uid, own.Gid, own.Mode, lown.Uid, lown.Gid, lown.Mode)
			}
			return "its maker and the group, 0660 and 2770"
		}},
		{"take over", "a member's chmod(2), chown(2) of another's session, log, file, of the share", "EPERM", asCarol(func(w *world) []error {
			return []error{os.Chmod(w.share, 0o777), os.Chown(w.share, carol, -1), os.Chmod(w.share+"/messages.jsonl", 0o666), os.Chown(w.share+"/messages.jsonl", carol, -1), os.Chmod(w.point+"/shared/team", 0o777), os.Chown(w.point+"/shared/team", carol, -1)}
		})},
		{"remove history", "a member's rm, rmdir, truncate, rename of a log, setxattr delete of another's session", "EPERM", asCarol(func(w *world) []error {
			l := w.share + "/messages.jsonl"
			return []error{os.Remove(l), os.Truncate(l, 0), unix.Rmdir(w.share), os.Rename(l, w.share+"/x"), unix.Setxattr(w.share, "user.ctxfs.do", []byte("delete"), 0)}
		})},
		{"delete one's own", "a member's setxattr delete of a session of the own", "allowed", asCarol(func(w *world) []error {
			dir := w.point + "/shared/team/agent/coder/session/mine"
			return []error{os.MkdirAll(dir, 0o770), unix.Setxattr(dir, "user.ctxfs.do", []byte("delete"), 0)}
		})},
		{"past the mount", "a member opens, renames, unlinks a share's files in the store", "EACCES", asCarol(func(w *world) []error {
			d := w.store + "/shared/team/agent/coder/session/s"
			return []error{none(os.ReadDir(d)), os.Remove(d + "/messages.jsonl"), os.Rename(d, d+"x"), none(os.ReadFile(d + "/messages.jsonl"))}
		})},
		{"move out", "a member's rename(2) of another's session, of a file, into the own home", "EPERM, EXDEV", asCarol(func(w *world) []error {
			must(w.t, errors.Join(os.MkdirAll(w.home(carol)+"/agent/coder/session", 0o700), os.MkdirAll(w.home(carol)+"/agent/coder/root", 0o700), os.MkdirAll(w.point+"/shared/team/agent/coder/root", 0o770)))
			f := w.point + "/shared/team/agent/coder/root/f"
			must(w.t, os.WriteFile(f, nil, 0o660))
			return []error{os.Rename(w.share, w.home(carol)+"/agent/coder/session/s"), os.Rename(f, w.home(carol)+"/agent/coder/root/f")}
		})},
		{"a private file in a share", "a member reads a file of another's with mode 0600, in a folder of the group", "EACCES", func(w *world) string {
			f := w.point + "/shared/team/agent/coder/root/private"
			must(w.t, w.as(alice, func() error {
				return errors.Join(os.MkdirAll(w.point+"/shared/team/agent/coder/root", 0o770), os.WriteFile(f, []byte(secret), 0o600))
			}))
			return result(w.as(carol, func() error { return none(os.ReadFile(f)) }))
		}},
		{"write to a set-user-id program", "a member writes to, and truncates, a program of another's with mode 6770", "allowed, and the bits are gone", func(w *world) string {
			got := ""
			for _, how := range []func(f string) error{
				func(f string) error { return writeTo(f, "evil", os.O_WRONLY) },
				func(f string) error { return os.Truncate(f, 1) },
				func(f string) error { return write(f, "") },
			} {
				f := w.point + "/shared/team/agent/coder/root/suid"
				must(w.t, w.as(alice, func() error {
					_ = os.Remove(f)
					return errors.Join(os.MkdirAll(w.point+"/shared/team/agent/coder/root", 0o770), os.WriteFile(f, []byte("good"), 0o770), unix.Chmod(f, 0o6770))
				}))
				err := w.as(carol, func() error { return how(f) })
				var st unix.Stat_t
				must(w.t, unix.Stat(w.store+"/shared/team/agent/coder/root/suid", &st))
				if got = result(err); st.Mode&0o6000 != 0 {
					return fmt.Sprintf("%s, mode %o", got, st.Mode)
				}
			}
			return got + ", and the bits are gone"
		}},
		{"leave the group", "openat(2) by a descriptor of the share that was opened before its owner closed it by chmod(2)", "EACCES", func(w *world) string {
			must(w.t, errors.Join(os.MkdirAll(w.point+"/shared/closing", 0o770), os.Chown(w.point+"/shared/closing", alice, team), unix.Chmod(w.point+"/shared/closing", 0o2770)))
			dir := w.point + "/shared/closing"
			return result(w.as(carol, func() error {
				must(w.t, errors.Join(os.MkdirAll(dir+"/agent/x/root", 0o770), os.WriteFile(dir+"/agent/x/root/f", nil, 0o660)))
				fd, err := unix.Open(dir, unix.O_PATH, 0)
				must(w.t, err)
				defer unix.Close(fd)
				must(w.t, w.as(alice, func() error { return unix.Chmod(dir, 0o700) }))
				return none(unix.Openat(fd, "agent/x/root/f", unix.O_RDONLY, 0))
			}))
		}},
		{"make a share of another group", "chgrp(1) of a share of the own to a group that one is not in", "EPERM", asCarol(func(w *world) []error {
			d := w.point + "/shared/carols"
			must(w.t, os.Mkdir(d, 0o700))
			return []error{os.Chown(d, -1, 64999), os.Chown(d, alice, -1)}
		})},
		{"ACLs", "setxattr(2), getxattr(2) of `system.posix_acl_access`, as setfacl(1) does, on a share through the mount", "ENOTSUP", func(w *world) string {
			acl := []byte("\x02\x00\x00\x00\x01\x00\x07\x00\xff\xff\xff\xff\x02\x00\x07\x00\x02\xfa\x00\x00\x04\x00\x07\x00\xff\xff\xff\xff\x10\x00\x07\x00\xff\xff\xff\xff\x20\x00\x00\x00\xff\xff\xff\xff")
			return each(result(unix.Setxattr(w.point+"/shared/team", "system.posix_acl_access", acl, 0)), result(none(unix.Getxattr(w.point+"/shared/team", "system.posix_acl_access", make([]byte, 99)))))
		}},
		{"terminal escapes", "escape sequences in a share's session: `ctxfs history`, `latest`, `sessions`, `pack` as another member", "shown as text", func(w *world) string {
			evil := "\x1b]0;owned\x07\x1b[2J\u009b31m\u202e"
			must(w.t, w.as(carol, func() error {
				return errors.Join(tryAdd(w.share+"/messages.jsonl", message("assistant", evil)), os.MkdirAll(w.point+"/shared/team/agent/coder/root/"+evil, 0o770), write(w.share+"/cwd", "/"+evil+"\n"))
			}))
			for _, args := range [][]string{{"history", "coder", "--session", "s"}, {"latest", "coder", "--session", "s"}, {"sessions", "coder"}} {
				c := asUser(alice, program, append(args, "--share", "team", "--mount", w.point)...)
				c.SysProcAttr.Credential.Groups = []uint32{team}
				out, err := c.CombinedOutput()
				if err != nil || strings.ContainsAny(string(out), "\x1b\x07\u009b\u202e") {
					return fmt.Sprintf("%s: %v %q", args[0], err, out)
				}
			}
			// A pipe gets the bytes as they are; a terminal does not.
			c := exec.Command("script", "-qec", fmt.Sprintf("%s pack %s; %s history coder --json --share team --session s --mount %s", program, w.share, program, w.point), "/dev/null")
			if out, err := c.CombinedOutput(); err != nil || strings.ContainsAny(strings.ReplaceAll(string(out), "\r\n", "\n"), "\x1b\x07\u009b\u202e") || !strings.Contains(string(out), "owned") {
				return fmt.Sprintf("pack on a terminal: %v %q", err, out)
			}
			return "shown as text"
		}},
	}
}
