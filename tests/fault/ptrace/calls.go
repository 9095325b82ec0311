//go:build linux && amd64

package ptrace

import "golang.org/x/sys/unix"

// kind says where a call has its file: what FD and Path of a Call are made of.
type kind struct {
	nr   uint64
	name string
	fd   int // argument with a descriptor, or with a directory's; -1: none
	path int // argument with a path; -1: none
	size int // argument with a count of bytes that may come out smaller; -1: none
	to   int // argument with the directory of a second path, which the next one is; -1: none
}

// kinds lists the calls that can be seen: those that change files, and those that read them.
func kinds() []kind {
	return []kind{
		{unix.SYS_READ, "read", 0, -1, 2, -1},
		{unix.SYS_PREAD64, "pread64", 0, -1, 2, -1},
		{unix.SYS_WRITE, "write", 0, -1, 2, -1},
		{unix.SYS_PWRITE64, "pwrite64", 0, -1, 2, -1},
		{unix.SYS_WRITEV, "writev", 0, -1, -1, -1},
		{unix.SYS_COPY_FILE_RANGE, "copy_file_range", 2, -1, 4, -1},
		{unix.SYS_SENDFILE, "sendfile", 0, -1, 3, -1},
		{unix.SYS_OPENAT, "openat", 0, 1, -1, -1},
		{unix.SYS_OPENAT2, "openat2", 0, 1, -1, -1},
		{unix.SYS_FSYNC, "fsync", 0, -1, -1, -1},
		{unix.SYS_FDATASYNC, "fdatasync", 0, -1, -1, -1},
		{unix.SYS_SYNC_FILE_RANGE, "sync_file_range", 0, -1, -1, -1},
		{unix.SYS_FTRUNCATE, "ftruncate", 0, -1, -1, -1},
		{unix.SYS_FALLOCATE, "fallocate", 0, -1, -1, -1},
		{unix.SYS_RENAMEAT, "renameat", 0, 1, -1, 2},
		{unix.SYS_RENAMEAT2, "renameat2", 0, 1, -1, 2},
		{unix.SYS_LINKAT, "linkat", 0, 1, -1, 2},
		{unix.SYS_SYMLINKAT, "symlinkat", 1, 2, -1, -1},
		{unix.SYS_UNLINKAT, "unlinkat", 0, 1, -1, -1},
		{unix.SYS_MKDIRAT, "mkdirat", 0, 1, -1, -1},
		{unix.SYS_FCHMOD, "fchmod", 0, -1, -1, -1},
		{unix.SYS_FCHMODAT, "fchmodat", 0, 1, -1, -1},
		{unix.SYS_FCHOWN, "fchown", 0, -1, -1, -1},
		{unix.SYS_FCHOWNAT, "fchownat", 0, 1, -1, -1},
		{unix.SYS_UTIMENSAT, "utimensat", 0, 1, -1, -1},
		{unix.SYS_GETDENTS64, "getdents64", 0, -1, -1, -1},
		{unix.SYS_FLOCK, "flock", 0, -1, -1, -1},
		{unix.SYS_FSTAT, "fstat", 0, -1, -1, -1},
		{unix.SYS_NEWFSTATAT, "newfstatat", 0, 1, -1, -1},
		{unix.SYS_MMAP, "mmap", 4, -1, -1, -1},
	}
}
