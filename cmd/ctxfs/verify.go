package main

import (
	"fmt"

	"ctxfs/internal/session"
	"ctxfs/internal/verify"

	"github.com/spf13/cobra"
)

func newVerify() *cobra.Command {
	var s storeFlags
	var asJSON, repair bool
	cmd := &cobra.Command{
		Use: "verify", Short: "read a whole store and tell what is wrong with it",
		Long: `Read every log, archive, control file and blob of a store, hold them against their hashes, and tell what is wrong. Nothing
is changed. With --repair, in a store that is not mounted, first mend what a crash left half done: torn lines go to
quarantine, leftovers of an archive are removed. Exits 3 when there are problems that are left.`,
		Example: "  ctxfs verify\n  ctxfs verify --store /var/lib/ctxfs --repair\n  ctxfs verify --store /var/lib/ctxfs --json | jq .problems", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := s.open()
			if err != nil {
				return err
			}
			defer store.Close()
			if repair {
				if err := repairStore(store.Path()); err != nil {
					return err
				}
			}
			bar := newProgress(cmd.ErrOrStderr(), "verify", -1, false)
			r, err := verify.Store(store, bar.steps)
			bar.end()
			if err != nil {
				return err
			}
			return showReport(cmd, r, asJSON)
		},
	}
	s.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&repair, "repair", false, "first mend what a crash left half done")
	return cmd
}

// repairStore repairs the store at dir, which nothing else may hold. What could not be repaired shows in the report.
func repairStore(dir string) error {
	store, err := session.Open(dir, session.Options{})
	if err != nil {
		return err
	}
	_ = verify.Repair(store)
	return store.Close()
}

func showReport(cmd *cobra.Command, r *verify.Report, asJSON bool) error {
	out := cmd.OutOrStdout()
	if asJSON {
		if err := printJSON(out, r); err != nil {
			return err
		}
	} else {
		for _, p := range r.Problems {
			hint := ""
			if p.Repairable {
				hint = " [--repair mends it]"
			}
			fmt.Fprintf(out, "%s: %s%s\n", printable(p.Path), printable(p.Text), hint)
		}
		fmt.Fprintf(out, "verify: %d sessions, %d records, %d events, %d logs archived, %d blobs, %d bytes read, %d in quarantine, %d problems\n",
			r.Sessions, r.Records, r.Events, r.Archived, r.Blobs, r.Bytes, r.Quarantined, len(r.Problems))
	}
	if len(r.Problems) > 0 {
		return problems{"the store has " + count(len(r.Problems), "problem")}
	}
	return nil
}
