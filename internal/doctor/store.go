package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"ctxfs/internal/flock"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"
	"ctxfs/internal/verify"

	"golang.org/x/sys/unix"
)

// store is one store of the host.
type store struct {
	host  *Host
	path  string
	word  string // the path in a command
	uid   int    // of who asks
	point string // where it is mounted, "" when nowhere
}

// stores are those that were named, and those of mounts that are the caller's or root's.
func (h *Host) stores() []*store {
	var out []*store
	add := func(path, point string) {
		for _, s := range out {
			if s.path == path {
				s.point = either(s.point, point)
				return
			}
		}
		out = append(out, &store{host: h, path: path, word: mounts.Quote(path), uid: h.UID, point: point})
	}
	for _, p := range h.Stores {
		add(p, "")
	}
	for _, m := range h.mounts {
		if !m.Believed(h.UID) { // who looks would open, and be told to change, what another chose
			continue
		}
		if m.status != nil || slices.Contains(h.Stores, m.Store) {
			add(m.Store, m.Point)
		}
	}
	return out
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// reach tells why the store cannot be looked into; nothing when it can.
func (s *store) reach() []Finding {
	err := unix.Access(s.path, unix.R_OK|unix.X_OK)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ok("%s: no store yet", s.path)
	case err != nil && s.point != "":
		return ok("%s is root's: sudo ctxfs doctor looks into it", s.path)
	}
	return nil
}

func (s *store) checks() []check {
	return []check{
		{"permissions", answerWait, s.permissions}, {"writable", answerWait, s.writable}, {"space", answerWait, s.space}, {"lock", answerWait, s.lock},
		{"clock", answerWait, s.clock}, {"quarantine", answerWait, s.quarantine}, {"gc", answerWait, s.gc}, {"content", verifyWait + answerWait, s.content},
	}
}

// permissions holds the store's folders against what the daemon makes them (session: storeMode).
func (s *store) permissions() []Finding {
	var st unix.Stat_t
	if err := unix.Stat(s.path, &st); err != nil {
		return fail("ls -ld "+s.word, "%s: %v", s.path, err)
	}
	mode := "700"
	if st.Uid == 0 {
		mode = "711"
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fail("choose another with --store", "%s is no folder", s.path)
	case s.uid != 0 && int(st.Uid) != s.uid:
		return fail("choose your own with --store, or: chown -R "+strconv.Itoa(s.uid)+" "+s.word, "%s belongs to user %d", s.path, st.Uid)
	case st.Mode&0o022 != 0:
		return fail("chmod "+mode+" "+s.word, "%s: others may write to it (mode %o)", s.path, st.Mode&0o7777)
	case st.Mode&0o700 != 0o700:
		return fail("chmod "+mode+" "+s.word, "%s: its owner may not use it (mode %o)", s.path, st.Mode&0o7777)
	case st.Mode&0o044 != 0 || st.Uid != 0 && st.Mode&0o011 != 0:
		return warn("chmod "+mode+" "+s.word, "%s: others can look into it (mode %o)", s.path, st.Mode&0o7777)
	}
	if out := s.homes(st.Uid); out != nil {
		return out
	}
	return ok("%s belongs to user %d, mode %o", s.path, st.Uid, st.Mode&0o7777)
}

// homes looks whether each home in the store is its user's. In a store of one user all are that user's.
func (s *store) homes(owner uint32) []Finding {
	entries, err := os.ReadDir(filepath.Join(s.path, "home"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail("ls -la "+s.word, "%v", err)
	}
	var out []Finding
	for _, e := range entries {
		uid, err := strconv.ParseUint(e.Name(), 10, 32)
		if err != nil {
			continue
		}
		if owner != 0 {
			uid = uint64(owner)
		}
		dir := filepath.Join(s.path, "home", e.Name())
		var st unix.Stat_t
		if err := unix.Lstat(dir, &st); err == nil && uint64(st.Uid) != uid {
			out = append(out, fail(fmt.Sprintf("chown -R %d %s", uid, mounts.Quote(dir)), "%s belongs to user %d: its user has no part in it", dir, st.Uid)...)
		}
	}
	return out
}

// writable writes a file that has no name: what a disk, a quota or a mount that is read-only says to it. Nothing of it stays.
func (s *store) writable() []Finding {
	fd, err := unix.Open(s.path, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) {
		return ok("%s: the file system makes no file without a name, and was not tried", s.path)
	}
	if err == nil {
		defer unix.Close(fd)
		_, err = unix.Write(fd, make([]byte, 64<<10))
	}
	switch {
	case errors.Is(err, unix.ENOSPC):
		return fail("ctxfs gc --store "+s.word, "%s: the disk is full", s.path)
	case errors.Is(err, unix.EDQUOT):
		return fail("ctxfs gc --store "+s.word+", or ask for more", "%s: the quota is used up", s.path)
	case errors.Is(err, unix.EROFS):
		return fail("mount -o remount,rw "+s.word, "%s: the file system is read-only", s.path)
	case err != nil:
		return fail("ls -ld "+s.word, "%s: it cannot be written to: %v", s.path, err)
	}
	return ok("%s can be written to", s.path)
}

// littleBytes of a disk are little, however large it is.
const littleBytes = 256 << 20

func (s *store) space() []Finding {
	var st unix.Statfs_t
	if err := unix.Statfs(s.path, &st); err != nil {
		return fail("df "+s.word, "%s: %v", s.path, err)
	}
	return room(s.path, st, littleBytes, "ctxfs gc --store "+s.word)
}

// lock tells who holds the store (proc_locks(5)): trying to take the lock could keep a daemon from it that starts just then.
func (s *store) lock() []Finding {
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(s.path, session.StateDir, "lock"), &st); err != nil {
		return ok("%s: nobody holds it", s.path)
	}
	pid, held, err := flock.Holder(&st)
	switch {
	case err != nil:
		return ok("%s: who holds it is not to be seen", s.path)
	case !held:
		return ok("%s: nobody holds it", s.path)
	case s.point != "":
		return ok("%s: the daemon of %s holds it", s.path, s.point)
	case pid == 0:
		return fail("look for it in the containers of this host", "%s: a process that is not to be seen from here holds it, and no mount of it is here", s.path)
	}
	return fail("ps -fp "+strconv.Itoa(pid), "%s: process %d holds it, and no mount of it is here: perhaps in a container", s.path, pid)
}

// content opens the store, and reads as much of it as there is time for.
func (s *store) content() []Finding {
	st, err := session.Open(s.path, session.Options{ReadOnly: true})
	if err != nil {
		return fail("ctxfs verify --store "+s.word, "%v", err)
	}
	return s.verified(st)
}

func (s *store) verified(st *session.Store) []Finding {
	type answer struct {
		r   *verify.Report
		err error
	}
	done := make(chan answer, 1)
	go func() {
		r, err := verify.Store(st, nil)
		done <- answer{r, errors.Join(err, st.Close())}
	}()
	a, late := answer{}, false
	select {
	case a = <-done:
	case <-time.After(verifyWait):
		late = true
	}
	mend := "ctxfs verify --store " + s.word
	switch {
	case late:
		return ok("%s: it is too large to be read in %v: %s reads all of it", s.path, verifyWait, mend)
	case a.err != nil:
		return fail(mend, "%v", a.err)
	case len(a.r.Problems) == 0:
		return ok("%s: %d sessions, %d records, as they should be", s.path, a.r.Sessions, a.r.Records)
	}
	if s.point == "" && !slices.ContainsFunc(a.r.Problems, func(p verify.Problem) bool { return !p.Repairable }) {
		mend += " --repair"
	}
	return fail(mend, "%s: %d problems, the first: %s: %s", s.path, len(a.r.Problems), a.r.Problems[0].Path, a.r.Problems[0].Text)
}
