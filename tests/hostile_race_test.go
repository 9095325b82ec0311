package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// raceTime is how long each race is run.
const raceTime = 2 * time.Second

// during runs a loop of bob's, again and again, while fn runs.
func (w *world) during(loop func(), fn func()) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = w.as(bob, func() error {
			for !stop.Load() {
				loop()
			}
			return nil
		})
	})
	for start := time.Now(); time.Since(start) < raceTime; {
		fn()
	}
	stop.Store(true)
	wg.Wait()
}

// leaks tells whether text is of the canary or of alice's.
func leaks(text string) bool {
	return strings.Contains(text, "canary\n") || strings.Contains(text, secret)
}

func raceAttacks() []attack {
	return []attack{
		{"a pinned file and a link", "renameat2(2) RENAME_EXCHANGE of `pinned/x.md` and a link to a file of root's, in the store, while packs are read, by the user, by root's `pack`, `export`, `gc`", "nothing outside is read", func(w *world) string {
			dir := w.part + "/agent/coder/session/b/context/pinned"
			must(w.t, w.bobs(func() error {
				return errors.Join(os.WriteFile(w.own+"/context/pinned/x.md", []byte("mine\n"), 0o600), os.Symlink(w.canary, dir+"/.l"))
			}))
			got := ""
			w.during(func() {
				_ = unix.Renameat2(unix.AT_FDCWD, dir+"/x.md", unix.AT_FDCWD, dir+"/.l", unix.RENAME_EXCHANGE)
			}, func() {
				data, _ := os.ReadFile(w.own + "/context/pack.md")
				out, _ := exec.Command(program, "pack", w.own).CombinedOutput()
				tar, _ := exec.Command(program, "session", "export", w.own).CombinedOutput()
				_, _ = exec.Command(program, "gc", "--store", w.store).CombinedOutput()
				if s := string(data) + string(out) + string(tar); leaks(s) {
					got = s
				}
			})
			_ = os.RemoveAll(dir)
			if got != "" {
				return got
			}
			return "nothing outside is read"
		}},
		{"a folder and a link", "the same exchange of `pinned` and a link to a folder of root's, while files are made and removed in it", "nothing outside is read or made", func(w *world) string {
			out := filepath.Join(filepath.Dir(w.canary), "hidden")
			ctx := w.part + "/agent/coder/session/b/context"
			must(w.t, w.bobs(func() error {
				return errors.Join(os.MkdirAll(ctx+"/pinned", 0o700), os.Symlink(out, ctx+"/.l"))
			}))
			w.during(func() {
				_ = unix.Renameat2(unix.AT_FDCWD, ctx+"/pinned", unix.AT_FDCWD, ctx+"/.l", unix.RENAME_EXCHANGE)
			}, func() {
				_ = w.bobs(func() error {
					_ = os.WriteFile(w.own+"/context/pinned/new.md", []byte("x"), 0o600)
					_ = os.Chmod(w.own+"/context/pinned/new.md", 0o640)
					_ = os.Rename(w.own+"/context/pinned/new.md", w.own+"/context/pinned/there")
					_ = os.Remove(w.own + "/context/pinned/there")
					_, _ = os.ReadFile(w.own + "/context/pack.md")
					return nil
				})
			})
			for _, p := range []string{"/pinned", "/.l"} {
				_ = os.RemoveAll(ctx + p)
			}
			if list, err := os.ReadDir(out); err != nil || len(list) != 1 || list[0].Name() != "there" {
				return fmt.Sprint(list, err)
			}
			return "nothing outside is read or made"
		}},
		{"a new file's place", "a new file in one's root is replaced, in the store, by another name of root's file, before the daemon gives it to its owner", "root's file stays root's", func(w *world) string {
			back := w.part + "/agent/coder/root"
			var stop atomic.Bool
			var wg sync.WaitGroup
			wg.Go(func() { // as root: on most hosts users cannot make such links
				for !stop.Load() {
					_ = os.Remove(back + "/n")
					_ = os.Link(w.canary, back+"/n")
					_ = os.Remove(back + "/n")
				}
			})
			w.during(func() {
				_ = os.WriteFile(w.room+"/root/n", []byte("x"), 0o666)
				_ = os.Symlink("/", w.room+"/root/n")
				_ = os.Mkdir(w.room+"/root/n", 0o777)
				_ = os.Chmod(w.room+"/root/n", 0o666)
				_ = os.Remove(w.room + "/root/n")
			}, func() { time.Sleep(10 * time.Millisecond) })
			stop.Store(true)
			wg.Wait()
			_ = os.RemoveAll(back + "/n")
			return "root's file stays root's" // w.whole looks at the canary
		}},
		{"a new session's place", "a session's folder is replaced by a link while it is made", "nothing outside is changed", func(w *world) string {
			out := filepath.Join(filepath.Dir(w.canary), "hidden")
			dir := w.part + "/agent/coder/session/race"
			var stop atomic.Bool
			var wg sync.WaitGroup
			wg.Go(func() {
				_ = w.bobs(func() error {
					for !stop.Load() {
						_ = os.Rename(dir, dir+".away")
						_ = os.Symlink(out, dir)
						_ = os.Remove(dir)
						_ = os.RemoveAll(dir + ".away")
					}
					return nil
				})
			})
			w.during(func() {
				_ = os.Mkdir(w.room+"/session/race", 0o700)
				_ = tryAdd(w.room+"/session/race/messages.jsonl", "{}\n")
				_ = unix.Setxattr(w.room+"/session/race", "user.ctxfs.do", []byte("delete"), 0)
			}, func() { time.Sleep(10 * time.Millisecond) })
			stop.Store(true)
			wg.Wait()
			_ = os.RemoveAll(dir)
			_ = os.RemoveAll(dir + ".away")
			st, err := os.Stat(out)
			list, lerr := os.ReadDir(out)
			if err != nil || lerr != nil || len(list) != 1 || st.Mode().Perm() != 0o700 {
				return fmt.Sprint(list, err, lerr)
			}
			return "nothing outside is changed"
		}},
		{"rename during appends", "a session is renamed to and fro while two processes append to it", "every line that was taken is there, once", func(w *world) string {
			a, b := w.room+"/session/to", w.room+"/session/fro"
			must(w.t, w.bobs(func() error { return os.Mkdir(a, 0o700) }))
			var taken atomic.Int64
			var stop atomic.Bool
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					_ = w.bobs(func() error {
						for !stop.Load() {
							if tryAdd(a+"/messages.jsonl", "{\"n\":1}\n") == nil {
								taken.Add(1)
							}
						}
						return nil
					})
				})
			}
			w.during(func() { _ = os.Rename(a, b); _ = os.Rename(b, a) }, func() { time.Sleep(10 * time.Millisecond) })
			stop.Store(true)
			wg.Wait()
			data, err := os.ReadFile(a + "/messages.jsonl")
			if n := int64(strings.Count(string(data), "{\"n\":1}\n")); err != nil || n != taken.Load() || n*8 != int64(len(data)) {
				return fmt.Sprint(n, taken.Load(), len(data), err)
			}
			return "every line that was taken is there, once"
		}},
	}
}
