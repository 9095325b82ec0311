package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// processes are the process and those that it started, and they.
func processes(pid int) []int {
	all := []int{pid}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // gone: none
	for _, f := range files {
		data, _ := os.ReadFile(f) // gone: none
		for _, word := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(word); err == nil {
				all = append(all, processes(child)...)
			}
		}
	}
	return all
}

// status sums a field of /proc/PID/status over a daemon's processes.
func (p *peer) status(field string) (sum int64) {
	for _, pid := range processes(p.server.Process.Pid) {
		sum += statusField(fmt.Sprintf("/proc/%d/status", pid), field)
	}
	return sum
}

func statusField(file, field string) (n int64) {
	data, _ := os.ReadFile(file) // gone: 0
	_, rest, _ := strings.Cut(string(data), "\n"+field+":")
	_, _ = fmt.Sscan(rest, &n)
	return n
}

// resident is the daemon's resident memory, of which anonymous is what it made itself, in bytes.
func (p *peer) resident() (all, anonymous int64) {
	return p.status("VmRSS") << 10, p.status("RssAnon") << 10
}

// wakeups is how often threads of the daemon were given a processor so far.
func (p *peer) wakeups() (sum int64) {
	for _, pid := range processes(p.server.Process.Pid) {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid)) // gone: none
		for _, f := range files {
			sum += statusField(f, "voluntary_ctxt_switches") + statusField(f, "nonvoluntary_ctxt_switches")
		}
	}
	return sum
}
