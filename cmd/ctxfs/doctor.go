package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ctxfs/internal/doctor"

	"github.com/spf13/cobra"
)

func newDoctor() *cobra.Command {
	var store string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "find what is wrong with ctxfs on this host, and tell how to mend it",
		Long: `Look at FUSE, the kernel, the settings, every mount that is there, the service and its limits, and the stores: permissions, disk,
quotas, locks, clock, gc, quarantine, content. Nothing is changed, and nothing that hangs holds it up. As root it sees more.

Each line is one finding: ok, warn for what works and will not always, or fail for what does not work, with a command that mends it.

Exit codes: 0 nothing fails, 1 something does.`,
		Example: "  ctxfs doctor\n  sudo ctxfs doctor\n  ctxfs doctor --json | jq -r '.[] | select(.level != \"ok\").mend'", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := host(cmd.Root(), store)
			if err != nil {
				return err
			}
			return showFindings(cmd, doctor.Examine(h), asJSON)
		},
	}
	cmd.Flags().StringVar(&store, "store", "", "directory of the store (default "+defaultStoreText+"), beside those of mounts")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: a list of findings")
	return cmd
}

// host is this host as its settings say, as far as they can be read.
func host(root *cobra.Command, store string) (doctor.Host, error) {
	files, wrong := readSettings(root)
	_, err := effectiveSettings(root, files)
	wrong = errors.Join(wrong, err)
	for _, f := range files {
		wrong = errors.Join(wrong, f.unread)
	}
	if store == "" {
		store = lookup(files, "", storeKey, defaultStore()).Value
	}
	abs, err := filepath.Abs(store)
	if err != nil {
		return doctor.Host{}, err
	}
	others, _ := strconv.ParseBool(lookup(files, "mount", "allow-other", "").Value) // what is no bool is wrong
	return doctor.Host{Version: version, Stores: []string{abs}, AllowOther: others, Settings: wrong, Systemd: exists("/run/systemd/system"), UID: os.Geteuid()}, nil
}

func showFindings(cmd *cobra.Command, list []doctor.Finding, asJSON bool) error {
	out := cmd.OutOrStdout()
	count := map[doctor.Level]int{}
	for _, f := range list {
		count[f.Level]++
		if asJSON {
			continue
		}
		mend := ""
		if f.Mend != "" {
			mend = " -> " + f.Mend
		}
		// A path in it may look like another finding, or like what mends this one.
		line := strings.ReplaceAll(printable(strings.ReplaceAll(f.Text, " -> ", ` -\x3e `)+mend), "\n", `\n`)
		fmt.Fprintf(out, "%-4s  %-11s  %s\n", f.Level, f.Check, line)
	}
	if asJSON {
		if err := printJSON(out, list); err != nil {
			return err
		}
	}
	if n := count[doctor.Fail]; n > 0 {
		return fmt.Errorf("%d of %d findings fail", n, len(list))
	}
	return nil
}
