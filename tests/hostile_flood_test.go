package tests

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// memory is what the daemon has in RAM, in bytes.
func (w *world) memory() int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.worker()))
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
