package main

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// needed are the capabilities that a daemon for all users works with: to mount and to hand the kernel files to read from
// (SYS_ADMIN), to work in folders that only their users may enter (DAC_OVERRIDE), to give files to them (CHOWN, FOWNER, FSETID),
// and to act as a user where the kernel is to decide for them (SETUID, SETGID). Among those that it gives up is SYS_RESOURCE:
// whoever has that may write past every quota, and what the daemon writes belongs to its users.
func needed() uint64 {
	return 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
		1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID
}

// keptEnv tells a program that it was run anew to have less capabilities.
const keptEnv = "CTXFS_CAPABILITIES_KEPT"

// keepCapabilities gives up all other capabilities than those in the set keep (1<<CAP_X) for good, and with CAP_SYS_ADMIN, for
// which root needs no help of fusermount3(1), also what programs could gain by execve(2) (PR_SET_NO_NEW_PRIVS). It runs the
// program anew: capabilities are a thread's own, and only execve(2) takes one from all of them. It does so once: to root without
// CAP_SETPCAP and CAP_SYS_ADMIN, who can change neither the bounding set nor what it means, execve(2) gives them back.
func keepCapabilities(keep uint64) error {
	if os.Getenv(keptEnv) != "" {
		return os.Unsetenv(keptEnv)
	}
	runtime.LockOSThread() // until the execve(2)
	defer runtime.UnlockOSThread()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	has := uint64(caps[1].Permitted)<<32 | uint64(caps[0].Permitted)
	if has&^keep == 0 {
		return nil
	}
	if has&(1<<unix.CAP_SYS_ADMIN) != 0 && os.Geteuid() == 0 {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("no new privileges: %w", err)
		}
	}
	for n := range uint(64) {
		if has&^keep&(1<<n) == 0 {
			continue
		}
		// Without CAP_SETPCAP the bounding set stays: a login may give an ordinary user one capability (pam_systemd).
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(n), 0, 0, 0); err != nil && err != unix.EPERM {
			return fmt.Errorf("give up capability %d: %w", n, err)
		}
	}
	for i := range caps {
		left := uint32(keep >> (32 * i))
		caps[i].Effective &= left
		caps[i].Permitted &= left
		caps[i].Inheritable &= left
	}
	if err := unix.Capset(&head, &caps[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), keptEnv+"=1"))
}
