package doctor

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"time"

	"ctxfs/internal/mounts"
	"ctxfs/internal/record"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// Times that tell.
const (
	clockSlack = time.Minute         // between the clocks of machines
	gcRests    = 14 * 24 * time.Hour // a timer comes every day
)

// clock looks for times that are not yet: a clock that went back makes sessions the newest that are not, and nothing of theirs is
// ever old enough for gc.
func (s *store) clock() []Finding {
	mend := s.host.either("timedatectl set-ntp true (or set the clock, if it is behind)", "set the clock: date -s 'YYYY-MM-DD hh:mm:ss', and have chronyd or ntpd keep it")
	now := time.Now()
	if exe, err := os.Executable(); err == nil {
		if st, err := os.Stat(exe); err == nil && st.ModTime().After(now.Add(clockSlack)) {
			return fail(mend, "the clock says %s, and this program was installed at %s", stamp(now), stamp(st.ModTime()))
		}
	}
	name, newest := s.newestLog()
	if newest.After(now.Add(clockSlack)) {
		return fail(mend, "the clock says %s, and %s was last written to at %s", stamp(now), name, stamp(newest))
	}
	if said := lastTime(name); said.After(now.Add(clockSlack)) {
		return fail(mend, "the clock says %s, and the last record of %s is of %s", stamp(now), name, stamp(said))
	}
	how := "by NTP"
	if state, err := unix.Adjtimex(&unix.Timex{}); err != nil || state == unix.TIME_ERROR {
		how = "by nobody that the kernel knows of"
	}
	return ok("no time in %s is in the future; the clock is kept right %s", s.path, how)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// newestLog gives the log that was written to last, as its file says.
func (s *store) newestLog() (name string, newest time.Time) {
	for _, pattern := range []string{"home/*/agent/*/session/*", "home/*/model/*/session/*", "shared/*/agent/*/session/*", "shared/*/model/*/session/*"} {
		dirs, _ := filepath.Glob(filepath.Join(s.path, pattern)) // the pattern is right
		for _, dir := range dirs {
			file := filepath.Join(dir, session.Messages)
			if st, err := os.Lstat(file); err == nil && st.ModTime().After(newest) {
				name, newest = file, st.ModTime()
			}
		}
	}
	return name, newest
}

// lastTime is what the last record of a log says of its time; zero where it says nothing.
func lastTime(name string) time.Time {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return time.Time{}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return time.Time{}
	}
	const tail = 64 << 10
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, st.Size()-tail), tail))
	if err != nil {
		return time.Time{}
	}
	line := bytes.TrimRight(data, "\n")
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	r, err := record.Parse(line, 1, 0)
	if err != nil {
		return time.Time{}
	}
	return r.Time
}

// quarantine counts what was refused and set aside.
func (s *store) quarantine() []Finding {
	n, dir := 0, ""
	for _, scope := range []string{"home", "shared"} {
		files, _ := filepath.Glob(filepath.Join(s.path, scope, "*", session.StateDir, "quarantine", "*")) // the pattern is right
		if n += len(files); len(files) > 0 {
			dir = filepath.Dir(files[0])
		}
	}
	if n > 0 {
		return warn("ls -l "+mounts.Quote(dir)+" (and rm what is of no use)", "%s: %d pieces were refused, and are kept in quarantine", s.path, n)
	}
	return ok("%s: nothing is in quarantine", s.path)
}

// gc looks when nothing was collected last, by the file that a collection has locked.
func (s *store) gc() []Finding {
	run := "ctxfs gc --store " + s.word
	mend := s.host.either("systemctl enable --now ctxfs-gc.timer (as a user: systemctl --user), or "+run, run+" (every night, by cron: 17 4 * * * "+run+")")
	if name, _ := s.newestLog(); name == "" {
		return ok("%s: no sessions yet", s.path)
	}
	st, err := os.Lstat(filepath.Join(s.path, session.StateDir, "gc.lock"))
	if err != nil {
		return warn(mend, "%s: gc has never run", s.path)
	}
	if age := time.Since(st.ModTime()); age > gcRests {
		return warn(mend, "%s: gc ran %d days ago", s.path, int(age.Hours()/24))
	}
	return ok("%s: gc ran at %s", s.path, stamp(st.ModTime()))
}
