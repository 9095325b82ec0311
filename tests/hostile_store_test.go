package tests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// within fails a call that does not come back: something that blocks the daemon blocks who asks it.
func within(fn func() error) error {
	done := make(chan error, 1)
	go func() { done <- fn() }()
	select {
	case err := <-done:
		return err
	case <-time.After(15 * time.Second):
		return errors.New("hangs")
	}
}

// plant changes bob's part of the store, by hand, and gives what reading these files of his session b then gives; the
// session is made anew for it.
func plant(how func(w *world, dir string) error, files ...string) func(w *world) string {
	return func(w *world) string {
		w.n++
		name := fmt.Sprintf("p%d", w.n)
		mnt, dir := w.room+"/session/"+name, w.part+"/agent/coder/session/"+name
		must(w.t, w.as(bob, func() error { return errors.Join(os.Mkdir(mnt, 0o700), write(mnt+"/context/budget", "9000\n")) }))
		must(w.t, how(w, dir))
		var got []string
		for _, f := range files {
			text := ""
			err := within(func() error {
				return w.as(bob, func() error {
					data, err := os.ReadFile(mnt + "/" + f)
					text = string(data)
					return err
				})
			})
			if strings.Contains(text, "canary") || strings.Contains(text, secret) {
				got = append(got, "read: "+text)
			}
			got = append(got, result(err))
		}
		for range 100 { // an event about damage may be written meanwhile
			if os.RemoveAll(dir) == nil {
				break
			}
		}
		return each(got...)
	}
}

func (w *world) bobs(fn func() error) error { return w.as(bob, fn) }

func storeAttacks() []attack {
	link := func(rel string, to func(w *world) string) func(*world, string) error {
		return func(w *world, dir string) error {
			return w.bobs(func() error {
				p := filepath.Join(dir, rel)
				_ = os.RemoveAll(p)
				_ = os.MkdirAll(filepath.Dir(p), 0o700)
				return os.Symlink(to(w), p)
			})
		}
	}
	// As root, what protected_hardlinks (proc(5)) keeps users from on most hosts.
	hard := func(rel string) func(*world, string) error {
		return func(w *world, dir string) error {
			_ = os.RemoveAll(dir + "/" + rel)
			_ = os.MkdirAll(filepath.Dir(dir+"/"+rel), 0o700)
			return os.Link(w.canary, dir+"/"+rel)
		}
	}
	odd := func(rel string, make func(p string) error) func(*world, string) error {
		return func(w *world, dir string) error {
			return w.bobs(func() error {
				_ = os.RemoveAll(dir + "/" + rel)
				_ = os.MkdirAll(filepath.Dir(dir+"/"+rel), 0o700)
				return make(dir + "/" + rel)
			})
		}
	}
	canary := func(w *world) string { return w.canary }
	fifo := func(p string) error { return unix.Mkfifo(p, 0o600) }
	folder := func(p string) error { return os.MkdirAll(p+"/x", 0o700) }
	sparse := func(p string) error {
		return errors.Join(os.WriteFile(p, nil, 0o600), os.Truncate(p, 1<<40))
	}
	return []attack{
		{"reach the store", "open(2) of the store, its `home`, `shared`, `agent`, `.ctxfs`, another's home in it", "EACCES", all(func(w *world) (errs []error) {
			for _, d := range []string{"", "home", "shared", "shared/team", "agent", "agent/coder.d", "model", ".ctxfs", ".ctxfs/lock", ".ctxfs/nodes", fmt.Sprintf("home/%d", alice), fmt.Sprintf("home/%d/agent", alice)} {
				errs = append(errs, none(os.ReadFile(w.store+"/"+d)))
			}
			return errs
		})},
		{"one's own part", "open(2) of one's own home in the store", "allowed: a user's files are the user's", func(w *world) string {
			if err := w.bobs(func() error { return none(os.ReadFile(w.part + "/agent/coder/session/b/messages.jsonl")) }); err != nil {
				return result(err)
			}
			return "allowed: a user's files are the user's"
		}},
		{"log is a symlink", "`messages.jsonl` becomes a link to a file of root's", "EACCES", plant(link("messages.jsonl", canary), "messages.jsonl", "context/pack.md", "latest.md")},
		{"log is another's", "`messages.jsonl` becomes a link to another's log in the store", "EACCES", plant(link("messages.jsonl", func(w *world) string { return w.store + "/home/64001/agent/coder/session/a/messages.jsonl" }), "messages.jsonl", "context/pack.md")},
		{"session is a symlink", "the session's folder becomes a link to another's", "EACCES, ENOTDIR", plant(link(".", func(w *world) string { return w.store + "/home/64001/agent/coder/session/a" }), "messages.jsonl", "context/pack.md")},
		{"control file is a symlink", "`meta.json`, `summary.md`, `budget` become links", "EACCES", plant(func(w *world, dir string) error {
			return errors.Join(link("meta.json", canary)(w, dir), link("context/summary.md", canary)(w, dir), link("context/budget", canary)(w, dir))
		}, "meta.json", "context/summary.md", "context/budget", "context/pack.md")},
		{"pinned is a symlink", "`pinned` becomes a link to a folder of root's", "EACCES", plant(link("context/pinned", func(w *world) string { return filepath.Dir(w.canary) }), "context/pack.md", "context/pinned/canary")},
		{"pinned file is a symlink", "`pinned/x.md` becomes a link", "allowed, with nothing of it", plantPack(link("context/pinned/x.md", canary))},
		{"log is a hard link", "`messages.jsonl` becomes another name of a file of root's", "EACCES", plant(hard("messages.jsonl"), "messages.jsonl", "context/pack.md", "latest.md")},
		{"control file is a hard link", "the same with `summary.md`, `meta.json`, `budget`", "EACCES", plant(func(w *world, dir string) error {
			return errors.Join(hard("meta.json")(w, dir), hard("context/summary.md")(w, dir), hard("context/budget")(w, dir))
		}, "meta.json", "context/summary.md", "context/budget", "context/pack.md")},
		{"pinned file is a hard link", "the same with `pinned/x.md`", "EACCES", plant(hard("context/pinned/x.md"), "context/pack.md", "context/pinned/x.md")},
		{"plain file becomes a hard link", "a file in one's root, that the kernel knows as one's own, becomes another name of a file of root's: read, write, truncate, chmod, chown, utimes, append by open descriptor's path", "EACCES", func(w *world) string {
			f, back := w.room+"/root/swap", w.part+"/agent/coder/root/swap"
			must(w.t, w.bobs(func() error { return os.WriteFile(f, []byte("mine"), 0o600) }))
			must(w.t, errors.Join(os.Remove(back), os.Link(w.canary, back)))
			defer os.Remove(back)
			return all(func(w *world) []error {
				return []error{none(os.ReadFile(f)), os.WriteFile(f, []byte("x"), 0o600), os.Truncate(f, 0), os.Chmod(f, 0o666), os.Chown(f, -1, bob), os.Chtimes(f, time.Unix(1, 0), time.Unix(1, 0))}
			})(w)
		}},
		{"log is a pipe", "`messages.jsonl` becomes a named pipe", "EINVAL", plant(odd("messages.jsonl", fifo), "messages.jsonl", "context/pack.md")},
		{"control files are pipes", "`state`, `budget`, `summary.md`, `meta.json` become pipes", "EINVAL", plant(func(w *world, dir string) error {
			return errors.Join(odd("state", fifo)(w, dir), odd("context/budget", fifo)(w, dir), odd("context/summary.md", fifo)(w, dir), odd("meta.json", fifo)(w, dir))
		}, "state", "context/budget", "context/summary.md", "meta.json", "context/pack.md")},
		{"pinned file is a pipe", "`pinned/x.md` becomes a pipe", "allowed, with nothing of it", plantPack(odd("context/pinned/x.md", fifo))},
		{"folders for files", "`messages.jsonl`, `budget` become folders", "EISDIR", plant(func(w *world, dir string) error {
			return errors.Join(odd("messages.jsonl", folder)(w, dir), odd("context/budget", folder)(w, dir))
		}, "messages.jsonl", "context/budget", "context/pack.md")},
		{"a log of 1 TB", "`messages.jsonl` becomes 1 TB of NULs, which take no disk", "EFBIG", plant(odd("messages.jsonl", sparse), "messages.jsonl", "context/pack.md", "latest.md")},
		{"control files of 1 TB", "`budget`, `meta.json`, `gc.policy`, `summary.md`, `pinned/x` become as large", "EFBIG", plant(func(w *world, dir string) error {
			var errs []error
			for _, f := range []string{"context/budget", "meta.json", "context/gc.policy", "context/summary.md", "context/pinned/x"} {
				errs = append(errs, odd(f, sparse)(w, dir))
			}
			return errors.Join(errs...)
		}, "context/budget", "meta.json", "context/gc.policy", "context/summary.md", "context/pack.md")},
		{"a junk archive", "`.archive/messages.jsonl` is junk, and no plain file is there", "EIO", plant(odd(".archive/messages.jsonl", func(p string) error {
			return errors.Join(os.Remove(filepath.Dir(filepath.Dir(p))+"/messages.jsonl"), os.WriteFile(p, []byte(strings.Repeat("junk\xff\x00", 1<<16)), 0o600))
		}), "messages.jsonl", "context/pack.md")},
		{"a quarantine that is a link", "`.ctxfs/quarantine` is a link to a folder of root's; then a bad line is appended", "EINVAL, and nothing outside", func(w *world) string {
			out := filepath.Join(filepath.Dir(w.canary), "hidden")
			must(w.t, w.bobs(func() error {
				return errors.Join(os.MkdirAll(w.part+"/.ctxfs", 0o700), os.RemoveAll(w.part+"/.ctxfs/quarantine"), os.Symlink(out, w.part+"/.ctxfs/quarantine"))
			}))
			defer os.Remove(w.part + "/.ctxfs/quarantine")
			got := result(w.bobs(func() error { return tryAdd(w.own+"/messages.jsonl", "bad\n") }))
			if list, err := os.ReadDir(out); err != nil || len(list) != 1 {
				return fmt.Sprint(list, err)
			}
			return got + ", and nothing outside"
		}},
		{"a cold store that is a link", "`.ctxfs/chunk` is a link to a folder of root's, of pipes, a lock that is held; then setxattr(2) archive", "EBUSY, EINVAL, ENOTDIR", func(w *world) string {
			out := filepath.Join(filepath.Dir(w.canary), "hidden")
			chunk := w.part + "/.ctxfs/chunk"
			try := func(make func() error) string {
				must(w.t, w.bobs(func() error { return errors.Join(os.MkdirAll(w.part+"/.ctxfs", 0o700), os.RemoveAll(chunk), make()) }))
				return result(w.bobs(func() error { return unix.Setxattr(w.own, "user.ctxfs.do", []byte("archive"), 0) }))
			}
			var held *os.File
			got := each(try(func() error { return os.Symlink(out, chunk) }),
				try(func() error { return os.WriteFile(chunk, nil, 0o600) }),
				try(func() error {
					return errors.Join(os.MkdirAll(chunk, 0o700), unix.Mkfifo(chunk+"/format", 0o600), unix.Mkfifo(chunk+"/tail-0000000000000000", 0o600))
				}),
				try(func() (err error) {
					_ = os.Mkdir(chunk, 0o700)
					if held, err = os.Create(chunk + "/lock"); err != nil {
						return err
					}
					return unix.Flock(int(held.Fd()), unix.LOCK_EX)
				}))
			held.Close()
			must(w.t, os.RemoveAll(chunk))
			if list, err := os.ReadDir(out); err != nil || len(list) != 1 {
				return fmt.Sprint(list, err)
			}
			return got
		}},
		{"an agents folder that is none", "`agent` in one's home becomes a link, then a file; the daemon starts; others read `status`", "status: allowed", func(w *world) string {
			for _, how := range []func(p string) error{func(p string) error { return os.Symlink("/", p) }, func(p string) error { return os.WriteFile(p, nil, 0o600) }} {
				must(w.t, w.bobs(func() error { return errors.Join(os.Rename(w.part+"/agent", w.part+"/old"), how(w.part+"/agent")) }))
				w.stop()
				w.start("--allow-other")
				err := w.as(alice, func() error { return none(os.ReadFile(w.point + "/status")) })
				must(w.t, errors.Join(os.Remove(w.part+"/agent"), os.Rename(w.part+"/old", w.part+"/agent")))
				if err != nil {
					return "status: " + result(err)
				}
			}
			return "status: allowed"
		}},
		{"a mount of one's own", "another file system is mounted in one's root, as by fusermount3(1)", "EACCES", func(w *world) string {
			dir := w.part + "/agent/coder/root/mnt"
			must(w.t, w.bobs(func() error { return os.MkdirAll(dir, 0o700) }))
			must(w.t, unix.Mount("none", dir, "tmpfs", 0, ""))
			defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }()
			must(w.t, os.WriteFile(dir+"/x", nil, 0o666))
			return result(w.bobs(func() error { return none(os.ReadFile(w.room + "/root/mnt/x")) }))
		}},
		{"rename a file of another's in", "a file that belongs to another lies in one's root, by rename(2) from a folder that both may write", "EACCES", func(w *world) string {
			back := w.part + "/agent/coder/root/moved"
			must(w.t, errors.Join(os.WriteFile(back, []byte(secret), 0o666), os.Chown(back, alice, alice)))
			defer os.Remove(back)
			return all(func(w *world) []error {
				return []error{none(os.ReadFile(w.room + "/root/moved")), os.Truncate(w.room+"/root/moved", 0)}
			})(w)
		}},
		{"delete through links", "links in one's session to files and folders of root's; then setxattr(2) delete", "the links go, nothing else", func(w *world) string {
			mnt, dir := w.room+"/session/gone", w.part+"/agent/coder/session/gone"
			out := filepath.Join(filepath.Dir(w.canary), "hidden")
			err := w.bobs(func() error {
				return errors.Join(os.Mkdir(mnt, 0o700), os.Symlink(w.canary, dir+"/l"), os.Symlink(out, dir+"/d"), unix.Setxattr(mnt, "user.ctxfs.do", []byte("delete"), 0))
			})
			if _, serr := os.Stat(out + "/there"); err != nil || serr != nil {
				return result(errors.Join(err, serr))
			}
			return "the links go, nothing else"
		}},
	}
}

// plantPack is plant where the pack can be read all the same.
func plantPack(how func(w *world, dir string) error) func(w *world) string {
	inner := plant(how, "context/pack.md")
	return func(w *world) string {
		if got := inner(w); got != "allowed" {
			return got
		}
		return "allowed, with nothing of it"
	}
}
