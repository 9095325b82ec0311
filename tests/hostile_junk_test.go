package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// junk writes each text to a control file of bob's session, and gives what that gave.
func junk(file string, texts ...string) func(w *world) string {
	return all(func(w *world) (errs []error) {
		for _, s := range texts {
			errs = append(errs, write(w.own+"/"+file, s))
		}
		return errs
	})
}

func junkAttacks() []attack {
	nuls, deep := strings.Repeat("\x00", 4096), strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)
	return []attack{
		{"budget", "NULs, not UTF-8, negative, 20 digits, 1e9, a name, `reserve` over the budget, unknown keys", "EINVAL", junk("context/budget", nuls, "\xff\xfe\n", "-1\n", "99999999999999999999\n", "1e9\n", "much\n", "10\nreserve=11\n", "10\nevil=1\n", "10\ntokenizer=../../x\n")},
		{"gc.policy", "NULs, unknown keys, 20 digits, negative times, delete_after without its guards", "EINVAL", junk("context/gc.policy", nuls, "x=y\n", "archive_after=99999999999999999999d\n", "archive_after=-1d\n", "delete_after=1s\n", "\xff=1\n")},
		{"meta.json", "NULs, a list, 20,000 levels deep, another's identity, another's `created_by_uid`", "EINVAL", junk("meta.json", nuls, "[]\n", `{"x":`+deep+"}\n", `{"agent":"other"}`+"\n", `{"created_by_uid":0}`+"\n", `{"scope":"shared"}`+"\n", `{"session":"a"}`+"\n")},
		{"state", "NULs, a word, 1 MB, an escape", "EINVAL", junk("state", nuls+"\n", "dancing\n", strings.Repeat("x", 1<<20)+"\n", "\x1b[2J\n")},
		{"facts, decisions, refs", "NULs, no JSON, 20,000 levels deep", "EINVAL", func(w *world) string {
			return each(junk("context/facts.jsonl", nuls+"\n", "x\n", deep+"\n")(w), junk("context/decisions.jsonl", nuls+"\n", deep+"\n")(w), junk("context/refs.jsonl", "x\n")(w))
		}},
		{"too large", "17 MB to `summary.md`, `meta.json`, `budget`; truncate(2) of them to 1 TB", "EFBIG", all(func(w *world) (errs []error) {
			for _, f := range []string{"context/summary.md", "meta.json", "context/budget"} {
				errs = append(errs, write(w.own+"/"+f, strings.Repeat("x", 17<<20)), os.Truncate(w.own+"/"+f, 1<<40))
			}
			return errs
		})},
		{"lines", "NULs, not UTF-8, a list, 20,000 levels deep, an empty line to one's log", "EINVAL", all(func(w *world) (errs []error) {
			for _, s := range []string{nuls + "\n", "{\"x\":\"\xff\"}\n", "[]\n", `{"x":` + deep + "}\n", "\n", "{}{}\n"} {
				errs = append(errs, tryAdd(w.own+"/messages.jsonl", s))
			}
			return errs
		})},
		{"a line of 65 MB", "one line over the limit, in writes of 1 MB", "EFBIG", asBob(func(w *world) error {
			return tryAdd(w.own+"/messages.jsonl", `{"x":"`+strings.Repeat("x", 65<<20)+"\"}\n")
		})},
		{"odd records", "9,999 levels deep, 100,000 content blocks, a role of 1 MB, times of the year 99999, 100,000 keys", "taken; the pack is built", func(w *world) string {
			dir := w.room + "/session/odd"
			err := w.bobs(func() error {
				err := os.Mkdir(dir, 0o700)
				for _, s := range []string{
					`{"role":"user","content":` + strings.Repeat("[", 9990) + strings.Repeat("]", 9990) + "}",
					`{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":"x"},`, 100_000) + `{}]}`,
					`{"role":"` + strings.Repeat("r", 1<<20) + `","content":"x"}`,
					`{"role":"user","content":"x","created_at":"99999-01-01T00:00:00Z","ts":1e308}`,
					`{` + strings.Repeat(`"k":1,`, 100_000) + `"role":"user"}`,
				} {
					err = errors.Join(err, tryAdd(dir+"/messages.jsonl", s+"\n"))
				}
				return errors.Join(err, none(os.ReadFile(dir+"/context/pack.md")), none(os.ReadFile(dir+"/context/recall/x")))
			})
			if err != nil {
				return result(err)
			}
			return "taken; the pack is built"
		}},
		{"10,000 pinned files", "10,000 files in `pinned/`; the pack is read", "the pack is built", func(w *world) string {
			err := w.bobs(func() error {
				dir := w.part + "/agent/coder/session/b/context/pinned"
				err := os.MkdirAll(dir, 0o700)
				for i := range 10_000 {
					err = errors.Join(err, os.WriteFile(fmt.Sprintf("%s/%05d.md", dir, i), []byte("pinned\n"), 0o600))
				}
				return errors.Join(err, none(os.ReadFile(w.own+"/context/pack.md")), os.RemoveAll(dir))
			})
			if err != nil {
				return result(err)
			}
			return "the pack is built"
		}},
		{"one huge pinned file", "20 MB in `pinned/x.md`; the pack is read", "EFBIG", asBob(func(w *world) error {
			if err := os.WriteFile(w.own+"/context/pinned/x.md", []byte(strings.Repeat("x ", 10<<20)), 0o600); err != nil {
				return err
			}
			defer os.Remove(w.own + "/context/pinned/x.md")
			return none(os.ReadFile(w.own + "/context/pack.md"))
		})},
		{"what the daemon prints", "all of the above, with newlines and escapes in names and values", "nothing of it", func(w *world) string {
			w.stop() // then all of it is there
			s := w.mount.log.String()
			w.start("--allow-other")
			if strings.Contains(s, "\x1b") || strings.Contains(s, "dancing") {
				return s
			}
			return "nothing of it"
		}},
	}
}

// operator runs a command of root's with a limit of time.
func (w *world) operator(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if ctx.Err() != nil {
		err = errors.New("hangs")
	}
	return string(out), err
}

func operatorAttacks() []attack {
	// trap fills bob's part with what could keep root's commands busy, or lead them away.
	trap := func(w *world) {
		s := w.part + "/agent/coder/session/"
		out := filepath.Dir(w.canary)
		must(w.t, w.bobs(func() error {
			_ = os.RemoveAll(s + "trap")
			return errors.Join(os.MkdirAll(s+"trap/context/pinned", 0o700), unix.Mkfifo(s+"trap/messages.jsonl", 0o600), os.Symlink(w.canary, s+"trap/events.jsonl"),
				unix.Mkfifo(s+"trap/context/pinned/pipe", 0o600), os.Symlink(out, s+"trap/context/child"), os.Symlink(w.canary, s+"trap/context/pinned/l.md"),
				os.WriteFile(s+"trap/meta.json", nil, 0o600), os.Truncate(s+"trap/meta.json", 1<<40), os.WriteFile(s+"trap/state", []byte("\x1b[2J\n"), 0o600),
				os.MkdirAll(s+"sparse", 0o700), os.WriteFile(s+"sparse/messages.jsonl", nil, 0o600), os.Truncate(s+"sparse/messages.jsonl", 1<<40),
				os.MkdirAll(w.part+"/.ctxfs/chunk", 0o700), os.WriteFile(w.part+"/.ctxfs/chunk/lock", nil, 0o600))
		}))
	}
	mine := func(w *world) string { return fmt.Sprintf("home/%d", alice) }
	return []attack{
		{"verify over traps", "root runs `ctxfs verify`: pipes, links, 1 TB of NULs, a log that is a folder in one's part", "ends; tells of that part only; the others are read", func(w *world) string {
			trap(w)
			out, err := w.operator("verify", "--store", w.store)
			if err == nil || strings.Contains(err.Error(), "hangs") || leaks(out) || strings.Contains(out, mine(w)) || strings.Contains(out, "\x1b") {
				return fmt.Sprint(out, err)
			}
			return "ends; tells of that part only; the others are read"
		}},
		{"gc over traps", "root runs `ctxfs gc`", "ends; that part is left as it is, the others are done", func(w *world) string {
			trap(w)
			old := w.store + "/home/64001/.ctxfs/.ctxfs-tmp-old"
			must(w.t, errors.Join(os.MkdirAll(filepath.Dir(old), 0o700), os.WriteFile(old, nil, 0o600), os.Chown(filepath.Dir(old), alice, alice), os.Chown(old, alice, alice), os.Chtimes(old, time.Unix(1, 0), time.Unix(1, 0))))
			out, err := w.operator("gc", "--store", w.store)
			if _, serr := os.Stat(old); serr == nil || err != nil && err.Error() == "hangs" || leaks(out) {
				return fmt.Sprint(out, err, serr)
			}
			return "ends; that part is left as it is, the others are done"
		}},
		{"list over traps", "root runs `ctxfs session list`", "ends; the others are listed", func(w *world) string {
			trap(w)
			out, err := w.operator("session", "list", "--store", w.store)
			if err != nil && err.Error() == "hangs" || !strings.Contains(out, mine(w)) || strings.Contains(out, "\x1b") {
				return fmt.Sprint(out, err)
			}
			return "ends; the others are listed"
		}},
		{"export and pack over traps", "root runs `ctxfs session export`, `ctxfs pack` of such a session", "refused, or without what the links lead to", func(w *world) string {
			trap(w)
			for _, s := range []string{"trap", "sparse"} {
				for _, cmd := range [][]string{{"pack", w.part + "/agent/coder/session/" + s}, {"session", "export", w.part + "/agent/coder/session/" + s, "-o", filepath.Join(filepath.Dir(w.canary), "out.tar")}} {
					if s == "sparse" && cmd[0] == "session" {
						continue // it would write 1 TB, as tar(1) would
					}
					if out, err := w.operator(cmd...); err != nil && err.Error() == "hangs" || leaks(out) {
						return fmt.Sprint(cmd, out, err)
					}
				}
			}
			data, _ := os.ReadFile(filepath.Join(filepath.Dir(w.canary), "out.tar"))
			if leaks(string(data)) {
				return "exported"
			}
			return "refused, or without what the links lead to"
		}},
		{"a folder deeper than a path", "3,000 folders in each other in one's session; root runs verify, gc, list", "ends; the others are done", func(w *world) string {
			dir := w.part + "/agent/coder/session/b"
			must(w.t, w.bobs(func() error {
				fd, err := unix.Open(dir, unix.O_PATH, 0)
				for i := 0; err == nil && i < 3000; i++ {
					if err = unix.Mkdirat(fd, "dd", 0o700); err == nil || err == unix.EEXIST {
						var next int
						next, err = unix.Openat(fd, "dd", unix.O_PATH, 0)
						unix.Close(fd)
						fd = next
					}
				}
				unix.Close(fd)
				return err
			}))
			for _, cmd := range []string{"verify", "gc"} {
				if out, err := w.operator(cmd, "--store", w.store); err != nil && err.Error() == "hangs" || strings.Contains(out, mine(w)) {
					return out
				}
			}
			_ = exec.Command("rm", "-rf", dir).Run()
			return "ends; the others are done"
		}},
	}
}
