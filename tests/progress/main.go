// Command progress runs `go test -json` and shows how far it is: each package and each slow test when it ends, what failed with its
// output, and at the end what was skipped and why. Where stderr is a terminal, a line shows what runs now.
//
//	go run ./tests/progress go test [FLAG=VALUE]... PACKAGE...
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"
)

func main() {
	if len(os.Args) < 4 || os.Args[2] != "test" {
		fmt.Fprintln(os.Stderr, "usage: progress go test [FLAG=VALUE]... PACKAGE...")
		os.Exit(2)
	}
	v := newView(os.Stdout)
	if term.IsTerminal(int(os.Stderr.Fd())) {
		v.status = os.Stderr
	}
	code, err := v.run(os.Args[1], os.Args[3:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "progress: %v\n", err)
	}
	os.Exit(code)
}

// run runs the tests and returns the exit code of go test.
func (v *view) run(tool string, args []string) (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if v.total, err = packages(ctx, tool, args); err != nil {
		return 1, err
	}
	cmd := exec.CommandContext(ctx, tool, slices.Concat([]string{"test", "-json"}, args)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	err = v.follow(pipe)
	v.end()
	waited := cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(waited, &exit) {
		return max(exit.ExitCode(), 1), err
	}
	if err = errors.Join(err, waited); err != nil {
		return 1, err
	}
	return 0, nil
}

// packages returns how many packages the arguments of go test name.
func packages(ctx context.Context, tool string, args []string) (int, error) {
	names := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	cmd := exec.CommandContext(ctx, tool, slices.Concat([]string{"list"}, names)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return strings.Count(string(out), "\n"), err
}

// follow shows events until their end. A line that is no event is printed.
func (v *view) follow(in io.Reader) error {
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				v.take(e)
			} else {
				v.print(string(line))
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
