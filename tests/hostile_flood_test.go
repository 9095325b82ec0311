package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// memory is what the daemon has in RAM, in bytes.
func (w *world) memory() int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
	must(w.t, err)
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	must(w.t, err)
	return kb << 10
}

// fill has bob do something until it fails, while alice goes on, and gives the error and how often it worked.
func (w *world) until(most int, do func(i int) (*os.File, error)) (string, int) {
	var open []*os.File
	n := 0
	err := w.bobs(func() error {
		for ; n < most; n++ {
			f, err := do(n)
			if f != nil {
				open = append(open, f)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	before := w.memory()
	w.whole()
	w.t.Logf("%d times; the daemon has %d MB", n, before>>20)
	for _, f := range open {
		f.Close()
	}
	return result(err), n
}

func floodAttacks() []attack {
	return []attack{
		{"descriptors", "open(2) of plain files without end", "EMFILE at a quarter of the daemon's; others open files", func(w *world) string {
			var mine unix.Rlimit
			must(w.t, unix.Getrlimit(unix.RLIMIT_NOFILE, &mine))
			must(w.t, w.bobs(func() error { return os.WriteFile(w.room+"/root/f", nil, 0o600) }))
			got, n := w.until(int(mine.Cur), func(int) (*os.File, error) { return os.Open(w.room + "/root/f") })
			if uint64(n) > mine.Cur/2 {
				got += fmt.Sprint(" after ", n)
			}
			return got + " at a quarter of the daemon's; others open files"
		}},
		{"unfinished lines", "open(2) of a log 20 times, 30 MB in each without an end", "ENOBUFS at 256 MiB", func(w *world) string {
			part := strings.Repeat("x", 1<<20)
			got, n := w.until(20, func(int) (*os.File, error) {
				f, err := os.OpenFile(w.own+"/messages.jsonl", os.O_WRONLY|os.O_APPEND, 0)
				for range 30 {
					if err == nil {
						_, err = f.WriteString(part)
					}
				}
				return f, err
			})
			if n != 8 {
				got += fmt.Sprint(" after ", n)
			}
			return got + " at 256 MiB"
		}},
		{"unfinished control files", "open(2) of `summary.md` 30 times, 15 MB in each, not closed", "ENOBUFS at 256 MiB", func(w *world) string {
			part := strings.Repeat("x", 15<<20)
			got, n := w.until(30, func(int) (*os.File, error) {
				f, err := os.OpenFile(w.own+"/context/summary.md", os.O_WRONLY|os.O_TRUNC, 0)
				if err == nil {
					_, err = f.WriteString(part)
				}
				return f, err
			})
			if n != 17 {
				got += fmt.Sprint(" after ", n)
			}
			must(w.t, w.bobs(func() error { _ = os.Remove(w.own + "/context/summary.md"); return nil }))
			return got + " at 256 MiB"
		}},
		{"snapshots", "open(2) of `swap/open/messages:1-20` of 20 MB, 40 times, not closed", "ENOBUFS at 256 MiB", func(w *world) string {
			dir := w.room + "/session/large"
			must(w.t, w.bobs(func() error {
				err := os.Mkdir(dir, 0o700)
				for range 20 {
					err = errors.Join(err, tryAdd(dir+"/messages.jsonl", `{"x":"`+strings.Repeat("word ", 200_000)+"\"}\n"))
				}
				return err
			}))
			got, _ := w.until(40, func(int) (*os.File, error) { return os.Open(dir + "/context/swap/open/messages:1-20") })
			return got + " at 256 MiB"
		}},
		{"names", "stat(2) of 20,000 different questions in `recall/`", "allowed: the kernel is let hold 1,024 a folder", func(w *world) string {
			before := w.memory()
			got, _ := w.until(20_000, func(i int) (*os.File, error) {
				fd, err := unix.Open(fmt.Sprintf("%s/context/recall/%s%d", w.own, strings.Repeat("q", 200), i), unix.O_PATH, 0)
				_ = unix.Close(fd)
				return nil, err
			})
			if grew := w.memory() - before; grew > 100<<20 {
				got += fmt.Sprintf(", and the daemon grew by %d MB", grew>>20)
			}
			return got + ": the kernel is let hold 1,024 a folder"
		}},
		{"packs of many budgets", "open(2) of 200 different `pack@N.md`", "allowed: 16 are kept", func(w *world) string {
			got, _ := w.until(200, func(i int) (*os.File, error) {
				return nil, none(os.ReadFile(fmt.Sprintf("%s/context/pack@%d.md", w.own, 500+i)))
			})
			return got + ": 16 are kept"
		}},
		{"made and removed", "5,000 files made and removed in one's root", "allowed, and forgotten", func(w *world) string {
			got, _ := w.until(5000, func(int) (*os.File, error) {
				return nil, errors.Join(os.WriteFile(w.room+"/root/t", nil, 0o600), os.Remove(w.room+"/root/t"))
			})
			return got + ", and forgotten"
		}},
		{"homes of nobody", "stat(2) of 10,000 homes that are not there", "ENOENT, and no trace", func(w *world) string {
			size := func() int64 { st, err := os.Stat(w.store + "/.ctxfs/nodes"); must(w.t, err); return st.Size() }
			before := size()
			bad := 0
			_ = w.bobs(func() error {
				for i := range 10_000 {
					if result(none(os.Lstat(w.home(1_000_000+i)))) != "ENOENT" {
						bad++
					}
				}
				return nil
			})
			if bad > 0 || size() > before+4096 {
				return fmt.Sprint(bad, size()-before)
			}
			return "ENOENT, and no trace"
		}},
		{"processors", "16 threads that read packs of ever other budgets of a log of 20 MB, for some seconds", "others append and read packs meanwhile", func(w *world) string {
			dir := w.room + "/session/large"
			var stop atomic.Bool
			var wg sync.WaitGroup
			var built atomic.Int64
			for i := range 16 {
				wg.Go(func() {
					_ = w.bobs(func() error {
						for n := 0; !stop.Load(); n++ {
							if none(os.ReadFile(fmt.Sprintf("%s/context/pack@%d.md", dir, 1000+100*n+i))) == nil {
								built.Add(1)
							}
						}
						return nil
					})
				})
			}
			slowest := time.Duration(0)
			for range 10 {
				start := time.Now()
				w.whole() // fails when it takes more than 5 seconds
				slowest = max(slowest, time.Since(start))
				time.Sleep(100 * time.Millisecond)
			}
			stop.Store(true)
			wg.Wait()
			w.t.Logf("%d packs of bob's; alice's slowest append, pack and verify: %v", built.Load(), slowest)
			return "others append and read packs meanwhile"
		}},
		{"a large record to tokenize", "records of 1 MB of one letter, of spaces, of rare signs; the pack is read", "others append and read packs meanwhile", func(w *world) string {
			dir := w.room + "/session/heavy"
			must(w.t, w.bobs(func() error {
				return errors.Join(os.Mkdir(dir, 0o700), tryAdd(dir+"/messages.jsonl", message("user", strings.Repeat("a", 1<<20))+message("user", strings.Repeat(" ", 1<<20))+message("user", strings.Repeat("\u0f00\u20dd", 1<<17))))
			}))
			done := make(chan error, 1)
			start := time.Now()
			go func() { done <- w.bobs(func() error { return none(os.ReadFile(dir + "/context/pack.md")) }) }()
			for {
				w.whole()
				select {
				case err := <-done:
					w.t.Logf("the pack took %v", time.Since(start))
					if err != nil {
						return result(err)
					}
					return "others append and read packs meanwhile"
				case <-time.After(100 * time.Millisecond):
				}
			}
		}},
	}
}
