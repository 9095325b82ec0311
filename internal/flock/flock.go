// Package flock takes locks of whole files, flock(2), and finds the process that has one.
package flock

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Held is the error of a lock that another open file has.
type Held struct {
	PID int // the process that took it; 0 when that is not known, or has ended
}

func (h *Held) Error() string { return "the file is locked" + h.By() }

// By names the process, to follow words that say what it holds; "" when it is not known.
func (h *Held) By() string {
	if h.PID == 0 {
		return ""
	}
	return fmt.Sprintf(": process %d", h.PID)
}

// Take takes an exclusive lock that lasts until f is closed, in every process that has it open. It does not wait: when another open
// file has a lock of the file, the error is a *Held.
func Take(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return err
	}
	held := &Held{}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err == nil {
		held.PID, _, _ = Holder(&st) // not known
	}
	return held
}

// Holder reports whether somebody has a lock of a file, and the process that took it, 0 when that has ended or is in a PID namespace
// that is not seen from here. Nothing is locked to find out. On file systems whose files have other device numbers than they
// themselves (Btrfs), no lock is found.
func Holder(st *unix.Stat_t) (pid int, held bool, err error) {
	data, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0, false, err
	}
	pid, held = find(string(data), fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino))
	if !Runs(pid) {
		pid = 0
	}
	return pid, held, nil
}

// find looks for a lock of file in the text of /proc/locks (proc_locks(5)). A line of one who waits has "->" before its kind.
func find(locks, file string) (pid int, held bool) {
	for line := range strings.Lines(locks) {
		f := strings.Fields(line)
		if len(f) >= 6 && f[1] == "FLOCK" && f[5] == file {
			pid, _ = strconv.Atoi(f[4]) // the kernel's own
			return max(pid, 0), true
		}
	}
	return 0, false
}

// Runs reports whether there is a process of that number.
func Runs(pid int) bool {
	return pid > 0 && !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}
