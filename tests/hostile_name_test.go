package tests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"ctxfs/tests/testhost"

	"golang.org/x/sys/unix"
)

// nameAttacks guess at what others have. A guess that is right must look like one that is wrong.
func nameAttacks() []attack {
	return []attack{
		{"guess agents and sessions", "stat(2) of another's agent and session, and of names that are not there", "EACCES", all(func(w *world) (errs []error) {
			for _, p := range []string{"agent/coder", "agent/nobody", "agent/coder/session/a", "agent/coder/session/zzz", "agent/coder/session/index/by-cwd/cwd-1f92008dc8753ba3", "model/gpt.d"} {
				errs = append(errs, none(os.Lstat(w.home(alice)+"/"+p)))
			}
			return errs
		})},
		{"guess sockets", "stat(2) of the socket of an agent that only another has, and of none's", "ENOENT", all(func(w *world) []error {
			must(w.t, w.as(alice, func() error { return os.MkdirAll(w.home(alice)+"/agent/private/session", 0o700) }))
			return []error{none(os.Lstat(w.point + "/agent/private.sock")), none(os.Lstat(w.point + "/agent/nobody.sock")), none(dial(w.point+"/agent", "private")), none(dial(w.point+"/agent", "nobody"))}
		})},
		{"list sockets", "readdir(3) of `agent` while another has an agent of an own", "not shown", func(w *world) string {
			must(w.t, w.as(alice, func() error { return os.MkdirAll(w.home(alice)+"/agent/private/session", 0o700) }))
			out, _ := asUser(bob, "ls", w.point+"/agent").CombinedOutput()
			if strings.Contains(string(out), "private") {
				return string(out)
			}
			return "not shown"
		}},
		{"guess in a share", "stat(2) of sessions of a share one is not in, there and not", "EACCES", all(func(w *world) []error {
			return []error{none(os.Lstat(w.share)), none(os.Lstat(w.point + "/shared/team/agent/nobody"))}
		})},
		{"list shares", "readdir(3) of `shared`", "names, groups and modes are seen by all", func(w *world) string {
			out, err := asUser(bob, "stat", "-c", "%n %g %a", w.point+"/shared/team").CombinedOutput()
			if err != nil || !strings.HasSuffix(string(out), fmt.Sprintf("team %d 2770\n", team)) {
				return string(out)
			}
			return "names, groups and modes are seen by all"
		}},
		{"guess homes", "stat(2) of another's home, of one that is not there", "told: who has a home is no secret", func(w *world) string {
			yes, no := result(w.as(bob, func() error { return none(os.Lstat(w.home(alice))) })), result(w.as(bob, func() error { return none(os.Lstat(w.home(64009))) }))
			if yes == "allowed" && no == "ENOENT" {
				return "told: who has a home is no secret"
			}
			return yes + ", " + no
		}},
		{"status", "read `status`", "numbers of the whole mount; no name, path or uid of a user", func(w *world) string {
			out, err := asUser(bob, "cat", w.point+"/status").CombinedOutput()
			if err != nil || strings.Contains(string(out), "64001") || strings.Contains(string(out), "coder") {
				return string(out)
			}
			return "numbers of the whole mount; no name, path or uid of a user"
		}},
		{"cwd and host paths", "write to `cwd` a host path in a folder that one may not search, there and not", "ENOENT", all(func(w *world) []error {
			hidden := testhost.RootDir(w.t)
			must(w.t, os.Mkdir(hidden+"/there", 0o755))
			return []error{write(w.own+"/cwd", hidden+"/there\n"), write(w.own+"/cwd", hidden+"/nothing\n"), write(w.own+"/cwd", "/root/.ssh\n")}
		})},
		{"cwd of a host path that all see", "write `/etc`, `/usr/bin` to `cwd`", "EACCES", all(func(w *world) []error {
			return []error{write(w.own+"/cwd", "/etc\n"), write(w.own+"/cwd", "/usr/bin\n")}
		})},
		{"cwd over the socket", "the same paths as `cwd` of a send", "ENOENT", func(w *world) string {
			hidden := testhost.RootDir(w.t)
			must(w.t, os.Mkdir(hidden+"/there", 0o755))
			return each(w.codes(fmt.Sprintf(`{"op":"send","id":"1","session":"b","cwd":"%s/there","input":"x"}`, hidden), fmt.Sprintf(`{"op":"send","id":"1","session":"b","cwd":"%s/nothing","input":"x"}`, hidden))...)
		}},
		{"cwd that climbs", "write `/../..`, `/work/../../..`, NUL, two lines, 5,000 bytes to `cwd`", "EACCES, EINVAL", all(func(w *world) (errs []error) {
			for _, p := range []string{"/../..", "/work/../../..", "/x\x00", "/work\n/etc", "/" + strings.Repeat("x", 5000)} {
				errs = append(errs, write(w.own+"/cwd", p+"\n"))
			}
			return errs
		})},
		{"index by cwd", "ask one's own index for the cwd of another's session", "ENOENT", asBob(func(w *world) error {
			must(w.t, w.as(alice, func() error { return write(filepath.Dir(w.log)+"/cwd", "/work\n") }))
			return none(os.ReadFile(w.room + "/session/index/by-cwd/cwd-1f92008dc8753ba3"))
		})},
		{"dedup by hash", "open(2) of `dedup/blob/<id>` in one's own session, with the id of a text that another's log holds twice", "ENOENT", func(w *world) string {
			ids, err := os.ReadDir(filepath.Dir(w.log) + "/context/dedup/blob")
			must(w.t, err)
			if len(ids) == 0 {
				return "nothing to guess"
			}
			return result(w.as(bob, func() error { return none(os.ReadFile(w.own + "/context/dedup/blob/" + ids[0].Name())) }))
		}},
		{"store a guess", "append the guessed text twice, and compare what `dedup/` then shows with a text that nobody has", "no difference", func(w *world) string {
			text := strings.Repeat("A line that stands in the log twice, "+secret+". ", 60)
			other := strings.Repeat("A line that stands in the log twice, the-secret-of-nobody-7f3b. ", 60)[:len(text)]
			a, b := w.repeat("guess", text), w.repeat("other", other)
			if a != b {
				return a + " and " + b
			}
			return "no difference"
		}},
		{"references", "pin `swap:`, `child:` and `messages:` references, and a picture's id, of another's session", "as of what is not there", func(w *world) string {
			ids, err := os.ReadDir(filepath.Dir(w.log) + "/context/dedup/blob")
			must(w.t, err)
			theirs := "blake3-" + strings.Repeat("0", 64)
			if len(ids) > 0 {
				theirs = ids[0].Name()
			}
			real, fake := w.pinned(theirs), w.pinned("blake3-"+strings.Repeat("1", 64))
			if real == fake && !strings.Contains(real, secret) {
				return "as of what is not there"
			}
			return real + fake
		}},
		{"recall", "ask one's own `recall/` for another's secret", "nothing of others", func(w *world) string {
			out := ""
			_ = w.as(bob, func() error {
				data, err := os.ReadFile(w.own + "/context/recall/secret of alice stands twice")
				out = string(data)
				return err
			})
			if strings.Contains(out, secret) || strings.Contains(out, "stands in the log") {
				return out
			}
			return "nothing of others"
		}},
		{"the daemon's own names", "stat(2) of `.ctxfs`, `.ctxfs-sockets`, `.archive`, `.ctxfs-tmp-x`, in the root and one's own folders", "ENOENT", all(func(w *world) (errs []error) {
			for _, d := range []string{w.point, w.home(bob), w.own, w.room} {
				for _, n := range []string{".ctxfs", ".ctxfs-sockets", ".archive"} {
					errs = append(errs, none(os.Lstat(d+"/"+n)))
				}
			}
			return errs
		})},
		{"make the daemon's own names", "mkdir(2) and creat(2) of those", "EACCES, EINVAL, EPERM", all(func(w *world) []error {
			return []error{os.Mkdir(w.point+"/.ctxfs", 0o700), os.Mkdir(w.own+"/.archive", 0o700), os.Mkdir(w.room+"/session/.archive", 0o700), os.WriteFile(w.own+"/.ctxfs-tmp-x", nil, 0o600), os.WriteFile(w.room+"/root/.ctxfs", nil, 0o600)}
		})},
		{"odd session names", "mkdir(2) of sessions named `..x`, `a b`, with a newline, an escape, 300 bytes, `index`, `x.sock`", "EEXIST, EINVAL, ENAMETOOLONG", all(func(w *world) (errs []error) {
			for _, n := range []string{"..x", "a b", "a\nb", "a\x1b[2Jb", strings.Repeat("x", 255), "index", "x.sock", "x.d"} {
				errs = append(errs, os.Mkdir(w.room+"/session/"+n, 0o700))
			}
			return errs
		})},
		{"read status of others' limits", "getxattr(2) of `user.ctxfs.tokens` on folders that all see", "ENODATA", all(func(w *world) []error {
			return []error{none(unix.Getxattr(w.point, "user.ctxfs.tokens", make([]byte, 9))), none(unix.Getxattr(w.point+"/home", "user.ctxfs.tokens", make([]byte, 9)))}
		})},
	}
}

// codes sends frames as bob to agent coder, each over a connection of its own, and gives the error codes, or the types.
func (w *world) codes(lines ...string) (list []string) {
	for _, l := range lines {
		out := w.framesAs(bob, "coder", l+"\n")
		code := regexp.MustCompile(`"code":"(E[A-Z]+)"`).FindStringSubmatch(out)
		switch {
		case strings.Contains(out, secret):
			list = append(list, "told: "+out)
		case code != nil:
			list = append(list, code[1])
		default:
			list = append(list, "answered")
		}
	}
	return list
}

// repeat appends a text twice to a new session of bob's, and tells how its dedup folder looks, without ids.
func (w *world) repeat(name, text string) string {
	got := ""
	err := w.as(bob, func() error {
		dir := w.room + "/session/" + name
		if err := errors.Join(os.Mkdir(dir, 0o700), tryAdd(dir+"/messages.jsonl", message("user", text)+message("user", text))); err != nil {
			return err
		}
		data, err := os.ReadFile(dir + "/context/dedup/index.jsonl")
		got = regexp.MustCompile(`blake3-[0-9a-f]+|"tokens":[0-9]+`).ReplaceAllString(string(data), "x")
		return err
	})
	return got + result(err)
}

// pinned pins references with an id in bob's session, and gives the pack without it.
func (w *world) pinned(id string) string {
	pack := ""
	err := w.as(bob, func() error {
		dir := w.room + "/session/refs"
		_ = os.MkdirAll(dir, 0o700)
		line := fmt.Sprintf(`{"role":"user","content":[{"type":"image","ref":%q}]}`+"\n", id)
		if data, err := os.ReadFile(dir + "/messages.jsonl"); err != nil || len(data) == 0 {
			if err := tryAdd(dir+"/messages.jsonl", line); err != nil {
				return err
			}
		}
		if err := os.WriteFile(dir+"/context/pinned/x.ref", []byte("swap:"+id+"\nchild:a\nmessages:2-9\n"), 0o600); err != nil {
			return err
		}
		data, err := os.ReadFile(dir + "/context/pack.json")
		pack = regexp.MustCompile(`blake3-[0-9a-f]+|"tokens":[0-9]+`).ReplaceAllString(string(data), "x")
		return err
	})
	return pack + result(err)
}
