package main

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"ctxfs/internal/fsnode"
	"ctxfs/internal/mounts"
	"ctxfs/internal/supervise"
)

// supervise mounts, and keeps a worker running that serves the mount, until that is taken away.
func (m *mountFlags) supervise(log *slog.Logger, point string) error {
	from, err := stateBefore()
	if err != nil {
		return err
	}
	notify, err := supervise.NotifyTo(os.Getenv("NOTIFY_SOCKET"))
	if err != nil {
		return err
	}
	if m.store, err = filepath.Abs(m.store); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil { // a daemon keeps no other file system busy
		return err
	}
	quit, renew := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(renew, syscall.SIGUSR2)
	mounted := len(from.Files) > 0
	next := &renewal{program: program, args: append([]string{os.Args[0]}, m.args(point)...), quit: quit, renew: renew}
	s := &supervise.Supervisor{Log: log, Quit: quit, Renew: renew, Notify: notify,
		Command: func() *exec.Cmd { return m.workerCommand(program, point) },
		Mount: func() (*os.File, error) {
			dev, err := supervise.Mount(supervise.MountOptions{Point: point, Source: m.store, AllowOther: m.allowOther, Options: m.kernel, MaxRead: fsnode.MaxRead})
			mounted = err == nil
			return dev, err
		},
		Ready: func() {
			if m.background {
				log.Info("serving", "store", m.store, "mountpoint", point, "version", version)
			} else {
				log.Info("serving; end with Ctrl-C or: ctxfs umount MOUNTPOINT", "store", m.store, "mountpoint", point)
			}
			tellReady(nil)
		},
		Try: next.try, Exec: next.run,
	}
	if from.Worker != 0 {
		s.Ready = nil // it was told
	}
	err = s.Run(from)
	if err != nil && mounted {
		_ = mounts.Unmount(point, true) // nobody serves it any more; programs that have files open see ENOTCONN
	}
	var failure *supervise.Failure
	if errors.As(err, &failure) {
		return childError{text: err.Error(), code: failure.Code}
	}
	return err
}

// heldBySystemd gives what systemd holds of a mount that is still there.
func heldBySystemd() (supervise.State, bool) {
	s, ok := supervise.Inherited(os.Getpid(), os.Getenv)
	return s, ok && s.Alive()
}

// args are those of `ctxfs mount` for the same mount, wherever this process stands.
func (m *mountFlags) args(point string) []string {
	args := []string{"mount", point, "--store", m.store, "--budget", strconv.Itoa(m.budget), "--sync", m.sync, "--log-reads", m.reads}
	if m.tokenizer != "" {
		args = append(args, "--tokenizer", m.tokenizer)
	}
	if m.quota != "" {
		args = append(args, "--quota", m.quota)
	}
	if m.space.Files != 0 {
		args = append(args, "--quota-files", strconv.FormatInt(m.space.Files, 10))
	}
	if m.metrics != "" {
		args = append(args, "--metrics", m.metrics)
	}
	args = append(args, m.log.args()...)
	if m.allowOther {
		args = append(args, "--allow-other")
	}
	if m.background {
		args = append(args, "--background")
	}
	if m.debug {
		args = append(args, "--debug")
	}
	for _, o := range m.kernel {
		args = append(args, "-o", o)
	}
	return args
}

// workerCommand runs this same program as a worker.
func (m *mountFlags) workerCommand(program, point string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", m.args(point)...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), workerEnv+"="+program)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}
