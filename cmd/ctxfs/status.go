package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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
			return showStatus(cmd, points, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: a list of mounts")
	return cmd
}

func statusPoints(args []string) ([]string, error) {
	if len(args) == 1 {
		return []string{mounts.Real(args[0])}, nil
	}
	list, err := mounts.List()
	if err != nil {
		return nil, err
	}
	var points []string
	for _, m := range list {
		points = append(points, m.Point)
	}
	if len(points) == 0 {
		return nil, errNoMount
	}
	return points, nil
}

// showStatus shows every mount that answers, and tells of the others: they may be stale, or another user's.
func showStatus(cmd *cobra.Command, points []string, asJSON bool) error {
	out := cmd.OutOrStdout()
	all := []map[string]any{}
	var errs []error
	for _, p := range points {
		kv, text, err := oneStatus(p)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !asJSON && len(all) > 0 {
			fmt.Fprintln(out)
		}
		if !asJSON {
			fmt.Fprint(out, text)
		}
		all = append(all, withNumbers(kv))
	}
	if asJSON {
		errs = append(errs, printJSON(out, all))
	}
	return errors.Join(errs...)
}

func oneStatus(point string) (map[string]string, string, error) {
	if err := mountError(point); err != nil {
		return nil, "", err
	}
	data, err := os.ReadFile(filepath.Join(point, "status"))
	return mounts.ParseStatus(data), string(data), err
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

// mountError tells why p is not a mount that works.
func mountError(p string) error {
	if err := mounts.Stale(p); err != nil {
		return err
	}
	m, ok, err := mounts.At(p)
	if err != nil {
		return err
	}
	if !ok || m.Point != p {
		return fmt.Errorf("%s: %w", p, errNoMount)
	}
	return nil
}

// pickMount gives the mountpoint that a command works on: the one named, else CTXFS_MOUNT, else /ctx or the only one.
func pickMount(named string) (string, error) {
	if named == "" {
		named = os.Getenv("CTXFS_MOUNT")
	}
	if named != "" {
		point := mounts.Real(named)
		return point, mountError(point)
	}
	list, err := mounts.List()
	if err != nil {
		return "", err
	}
	var points []string
	for _, m := range list {
		if m.Point == "/ctx" {
			return m.Point, mountError(m.Point)
		}
		points = append(points, m.Point)
	}
	switch len(points) {
	case 0:
		return "", errNoMount
	case 1:
		return points[0], mountError(points[0])
	}
	return "", usageError{"several ctxfs are mounted; name one with --mount: " + strings.Join(points, " ")}
}
