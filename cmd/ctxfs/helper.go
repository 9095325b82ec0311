package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
)

// The exit codes of a helper of mount(8) are those of mount(8) itself (EXIT STATUS).
const (
	helperUsage  = 1  // incorrect invocation, or permissions
	helperFailed = 32 // mount failure
)

// isHelper tells whether mount(8) calls this program, as /sbin/mount.TYPE.
func isHelper(program string) bool {
	return slices.Contains([]string{"mount.ctxfs", "mount.fuse.ctxfs"}, filepath.Base(program))
}

// helperFlags are what mount(8) hands a helper (EXTERNAL HELPERS).
type helperFlags struct {
	options                       []string
	sloppy, fake, verbose, noMtab bool
	types, namespace              string
}

// runHelper is the program as mount(8) calls it. From here on it is `ctxfs mount` with the arguments that say the same: so do
// ps(1) and the daemon that runs this program again.
func runHelper(args []string, stdout, stderr io.Writer) int {
	var f helperFlags
	cmd := f.command(filepath.Base(args[0]))
	cmd.RunE = func(_ *cobra.Command, of []string) error {
		call, err := f.call(of[0], of[1])
		if err != nil {
			return err
		}
		os.Args = call
		if code := run(call, stdout, stderr); code != exitOK {
			return childError{code: code}
		}
		if f.verbose {
			fmt.Fprintf(stdout, "%s: %s mounted on %s.\n", cmd.Name(), of[0], of[1])
		}
		return nil
	}
	cmd.SetArgs(args[1:])
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.Execute()
	var told childError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &told) && told.code == exitUsage:
		return helperUsage
	case errors.As(err, &told):
		return helperFailed
	}
	fmt.Fprintln(stderr, cmd.Name()+":", printable(err.Error()))
	return helperUsage
}

func (f *helperFlags) command(name string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name + " STORE MOUNTPOINT",
		Short: "mount a ctxfs, for mount(8) and /etc/fstab",
		Long: `Serve the store STORE at MOUNTPOINT in the background, for mount(8): types ctxfs and fuse.ctxfs. The options are those of
ctxfs mount -o. A STORE that is no absolute path, like "ctxfs", stands for the default store.

Exit codes are mount(8)'s: 0 mounted, 1 the call is wrong, 32 it could not be mounted; stderr says why.`,
		Example:      "  mount -t ctxfs /var/lib/ctxfs /ctx -o allow_other,budget=8000\n  /var/lib/ctxfs  /ctx  ctxfs  allow_other,nosuid,nodev,nofail  0  0     (a line of /etc/fstab)",
		SilenceUsage: true, SilenceErrors: true, Args: exactArgs(2),
	}
	cmd.SetFlagErrorFunc(flagError)
	fl := cmd.Flags()
	fl.StringSliceVarP(&f.options, "options", "o", nil, "options, with commas between")
	fl.BoolVarP(&f.sloppy, "sloppy", "s", false, "pass over options that are not known")
	fl.BoolVarP(&f.fake, "fake", "f", false, "look whether it could be mounted, and mount nothing")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "say what was mounted where")
	fl.BoolVarP(&f.noMtab, "no-mtab", "n", false, "do not write /etc/mtab, which is never written")
	fl.StringVarP(&f.types, "types", "t", "", "the type that was asked for")
	fl.StringVarP(&f.namespace, "namespace", "N", "", "mount in that namespace: not possible")
	return cmd
}

// call gives the call of ctxfs mount that does what the helper was asked.
func (f *helperFlags) call(store, point string) ([]string, error) {
	if f.namespace != "" {
		return nil, fmt.Errorf("-N: not possible; try: nsenter --mount=%s mount -t ctxfs %s %s", f.namespace, store, point)
	}
	out := []string{"ctxfs", "mount", point, "--background"}
	if filepath.IsAbs(store) {
		out = append(out, "--store", store)
	}
	if f.fake {
		out = append(out, "--fake")
	}
	for _, o := range f.options {
		if f.sloppy && errors.As(new(mountFlags).option(o), new(unknownOption)) {
			continue
		}
		out = append(out, "-o", o)
	}
	return out, nil
}
