package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"ctxfs/internal/mounts"

	"github.com/spf13/cobra"
)

func newStatus() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status [MOUNTPOINT]", Short: "show what a mount is and did; without a mountpoint, all mounts",
		Example: "  ctxfs status\n  ctxfs status /ctx --json", Args: atMostOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			points, err := statusPoints(args)
			if err != nil {
				return err
			}
			return showStatus(cmd, points, len(args) == 0, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: a list of mounts")
	return cmd
}

func statusPoints(args []string) ([]string, error) {
	if len(args) == 1 {
		return args, nil
	}
	list, err := mounts.List()
	if err != nil {
		return nil, err
	}
	var points []string
	for _, m := range list {
		if m.LetsIn(os.Geteuid()) { // the kernel tells nothing of others
			points = append(points, m.Point)
		}
	}
	if len(points) == 0 {
		return nil, noMount{}
	}
	return points, nil
}

// showStatus shows every mount that answers, and reports the others: they may be stale, or another user's. Of mounts that
// were listed, one that was unmounted since is left out.
func showStatus(cmd *cobra.Command, points []string, listed, asJSON bool) error {
	out := cmd.OutOrStdout()
	all := []map[string]any{}
	var errs []error
	for _, p := range points {
		kv, text, err := oneStatus(p)
		if err != nil {
			if !listed || !unmounted(p) {
				errs = append(errs, err)
			}
			continue
		}
		if !asJSON && len(all) > 0 {
			fmt.Fprintln(out)
		}
		if !asJSON {
			errs = append(errs, show(out, []byte(text)))
		}
		all = append(all, withNumbers(kv))
	}
	if asJSON {
		errs = append(errs, printJSON(out, all))
	}
	return errors.Join(errs...)
}

// unmounted reports whether no ctxfs is mounted at point. What cannot be found out counts as no.
func unmounted(point string) bool {
	list, err := mounts.List()
	return err == nil && !slices.ContainsFunc(list, func(m mounts.Mount) bool { return m.Point == point })
}

// answerWait is how long a mount may take to say what it is.
const answerWait = 3 * time.Second

// oneStatus asks a mount. One that hangs would have whoever asks it hang too.
func oneStatus(point string) (map[string]string, string, error) {
	type answer struct {
		data []byte
		err  error
	}
	said := make(chan answer, 1)
	go func() {
		point := mounts.Real(point)
		err := mountError(point)
		var data []byte
		if err == nil {
			data, err = mounts.ReadStatus(point)
		}
		said <- answer{data, err}
	}()
	select {
	case a := <-said:
		return mounts.ParseStatus(a.data), string(a.data), a.err
	case <-time.After(answerWait):
		return nil, "", fmt.Errorf("%s: no answer for %v: its daemon hangs, or is stopped (see its log; to take the mount away: %s)", point, answerWait, mounts.FreeCommand(point))
	}
}

// withNumbers makes numbers of the values that are numbers, for programs that read JSON.
func withNumbers(kv map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range kv {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			out[k] = n
		} else {
			out[k] = v
		}
	}
	return out
}
