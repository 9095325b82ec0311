package tests

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func linkAttacks() []attack {
	return []attack{
		{"symlink in a session", "symlink(2) in a session, `context/`, `pinned/`, `child/`", "EPERM", all(func(w *world) (errs []error) {
			for _, d := range []string{"", "context/", "context/pinned/", "context/child/"} {
				errs = append(errs, os.Symlink("/etc/shadow", w.own+"/"+d+"x"))
			}
			return errs
		})},
		{"symlink to a secret", "symlink(2) in one's root to a file of root's, then open(2) it", "EACCES", asBob(func(w *world) error {
			_ = os.Remove(w.room + "/root/l")
			must(w.t, os.Symlink(w.canary, w.room+"/root/l"))
			return none(os.ReadFile(w.room + "/root/l"))
		})},
		{"symlink renamed into pinned", "rename(2) of such a link to `pinned/x.md`, then read the pack", "the link is there, and never read", func(w *world) string {
			pack := ""
			err := w.as(bob, func() error {
				_ = os.Remove(w.room + "/root/l")
				if err := errors.Join(os.Symlink(w.canary, w.room+"/root/l"), os.Rename(w.room+"/root/l", w.own+"/context/pinned/x.md")); err != nil {
					return err
				}
				data, err := os.ReadFile(w.own + "/context/pack.md")
				pack = string(data)
				return errors.Join(err, os.Remove(w.own+"/context/pinned/x.md"))
			})
			if err != nil || strings.Contains(pack, "canary") {
				return result(err) + pack
			}
			return "the link is there, and never read"
		}},
		{"symlink over a control file", "rename(2) of a link over `budget`, `meta.json`, `summary.md`, `messages.jsonl`", "EACCES, EPERM", all(func(w *world) (errs []error) {
			for _, n := range []string{"context/budget", "meta.json", "context/summary.md", "messages.jsonl"} {
				_ = os.Remove(w.room + "/root/l")
				must(w.t, os.Symlink(w.canary, w.room+"/root/l"))
				errs = append(errs, os.Rename(w.room+"/root/l", w.own+"/"+n))
			}
			return errs
		})},
		{"cwd through links", "links in one's root to `/`, `../../..`, `/proc/self/root`, as `cwd`", "ENOENT", all(func(w *world) (errs []error) {
			for i, to := range []string{"/etc", "../../../../../../etc", "/proc/self/root/etc", "/proc/1/root"} {
				l := fmt.Sprintf("%s/root/c%d", w.room, i)
				_ = os.Remove(l)
				must(w.t, os.Symlink(to, l))
				errs = append(errs, write(w.own+"/cwd", fmt.Sprintf("/c%d\n", i)))
			}
			return errs
		})},
		{"hard links", "link(2) of one's own log and file", "EPERM", all(func(w *world) []error {
			must(w.t, os.WriteFile(w.room+"/root/f", nil, 0o600))
			return []error{os.Link(w.own+"/messages.jsonl", w.room+"/root/x"), os.Link(w.room+"/root/f", w.room+"/root/x")}
		})},
		{"hard link of what is outside", "link(2) of a host file into one's root, of a file of the mount out", "EXDEV", all(func(w *world) []error {
			must(w.t, os.WriteFile(w.room+"/root/f", nil, 0o600))
			return []error{os.Link("/etc/passwd", w.room+"/root/x"), os.Link(w.room+"/root/f", "/tmp/hostile-x")}
		})},
		{"devices, pipes, sockets", "mknod(2) of a pipe, a socket, a device in one's root, in `pinned/`, in `agent/`", "EPERM", all(func(w *world) (errs []error) {
			for _, d := range []string{w.room + "/root", w.own + "/context/pinned", w.point + "/agent"} {
				for _, m := range []uint32{unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFBLK, unix.S_IFCHR} {
					errs = append(errs, unix.Mknod(d+"/x", m|0o666, 0x103))
				}
			}
			return errs
		})},
		{"set-user-id", "a program with mode 4755 in one's root", "the mount is nosuid, nodev", func(w *world) string {
			var st unix.Statfs_t
			must(w.t, unix.Statfs(w.point, &st))
			if st.Flags&unix.ST_NOSUID == 0 || st.Flags&unix.ST_NODEV == 0 {
				return fmt.Sprintf("flags %x", st.Flags)
			}
			return "the mount is nosuid, nodev"
		}},
		{"history", "O_TRUNC, truncate(2), unlink(2), rename(2), chmod(2), write without O_APPEND on one's own log", "EPERM", all(func(w *world) []error {
			l := w.own + "/messages.jsonl"
			return []error{write(l, ""), os.Truncate(l, 0), os.Remove(l), os.Rename(l, w.own+"/x"), os.Chmod(l, 0o666), writeTo(l, "{}\n", os.O_WRONLY)}
		})},
		{"files named like control files", "files called `messages.jsonl`, `budget`, `meta.json` in one's root", "plain files", func(w *world) string {
			err := w.as(bob, func() error {
				var errs []error
				for _, n := range []string{"messages.jsonl", "budget", "meta.json"} {
					errs = append(errs, os.WriteFile(w.room+"/root/"+n, []byte("junk"), 0o600))
				}
				return errors.Join(errs...)
			})
			if err != nil {
				return result(err)
			}
			return "plain files"
		}},
	}
}
