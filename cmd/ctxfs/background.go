package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// readyEnv tells a child that its parent waits at file descriptor 3 for word that the mount is ready.
const readyEnv = "CTXFS_READY_FD"

// inBackground runs this same command again as a daemon in a session of its own, and returns when its mount is ready.
// What the daemon prints goes to <store>/.ctxfs/daemon.log.
func inBackground(cmd *cobra.Command, store string) error {
	if err := os.MkdirAll(filepath.Join(store, ".ctxfs"), 0o700); err != nil {
		return fmt.Errorf("store %s: %w (name another with --store)", store, err)
	}
	logFile, err := os.OpenFile(filepath.Join(store, ".ctxfs", "daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer logFile.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	child := exec.Command("/proc/self/exe", os.Args[1:]...)
	child.Args[0] = os.Args[0]
	child.Env = append(os.Environ(), readyEnv+"=3")
	child.Stdout, child.Stderr, child.ExtraFiles = logFile, logFile, []*os.File{w}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		w.Close()
		return err
	}
	w.Close()
	word, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if s := string(word); s != "ready" {
		code := exitFailed
		if xerr := (*exec.ExitError)(nil); errors.As(child.Wait(), &xerr) {
			code = xerr.ExitCode()
		}
		return childError{text: strings.TrimSpace(s), code: code}
	}
	return child.Process.Release()
}

// childError is what a daemon said before it gave up, with its exit code.
type childError struct {
	text string
	code int
}

func (e childError) Error() string {
	if e.text == "" {
		return "the daemon ended before its mount was ready"
	}
	return e.text
}

// tellReady tells the parent, if one waits, that the mount is ready or why it is not. The first word counts.
func tellReady(err error) {
	if os.Getenv(readyEnv) == "" {
		return
	}
	os.Unsetenv(readyEnv)
	f := os.NewFile(3, "ready")
	defer f.Close()
	if err != nil {
		fmt.Fprint(f, err)
		return
	}
	fmt.Fprint(f, "ready")
}
