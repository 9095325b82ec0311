// Command ctxfs mounts the sessions of AI agents as plain files and builds context packs from them.
package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(os.Args, os.Stdout, os.Stderr))
}

// run is the whole program: it gives the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	if isHelper(args[0]) {
		return runHelper(args, stdout, stderr)
	}
	root := newRoot(args[0])
	if len(args) > 1 && (args[1] == cobra.ShellCompRequestCmd || args[1] == cobra.ShellCompNoDescRequestCmd) {
		completeAll(root)
	}
	root.SetArgs(mountHelperArgs(root, args[1:]))
	root.SetOut(stdout)
	root.SetErr(stderr)
	return exitCode(root.Execute(), stderr)
}
