package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"ctxfs/internal/mounts"

	"github.com/spf13/cobra"
)

func newUpgrade() *cobra.Command {
	return &cobra.Command{
		Use: "upgrade [MOUNTPOINT]", Short: "have a mount served by the program that is installed now; open files stay open",
		Long: `Have the daemon of a mount run the program that stands now where it was started from. Nothing is unmounted: whoever
uses the mount sees a pause of some milliseconds. Connections to sockets are closed; clients connect again. Only the user who mounted
it can do so: the program that runs is theirs.`,
		Example: "  make install && ctxfs upgrade /ctx", Args: atMostOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			named := ""
			if len(args) == 1 {
				named = args[0]
			}
			point, err := pickMount(named)
			if err != nil {
				return err
			}
			before, after, err := upgrade(point)
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: ctxfs %s serves on in place of %s\n", point, after, before)
			}
			return err
		},
	}
}

// upgradeWait is how long a new program may take to serve.
const upgradeWait = 20 * time.Second

func upgrade(point string) (before, after string, err error) {
	m, err := ownMount(point)
	if err != nil {
		return "", "", err
	}
	was, err := mounts.Status(point)
	if err != nil {
		return "", "", err
	}
	pid, err := m.Process(was["pid"])
	if err != nil || was["program"] == "" {
		return "", "", errors.Join(fmt.Errorf("%s: its daemon cannot be replaced while it runs: unmount and mount again", point), err)
	}
	if err := canRenew(was["program"]); err != nil {
		return "", "", err
	}
	if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil {
		return "", "", fmt.Errorf("process %d: %w", pid, err)
	}
	for end := time.Now().Add(upgradeWait); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		is, err := mounts.Status(point)
		if err != nil {
			return "", "", err
		}
		if is["workers"] != was["workers"] {
			return was["version"], is["version"], nil
		}
	}
	return "", "", fmt.Errorf("%s: its daemon did not take %s: its log says why", point, was["program"])
}

// ownMount gives a mount that the caller made. What another's status calls program and pid is that user's to choose, and would be run,
// and sent a signal, by the caller.
func ownMount(point string) (mounts.Mount, error) {
	m, ok, err := mounts.At(point)
	if err != nil {
		return m, err
	}
	if !ok || m.Point != point {
		return m, noMount{point: point}
	}
	if m.UID != os.Geteuid() {
		return m, fmt.Errorf("%s is user %d's; have it renewed by its user: %sctxfs upgrade %s", point, m.UID, m.AsOwner(), mounts.Quote(point))
	}
	return m, nil
}

// canRenew tells, by an error, that a program cannot go on with a mount of this one.
func canRenew(program string) error {
	_, err := tryProgram(program)
	return err
}
