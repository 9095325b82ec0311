package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"ctxfs/internal/session"

	"github.com/spf13/cobra"
)

func newShare() *cobra.Command {
	cmd := &cobra.Command{
		Use: "share", Short: "make places for sessions that several users share",
		Example: "  ctxfs share create team --group developers",
		Args:    knownCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newShareCreate())
	return cmd
}

func newShareCreate() *cobra.Command {
	var mount, group string
	cmd := &cobra.Command{
		Use: "create NAME --group GROUP", Short: "make shared/NAME, for the members of a group",
		Long: `Make shared/NAME in the mount: a folder of a Unix group, with mode 2770 (setgid), so that all that is made in it belongs to
the group too. Its members share the sessions in it; nobody else sees into it. You must be a member, or root. chgrp and
chmod on the folder change who may use it.`,
		Example: "  ctxfs share create team --group developers\n  ls /ctx/shared/team/agent/coder/session/index", Args: exactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if group == "" {
				return usageError{"--group names the group that shares it"}
			}
			if err := session.CheckName(args[0]); err != nil {
				return usageError{err.Error()}
			}
			gid, err := groupID(group)
			if err != nil {
				return err
			}
			if err := memberOf(gid); err != nil {
				return err
			}
			point, err := pickMount(mount)
			if err != nil {
				return err
			}
			return makeShare(filepath.Join(point, "shared", args[0]), gid)
		},
	}
	cmd.Flags().StringVar(&group, "group", "", "name or number of the group that shares it")
	addMountFlag(cmd, &mount)
	return cmd
}

func groupID(group string) (int, error) {
	if gid, err := strconv.ParseUint(group, 10, 31); err == nil {
		return int(gid), nil
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return 0, usageError{fmt.Sprintf("--group: there is no group %s (getent group lists them)", group)}
	}
	return strconv.Atoi(g.Gid)
}

// memberOf returns an error where the caller may not give files to a group (chown(2)): nobody but root can take a share away again.
func memberOf(gid int) error {
	ids, err := os.Getgroups()
	if err != nil {
		return err
	}
	if os.Geteuid() == 0 || os.Getegid() == gid || slices.Contains(ids, gid) {
		return nil
	}
	return fmt.Errorf("--group: you are not a member of group %d: %w (a member can make the share, or root)", gid, os.ErrPermission)
}

// makeShare makes the folder. When it cannot be given to the group, nothing is left of it.
func makeShare(dir string, gid int) error {
	if err := os.Mkdir(dir, 0o700); errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: chgrp and chmod change who may use it", err)
	} else if err != nil {
		return err
	}
	err := os.Chown(dir, -1, gid)
	if err == nil {
		err = os.Chmod(dir, 0o770|os.ModeSetgid)
	}
	if err != nil {
		_ = os.Remove(dir) // the first error is the one to report
		return fmt.Errorf("%w (you must be a member of the group, or root)", err)
	}
	return nil
}
