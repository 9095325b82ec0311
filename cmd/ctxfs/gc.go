package main

import (
	"fmt"
	"strconv"
	"time"

	"ctxfs/internal/gc"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"
	"ctxfs/internal/verify"

	"github.com/spf13/cobra"
)

// storeFlags say which store a command works on.
type storeFlags struct{ store, mount string }

func (s *storeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.store, "store", "", "directory of the store (default: that of the mount, else "+defaultStore()+")")
	cmd.Flags().StringVar(&s.mount, "mount", "", "mountpoint whose store is meant (default: $CTXFS_MOUNT, /ctx, or the only mount)")
}

// open opens the store beside a daemon that may hold it.
func (s *storeFlags) open() (*session.Store, error) {
	opt := session.Options{ReadOnly: true}
	if s.store == "" {
		s.store = defaultStore()
		if point, err := pickMount(s.mount); err == nil {
			status, err := mounts.Status(point)
			if err != nil {
				return nil, err
			}
			s.store, opt.Tokenizer = status["store"], status["tokenizer"]
			opt.Budget, _ = strconv.Atoi(status["budget"]) // 0 is the default
		} else if s.mount != "" {
			return nil, err
		}
	}
	return session.Open(s.store, opt)
}

func newGC() *cobra.Command {
	var s storeFlags
	var dry, asJSON bool
	cmd := &cobra.Command{
		Use: "gc", Short: "remove what nothing needs any more; never history",
		Long: `Remove temporary files that crashes left and blobs that no record names, when they are an hour old. History is never
touched. It works beside a running mount. With --dry-run it only prints the plan.`,
		Example: "  ctxfs gc --dry-run\n  ctxfs gc --store /var/lib/ctxfs --json", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := s.open()
			if err != nil {
				return err
			}
			defer store.Close()
			plan, err := gc.Make(store, time.Now())
			if err != nil {
				return err
			}
			return carryOut(cmd, store, plan, dry, asJSON)
		},
	}
	s.add(cmd)
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "print the plan, remove nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the plan as JSON")
	return cmd
}

func carryOut(cmd *cobra.Command, store *session.Store, plan *gc.Plan, dry, asJSON bool) error {
	out := cmd.OutOrStdout()
	if asJSON {
		if err := printJSON(out, plan); err != nil {
			return err
		}
	} else if dry {
		for _, a := range plan.Actions {
			fmt.Fprintf(out, "%10d  %s  (%s)\n", a.Bytes, printable(a.Path), a.Reason)
		}
	}
	freed, verb := plan.Bytes, "would free"
	if !dry {
		var err error
		if freed, err = gc.Run(store, plan); err != nil {
			return err
		}
		verb = "freed"
	}
	if !asJSON {
		fmt.Fprintf(out, "gc: %d files, %s %d bytes\n", len(plan.Actions), verb, freed)
	}
	return nil
}

func newVerify() *cobra.Command {
	var s storeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "verify", Short: "read a whole store and tell what is wrong with it",
		Long:    "Read every log, control file and blob of a store and tell what is wrong. Nothing is changed. Exits 3 when there are problems.",
		Example: "  ctxfs verify\n  ctxfs verify --store /var/lib/ctxfs --json | jq .problems", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := s.open()
			if err != nil {
				return err
			}
			defer store.Close()
			r, err := verify.Store(store)
			if err != nil {
				return err
			}
			return showReport(cmd, r, asJSON)
		},
	}
	s.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

func showReport(cmd *cobra.Command, r *verify.Report, asJSON bool) error {
	out := cmd.OutOrStdout()
	if asJSON {
		if err := printJSON(out, r); err != nil {
			return err
		}
	} else {
		for _, p := range r.Problems {
			fmt.Fprintf(out, "%s: %s\n", printable(p.Path), printable(p.Text))
		}
		fmt.Fprintf(out, "verify: %d sessions, %d records, %d events, %d blobs, %d bytes read, %d in quarantine, %d problems\n",
			r.Sessions, r.Records, r.Events, r.Blobs, r.Bytes, r.Quarantined, len(r.Problems))
	}
	if len(r.Problems) > 0 {
		return problems{fmt.Sprintf("the store has %d problems", len(r.Problems))}
	}
	return nil
}
