package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ctxfs/internal/mounts"

	"golang.org/x/sys/unix"
)

// asked is a mount and what it said.
type asked struct {
	mounts.Mount
	status map[string]string // nil: it said nothing
	err    error
}

var errHangs = errors.New("no answer: its daemon hangs, or is stopped")

// lookAtMounts asks every mount of the host what it is, all at once: one that hangs would have whoever asks it hang too.
func (h *Host) lookAtMounts() []Finding {
	list, err := mounts.List()
	if err != nil {
		return named("mounts", fail("ls -l /proc/self/mountinfo", "%v", err))
	}
	h.mounts = askAll(list, time.After(answerWait), ask)
	var out []Finding
	for _, a := range h.mounts {
		out = append(out, a.finding(h.UID)...)
	}
	if len(list) == 0 {
		out = ok("no ctxfs is mounted")
	}
	return named("mounts", out)
}

// askAll asks all at once, and gives what each has said when it is over.
func askAll(list []mounts.Mount, over <-chan time.Time, ask func(mounts.Mount) asked) []asked {
	answers := make([]chan asked, len(list))
	for i, m := range list {
		answers[i] = make(chan asked, 1)
		go func() { answers[i] <- ask(m) }()
	}
	out := make([]asked, len(list))
	late := false
	for i, m := range list {
		if !late {
			select {
			case out[i] = <-answers[i]:
				continue
			case <-over:
				late = true
			}
		}
		select { // what is there was said in time
		case out[i] = <-answers[i]:
		default:
			out[i] = asked{Mount: m, err: errHangs}
		}
	}
	return out
}

func named(check string, list []Finding) []Finding {
	for i := range list {
		list[i].Check = check
	}
	return list
}

func ask(m mounts.Mount) asked {
	a := asked{Mount: m}
	if a.err = mounts.Stale(m.Point); a.err != nil {
		return a
	}
	a.status, a.err = mounts.Status(m.Point)
	return a
}

func (a asked) finding(uid int) []Finding {
	switch {
	case a.err == nil && !a.Believed(uid):
		return ok("%s serves %s, as user %d says; to look into that: %sctxfs doctor", a.Point, a.Store, a.UID, a.AsOwner())
	case a.err == nil:
		return ok("%s serves %s", a.Point, a.Store)
	case errors.Is(a.err, fs.ErrPermission):
		return ok("%s is another user's", a.Point)
	case errors.Is(a.err, mounts.ErrStale):
		return fail(mounts.FreeCommand(a.Point), "%s is stale: its daemon is gone", a.Point)
	case errors.Is(a.err, errHangs):
		return fail(mounts.FreeCommand(a.Point), "%s: no answer for %v: its daemon hangs, or is stopped", a.Point, answerWait)
	}
	return fail(mounts.FreeCommand(a.Point), "%v", a.err)
}

// proc is a file in /proc of the process that a mount's status names by key, where that is one of the user's who mounted it; else
// of no process.
func (a asked) proc(key, file string) string {
	pid, _ := a.Process(a.status[key]) // 0 where there is none
	return fmt.Sprintf("/proc/%d/%s", pid, file)
}

// version compares the program that serves with this one, and with what stands where it was started from.
func (h *Host) version(m asked) []Finding {
	mend := m.AsOwner() + "ctxfs upgrade " + mounts.Quote(m.Point)
	if is := m.status["version"]; is != h.Version {
		return warn(mend, "%s is served by ctxfs %s, this is %s", m.Point, is, h.Version)
	}
	exe, err := os.Readlink(m.proc("pid", "exe"))
	if err == nil && strings.HasSuffix(exe, " (deleted)") {
		return warn(mend, "%s is served by a program that is no more: %s", m.Point, strings.TrimSuffix(exe, " (deleted)"))
	}
	return ok("%s is served by this version, %s", m.Point, h.Version)
}

// enoughFiles is how many files a daemon may have open at least, for many users at work.
const enoughFiles = 4096

// openFiles looks at the daemon's RLIMIT_NOFILE (proc_pid_limits(5)).
func (h *Host) openFiles(m asked) []Finding {
	data, err := os.ReadFile(m.proc("worker", "limits")) // #nosec G304 -- of the kernel's
	if err != nil {
		return ok("%s: the limits of its daemon are not to be seen", m.Point)
	}
	for _, line := range strings.Split(string(data), "\n") {
		rest, found := strings.CutPrefix(line, "Max open files")
		if f := strings.Fields(rest); found && len(f) > 0 {
			if n, err := strconv.Atoi(f[0]); err == nil && n < enoughFiles {
				return warn(h.either("LimitNOFILE=65536 in the unit, or ", "")+"ulimit -n 65536 before ctxfs mount", "%s: its daemon may have only %d files open", m.Point, n)
			}
			return ok("%s: its daemon may have %s files open", m.Point, f[0])
		}
	}
	return ok("%s: its daemon has no limit of open files", m.Point)
}

// quota looks at what is left for the caller, whether the disk, the file system's quota or ctxfs's own says so.
func (h *Host) quota(m asked) []Finding {
	home := filepath.Join(m.Point, "home", strconv.Itoa(h.UID))
	var st unix.Statfs_t
	if err := unix.Statfs(home, &st); err != nil {
		return ok("%s: no home of yours yet", m.Point)
	}
	return room(home, st, 0, "ctxfs session delete, or ctxfs gc")
}

// littlePart of all is little: a twentieth.
const littlePart = 20

// room judges what a file system says of itself (statfs(2)): little are fewer bytes than least, and a small part of all, if that is
// less than 40 times least (of a quota, least is 0: any).
func room(what string, st unix.Statfs_t, least uint64, mend string) []Finding {
	left := st.Bavail * uint64(st.Bsize) // #nosec G115 -- a size
	switch {
	case st.Bavail == 0:
		return fail(mend, "%s: no space is left", what)
	case st.Files > 0 && st.Ffree == 0:
		return fail(mend, "%s: no file can be made any more (inodes)", what)
	case left < least, st.Bavail < st.Blocks/littlePart && (least == 0 || left < 40*least):
		return warn(mend, "%s: %s of %s left", what, size(left), size(st.Blocks*uint64(st.Bsize))) // #nosec G115 -- likewise
	case st.Files > 0 && st.Ffree < st.Files/littlePart:
		return warn(mend, "%s: %d of %d files left (inodes)", what, st.Ffree, st.Files)
	}
	return ok("%s: %s left", what, size(left))
}

func size(bytes uint64) string {
	switch {
	case bytes >= 10<<30:
		return fmt.Sprintf("%d GiB", bytes>>30)
	case bytes >= 10<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}
