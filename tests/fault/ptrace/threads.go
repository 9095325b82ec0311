//go:build linux && amd64

package ptrace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Group gives the processes of a process group, which each program of Start is, with what it started.
func Group(pgid int) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is good
	for _, p := range all {
		if f := stat(p); len(f) > 2 && f[2] == fmt.Sprint(pgid) {
			pid, _ := strconv.Atoi(filepath.Base(p)) // digits
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// stat gives proc_pid_stat(5) from the state on.
func stat(proc string) []string {
	line := text(proc, "stat")
	return strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
}

func text(proc, name string) string {
	b, _ := os.ReadFile(filepath.Join(proc, name)) // "": it has ended, or we may not
	return strings.TrimSpace(string(b))
}

// Threads says where each thread of a process stands: its state, system call and, to root, its stack in the kernel. It asks
// nothing but /proc, and so does not wait for them.
func Threads(pid int) string {
	var b strings.Builder
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	for _, t := range tasks {
		state, call := append(stat(t), "?")[0], text(t, "syscall")
		fmt.Fprintf(&b, "%d thread %s of %s: %s, call %s\n", pid, filepath.Base(t), text(t, "comm"), state, call)
		if strings.HasPrefix(call, fmt.Sprint(unix.SYS_FUTEX, " ")) {
			continue // idle
		}
		for i, line := range strings.Split(text(t, "stack"), "\n") {
			if _, fn, ok := strings.Cut(line, "] "); ok && i < 5 {
				fmt.Fprintf(&b, "\t%s\n", fn)
			}
		}
	}
	return b.String()
}
