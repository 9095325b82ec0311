package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ctxfs/internal/mounts"

	"github.com/spf13/cobra"
)

func newStatus() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status [MOUNTPOINT]", Short: "show what a mount is and did; without a mountpoint, all mounts",
		Example: "  ctxfs status\n  ctxfs status /ctx --json", Args: cobra.MaximumNArgs(1),
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
		abs, err := filepath.Abs(args[0])
		return []string{abs}, err
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

func showStatus(cmd *cobra.Command, points []string, asJSON bool) error {
	all := []map[string]string{}
	for i, p := range points {
		if err := mountError(p); err != nil {
			return err
		}
		if asJSON {
			kv, err := mounts.Status(p)
			if err != nil {
				return err
			}
			all = append(all, kv)
			continue
		}
		data, err := os.ReadFile(filepath.Join(p, "status"))
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		fmt.Fprint(cmd.OutOrStdout(), string(data))
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), all)
	}
	return nil
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
		abs, err := filepath.Abs(named)
		if err != nil {
			return "", err
		}
		return abs, mountError(abs)
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
