package main

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// obeyQuotas gives up CAP_SYS_RESOURCE: whoever has it may write past every quota, and what the daemon writes belongs to
// its users.
func obeyQuotas() error { return withoutCapability(unix.CAP_SYS_RESOURCE) }

// withoutCapability gives up one of the capabilities 0 to 31 for good, if this process has it, by running the program anew:
// capabilities are a thread's own, and only execve(2) takes one from all of them.
func withoutCapability(n uint) error {
	runtime.LockOSThread() // until the execve(2)
	defer runtime.UnlockOSThread()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	bit := uint32(1) << n
	if (caps[0].Effective|caps[0].Permitted)&bit == 0 {
		return nil
	}
	if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(n), 0, 0, 0); err != nil {
		return fmt.Errorf("give up capability %d: %w", n, err)
	}
	caps[0].Inheritable &^= bit
	if err := unix.Capset(&head, &caps[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return unix.Exec("/proc/self/exe", os.Args, os.Environ())
}
