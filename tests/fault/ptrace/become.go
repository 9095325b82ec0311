//go:build linux && amd64

package ptrace

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// becomeEnv names the calls that a process of Start is to be stopped at.
const becomeEnv = "CTXFS_PTRACE_CALLS"

// Become turns this process into the program that Start was asked for, when it is one of Start's; else it does nothing.
// A test's TestMain calls it first: Start runs the test's own executable, which sets the filter that its program keeps.
func Become() error {
	list, ok := os.LookupEnv(becomeEnv)
	if !ok {
		return nil
	}
	os.Unsetenv(becomeEnv)
	runtime.LockOSThread() // the filter is this thread's, and so is the exec
	if err := setFilter(list); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
}

// setFilter has the calls of those numbers (decimal, with commas between) stop for the tracer.
func setFilter(list string) error {
	const nrOffset = 0 // of struct seccomp_data
	prog := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: nrOffset}}
	for _, s := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		nr, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			return err
		}
		prog = append(prog,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(nr)},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRACE})
	}
	prog = append(prog, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	if no != 0 {
		return no
	}
	return nil
}
