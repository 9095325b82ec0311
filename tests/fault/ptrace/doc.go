// Package ptrace runs a program under ptrace(2) and lets a handler see, fail and shorten chosen system calls of all its
// threads and children, with the functions that made each. A seccomp filter (SECCOMP_RET_TRACE) picks the calls, so that
// others cost nothing. Linux on amd64 only, and Go programs: their frame pointers give the call stack.
package ptrace
