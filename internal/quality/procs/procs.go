// Package procs tells what a process and those that it started take of the machine, for measurements: proc(5). It knows no other
// package.
package procs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tree gives the process, and those that it started, and they.
func tree(pid int) []int {
	all := []int{pid}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // gone: none
	for _, f := range files {
		data, _ := os.ReadFile(f) // gone: none
		for _, word := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(word); err == nil {
				all = append(all, tree(child)...)
			}
		}
	}
	return all
}

// Memory is the resident memory of a process and those that it started, of which anonymous is what they made themselves, in bytes.
// Of a process that is gone it is 0.
func Memory(pid int) (all, anonymous int64) {
	for _, p := range tree(pid) {
		file := fmt.Sprintf("/proc/%d/status", p)
		all += status(file, "VmRSS") << 10
		anonymous += status(file, "RssAnon") << 10
	}
	return all, anonymous
}

// Wakeups is how often their threads were given a processor so far.
func Wakeups(pid int) (sum int64) {
	for _, p := range tree(pid) {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p)) // gone: none
		for _, f := range files {
			sum += status(f, "voluntary_ctxt_switches") + status(f, "nonvoluntary_ctxt_switches")
		}
	}
	return sum
}

func status(file, field string) (n int64) {
	data, _ := os.ReadFile(file) // gone: 0
	_, rest, _ := strings.Cut(string(data), "\n"+field+":")
	_, _ = fmt.Sscan(rest, &n)
	return n
}
