package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"ctxfs/internal/keep"
	"ctxfs/internal/supervise"

	"golang.org/x/sys/unix"
)

// renewEnv holds the supervise.State of the program whose place this one takes, in JSON, or the number of a descriptor from which
// that is read.
const renewEnv = "CTXFS_RENEW"

// maxInEnv is how long a state is at most that renewEnv holds itself, in bytes: execve(2) takes 128 KiB.
const maxInEnv = 100 << 10

// renewByFile is what `version --json` says under "renew" of a program that reads its state from a descriptor too.
const renewByFile = "file"

// tryTime is how long a program that is tried may take to tell its version.
const tryTime = 10 * time.Second

// renewed tells whether this program takes the place of another one in the same process.
func renewed() bool { return os.Getenv(renewEnv) != "" }

// stateBefore gives what there is to go on with: of the program whose place this one takes, or, after a supervisor that died,
// what systemd holds.
func stateBefore() (from supervise.State, err error) {
	if text := os.Getenv(renewEnv); text != "" {
		os.Unsetenv(renewEnv)
		return readState(text)
	}
	held, ok := heldBySystemd()
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(name)
	}
	if ok {
		from = held
	}
	return from, nil
}

// readState reads renewEnv's value.
func readState(text string) (from supervise.State, err error) {
	fd, err := strconv.Atoi(text)
	if err != nil {
		return from, json.Unmarshal([]byte(text), &from)
	}
	f := os.NewFile(uintptr(fd), renewEnv)
	defer f.Close()
	return from, json.NewDecoder(io.NewSectionReader(f, 0, math.MaxInt64)).Decode(&from)
}

// writeState gives renewEnv's value, and the file that it names, if any. A program that does not read such a file is handed what
// fits without.
func writeState(st supervise.State, byFile bool) (text string, f *os.File, err error) {
	data, err := json.Marshal(st)
	if err != nil || len(data) <= maxInEnv {
		return string(data), nil, err
	}
	if !byFile {
		return "", nil, fmt.Errorf("%d files are held for whoever has them open, more than the program can be handed: upgrade when fewer are open, or unmount and mount again", len(st.Files))
	}
	fd, err := unix.MemfdCreate("ctxfs state", 0) // which execve(2) keeps
	if err != nil {
		return "", nil, os.NewSyscallError("memfd_create", err)
	}
	f = os.NewFile(uintptr(fd), "ctxfs state")
	if _, err := f.Write(data); err != nil {
		return "", nil, errors.Join(err, f.Close())
	}
	return strconv.Itoa(fd), f, nil
}

// tryProgram asks a program for its version. An error tells that it cannot go on with a mount of this one: it does not run, or keeps
// open files in another way.
func tryProgram(program string) (told map[string]string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), tryTime)
	defer cancel()
	ask := exec.CommandContext(ctx, program, "version", "--json") // #nosec G204 -- the program that this one was started from
	ask.Args[0] = "ctxfs"                                         // which also a copy of it is that is named mount.ctxfs
	ask.WaitDelay = time.Second                                   // for who else has its output
	out, err := ask.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s version: no answer within %v", program, tryTime)
	}
	if err != nil {
		return nil, fmt.Errorf("%s version: %w", program, err)
	}
	if err := json.Unmarshal(out, &told); err != nil {
		return nil, fmt.Errorf("%s version: %w", program, err)
	}
	if told["open_files"] != keep.Layout {
		return nil, fmt.Errorf("%s keeps open files in another way (%q, here %q): unmount and mount again", program, told["open_files"], keep.Layout)
	}
	return told, nil
}

// renewal runs the program that stands now where this one was started from, in this one's place.
type renewal struct {
	program string
	args    []string
	quit    <-chan os.Signal
	renew   chan os.Signal // which SIGUSR2 is put into
	byFile  bool           // the program that was tried takes a state in a file
}

// try is first: a program that does not run would lose the mount.
func (r *renewal) try() error {
	told, err := tryProgram(r.program)
	r.byFile = told["renew"] == renewByFile
	return err
}

// run becomes the program. A signal to end that has come is heeded first: execve(2) would lose it. (One that comes within the
// execve(2) ends the supervisor, and the mount with it: the runtime lets nobody hold it back.)
func (r *renewal) run(st supervise.State) error {
	text, f, err := writeState(st, r.byFile)
	if err != nil {
		return err
	}
	if f != nil {
		defer f.Close()
	}
	signal.Ignore(syscall.SIGUSR2) // until the new program listens: another one would kill it
	defer signal.Notify(r.renew, syscall.SIGUSR2)
	if len(r.quit) > 0 {
		return supervise.ErrEnding
	}
	return syscall.Exec(r.program, r.args, append(os.Environ(), renewEnv+"="+text))
}
