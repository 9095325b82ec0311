package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// machine says where and with what was measured.
func (b *bench) machine() string {
	var u unix.Utsname
	_ = unix.Uname(&u) // fails for a wrong argument only
	var s strings.Builder
	fmt.Fprintf(&s, "- machine: %s, %d cores, %s of memory\n", field("/proc/cpuinfo", "model name"), runtime.NumCPU(), field("/proc/meminfo", "MemTotal"))
	fmt.Fprintf(&s, "- kernel: Linux %s; file system of the store: %s\n", unix.ByteSliceToString(u.Release[:]), said("findmnt", "-no", "FSTYPE", "-T", b.work))
	fmt.Fprintf(&s, "- ctxfs: %s\n", said(b.ctxfs, "version"))
	fmt.Fprintf(&s, "- loopback: example/loopback of go-fuse %s\n", said("go", "list", "-m", "-f", "{{.Version}}", "github.com/hanwen/go-fuse/v2"))
	for _, p := range []string{"bindfs", "mergerfs"} {
		if _, err := exec.LookPath(p); err == nil {
			fmt.Fprintf(&s, "- %s: %s\n", p, said(p, "--version"))
		}
	}
	fmt.Fprintf(&s, "- runs: the median of %d; ratios are medians of the ratios of each round\n", b.runs)
	return s.String()
}

func field(file, name string) string {
	data, _ := os.ReadFile(file) // not there: unknown
	_, rest, _ := strings.Cut(string(data), name)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Trim(line, ": \t")
}

// said is the first line that a command prints.
func said(argv ...string) string {
	out, _ := exec.Command(argv[0], argv[1:]...).CombinedOutput() // what it said is all there is to know
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}
