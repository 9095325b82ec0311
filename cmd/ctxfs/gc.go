package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"ctxfs/internal/gc"
	"ctxfs/internal/metrics"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// storeFlags say which store a command works on.
type storeFlags struct{ store, mount string }

func (s *storeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.store, "store", "", "directory of the store (default: that of the mount; else "+defaultStoreText+")")
	addMountFlag(cmd, &s.mount)
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
		} else if s.mount != "" || !errors.Is(err, errNoMount) {
			return nil, err
		}
	}
	store, err := session.Open(s.store, opt)
	if err != nil {
		return nil, err
	}
	if err := isStore(store); err != nil {
		return nil, errors.Join(fmt.Errorf("store %s: %w", store.Path(), withOwner(store.Path(), err)), store.Close())
	}
	return store, nil
}

// withOwner adds to an error of permission in a store of another user's what to do.
func withOwner(store string, err error) error {
	var st unix.Stat_t
	if !errors.Is(err, fs.ErrPermission) || unix.Stat(store, &st) != nil || int(st.Uid) == os.Geteuid() {
		return err
	}
	return fmt.Errorf("%w: it is user %d's (name your own with --store, or have its user do this)", fs.ErrPermission, st.Uid)
}

// isStore refuses a folder that no ctxfs made: what is not there is neither clean nor whole.
func isStore(store *session.Store) error {
	for _, d := range []string{session.StateDir, "home", "shared"} {
		if _, err := store.Dir().Stat(d); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return &session.Error{Kind: session.NotFound, Msg: "it is no store: nothing of ctxfs is in it",
		Hint: "ctxfs status MOUNTPOINT shows a mount's store"}
}

// gcFlags are the flags of gc.
type gcFlags struct {
	storeFlags
	dry, asJSON bool
	after       string
	rest        time.Duration // what after says
	textfile    string
	log         logFlags
}

func newGC() *cobra.Command {
	var f gcFlags
	cmd := &cobra.Command{
		Use: "gc", Short: "give back what nothing needs any more; never history",
		Long: `Make a plan, and carry it out: remove what crashes left and blobs that no record names, when they are an hour old; archive
or delete the sessions whose context/gc.policy says so (archive_after=90d; delete_after=365d with keep_messages=0 and
keep_events=0); write cold files anew that are largely dead. Other history is never touched. It works beside a running
mount, which it asks for what only the daemon may do, and can be killed at any point.

Exit codes: 0 done, 1 a part failed (the rest is done), 10 another gc works on the store or it is being copied, 12 there is
no such store.`,
		Example: "  ctxfs gc --dry-run\n  ctxfs gc --store /var/lib/ctxfs --json\n  17 4 * * * ctxfs gc --archive-after 90d     (crontab)\n  ctxfs gc --textfile /var/lib/prometheus/node-exporter/ctxfs-gc.prom", Args: exactArgs(0),
		PreRunE: func(*cobra.Command, []string) error { return f.check() },
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.measured(cmd) },
	}
	f.add(cmd)
	cmd.Flags().BoolVarP(&f.dry, "dry-run", "n", false, "print the plan with sizes and reasons, do nothing")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the plan, and what was done, as JSON")
	cmd.Flags().StringVar(&f.after, "archive-after", "", "archive sessions that rest for so long and whose policy does not say archive_after (90d, 12h)")
	f.log.add(cmd.Flags(), "warn")
	cmd.Flags().StringVar(&f.textfile, "textfile", "", "write what was done to this file, for the textfile collector of Prometheus' node_exporter (see docs/metrics.md)")
	return cmd
}

// check looks at what the flags say.
func (f *gcFlags) check() error {
	if f.after != "" {
		policy, err := session.ParsePolicy([]byte("archive_after=" + f.after))
		if err != nil {
			return usageError{fmt.Sprintf("--archive-after is a time like 90d or 12h, not %q", f.after)}
		}
		f.rest = policy.ArchiveAfter
	}
	_, err := f.log.logger()
	return err
}

// measured runs gc, and writes the file that tells of it, whatever became of it. Another gc that works tells of itself.
func (f *gcFlags) measured(cmd *cobra.Command) error {
	log, err := f.log.logger()
	if err != nil {
		return err
	}
	g := metrics.GC{Began: time.Now()}
	err = f.log.fail(log, f.run(cmd, &g))
	if err == nil && !f.dry {
		log.Info("gc done", "store", g.Store, "planned", g.Planned, "done", g.Done, "busy", g.Busy, "archived_bytes", g.Archived, "freed_bytes", g.Freed)
	}
	if f.textfile == "" || f.dry || codeOf(err) == exitLocked || codeOf(err) == exitUsage {
		return err
	}
	g.Took, g.Err = time.Since(g.Began), err
	if g.Store == "" { // it was not found
		g.Store = f.store
	}
	if werr := metrics.WriteGC(f.textfile, g); werr != nil {
		return errors.Join(err, fmt.Errorf("--textfile: %w", werr))
	}
	return err
}

func (f *gcFlags) run(cmd *cobra.Command, g *metrics.GC) error {
	opt := gc.Options{Now: time.Now(), ArchiveAfter: f.rest}
	store, err := f.open()
	if err != nil {
		return err
	}
	defer store.Close()
	g.Store = store.Path()
	if !f.dry {
		release, err := gc.Lock(store)
		if err != nil {
			return err
		}
		defer release()
	}
	bar := newProgress(cmd.ErrOrStderr(), "gc", -1, false)
	defer bar.end()
	opt.Step = bar.steps
	plan, left := gc.Make(store, opt)
	if plan == nil {
		return left
	}
	if f.dry {
		bar.end()
		return errors.Join(f.showPlan(cmd, plan), left)
	}
	keep, err := newKeeper(store)
	if err != nil {
		return err
	}
	defer keep.close()
	r, err := gc.Run(store, plan, keep)
	bar.end()
	g.Planned, g.Done, g.Busy, g.Archived, g.Freed = len(plan.Actions), r.Done, r.Busy, r.Archived, r.Freed
	return errors.Join(f.showResult(cmd, plan, r), left, err)
}

func (f *gcFlags) showPlan(cmd *cobra.Command, plan *gc.Plan) error {
	out := cmd.OutOrStdout()
	if f.asJSON {
		return printJSON(out, plan)
	}
	for _, a := range plan.Actions {
		fmt.Fprintf(out, "%-7s  %10d  %s  (%s)\n", a.Do, a.Bytes, printable(a.Path), a.Reason)
	}
	_, err := fmt.Fprintf(out, "gc: %s, would free %d bytes\n", count(len(plan.Actions), "action"), plan.Bytes)
	return err
}

func (f *gcFlags) showResult(cmd *cobra.Command, plan *gc.Plan, r gc.Result) error {
	out := cmd.OutOrStdout()
	if f.asJSON {
		return printJSON(out, struct {
			*gc.Plan
			Result gc.Result `json:"result"`
		}{plan, r})
	}
	_, err := fmt.Fprintf(out, "gc: %s done, %d open sessions left, %d bytes archived, %d bytes freed\n", count(r.Done, "action"), r.Busy, r.Archived, r.Freed)
	return err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// keeper has sessions archived and deleted by whoever holds the store: its mount, else this process.
type keeper struct {
	own   *session.Store // nil: the mount at point holds the store
	point string
}

func newKeeper(store *session.Store) (*keeper, error) {
	own, err := session.Open(store.Path(), session.Options{})
	var rule *session.Error
	if !errors.As(err, &rule) || rule.Kind != session.Locked {
		return &keeper{own: own}, err
	}
	point, err := mountOf(store.Path())
	return &keeper{point: point}, err
}

// mountOf finds the mount that serves a store, of the caller's, of root's, and of the user's whose the store is: that of another may
// call any store its own. No other is asked anything: one that hangs holds up nobody who does not use it.
func mountOf(store string) (string, error) {
	list, err := mounts.List()
	if err != nil {
		return "", err
	}
	uid := os.Geteuid()
	var st unix.Stat_t
	if err := unix.Stat(store, &st); err != nil {
		return "", err
	}
	for _, m := range list {
		if m.Store != store || !m.LetsIn(uid) || !m.Believed(uid) && m.UID != int(st.Uid) {
			continue
		}
		if status, err := mounts.Status(m.Point); err == nil && status["store"] == store {
			return m.Point, nil
		}
	}
	return "", nil
}

func (k *keeper) close() {
	if k.own != nil {
		_ = k.own.Close()
	}
}

func (k *keeper) Archive(rel string) error {
	return k.order(rel, "archive", func(x *session.Session) error { _, err := x.Archive(); return err })
}

func (k *keeper) Delete(rel string) error {
	return k.order(rel, "delete", func(x *session.Session) error { return x.Container().Delete(x.Name()) })
}

func (k *keeper) order(rel, order string, here func(*session.Session) error) error {
	switch {
	case k.own != nil:
		x, err := lookSession(k.own, path.Dir(path.Dir(rel)), path.Base(rel))
		if err != nil {
			return err
		}
		return here(x)
	case k.point == "":
		return unix.EBUSY // a program without a mount works on the store
	}
	return mountOrder(filepath.Join(k.point, rel), order)
}
