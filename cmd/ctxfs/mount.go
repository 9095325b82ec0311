package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ctxfs/internal/context/token"
	"ctxfs/internal/metrics"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
)

// mountFlags are the flags of `ctxfs mount`, after -o was read into them.
type mountFlags struct {
	store      string
	background bool
	allowOther bool
	budget     int
	tokenizer  string
	options    []string // -o, as given
	kernel     []string // what of -o goes to mount(2)
	sync       string
	reads      string // of logs
	quota      string // bytes, as given
	space      session.Space
	metrics    string       // as given
	at         metrics.Addr // where they are served, when asked for
	debug      bool
	log        logFlags
	fake       bool // mount(8)'s -f
}

func newMount() *cobra.Command {
	var m mountFlags
	cmd := &cobra.Command{
		Use:   "mount MOUNTPOINT",
		Short: "serve a store of sessions at a mountpoint",
		Long: `Serve a store of sessions at MOUNTPOINT, in the foreground until it is unmounted or gets SIGINT, SIGTERM or SIGHUP.

This process is a supervisor: it mounts, and has a worker serve the mount, which it replaces when it dies. Programs that use
the mount see a pause then (Linux 6.9 or newer). A stale mountpoint, whose supervisor was killed, is taken away first.

From /etc/fstab or mount(8): the store is the source, and -o takes allow_other, budget=N, tokenizer=NAME, store=DIR,
sync=close, log_reads=passthrough, quota=SIZE, quota_files=N, metrics=ADDR and the usual options of mount(8).`,
		Example: "  ctxfs mount /ctx\n  ctxfs mount ~/ctx --background --budget 8000\n  ctxfs mount /ctx --metrics 127.0.0.1:9750\n  mount -t ctxfs /var/lib/ctxfs /ctx -o allow_other",
		Args:    exactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if err := m.readOptions(); err != nil {
				return err
			}
			_, err := m.log.logger()
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVar(&m.store, "store", "", "directory of the store (default "+defaultStoreText+")")
	fl.BoolVar(&m.background, "background", false, "return when the mount is ready, and serve on in the background")
	fl.BoolVar(&m.allowOther, "allow-other", false, "let other users in, each to their own home (as an ordinary user: needs user_allow_other in /etc/fuse.conf)")
	fl.IntVar(&m.budget, "budget", session.DefaultBudget, "budget in tokens of sessions that do not set one")
	fl.StringVar(&m.tokenizer, "tokenizer", "", "tokenizer of sessions that do not set one (default o200k_base)")
	fl.StringVar(&m.sync, "sync", syncAsked, "when appends are made durable: fsync (when a program asks) or close (at each close too)")
	fl.StringVar(&m.reads, "log-reads", readsDirect, "how logs are read: direct (through the daemon: whole lines, always) or passthrough (by the kernel itself: faster, but a line may be seen in part while it is written)")
	fl.StringVar(&m.quota, "quota", "", "bytes that each user and each share may take of the disk, like 10G (default: what the disk's own quotas say)")
	fl.Int64Var(&m.space.Files, "quota-files", 0, "files and folders that each user and each share may have (default: as many as the disk)")
	fl.StringVar(&m.metrics, "metrics", "", "serve metrics for Prometheus at this address of this host: 127.0.0.1:PORT, [::1]:PORT or unix:/PATH (see docs/metrics.md)")
	fl.StringSliceVarP(&m.options, "options", "o", nil, "options as mount(8) takes them, with commas between")
	m.log.add(fl, "info")
	fl.BoolVar(&m.debug, "debug", false, "log every request of the kernel's, with the names in it")
	fl.BoolVar(&m.fake, "fake", false, "look whether it could be mounted, and mount nothing")
	return cmd
}

// Values of --sync.
const (
	syncAsked = "fsync"
	syncClose = "close"
)

// Values of --log-reads.
const (
	readsDirect = "direct"
	readsPast   = "passthrough"
)

// defaultStoreText tells of defaultStore, in the same words whoever asks.
const defaultStoreText = "/var/lib/ctxfs for root, else ~/.local/share/ctxfs"

// defaultStore is the store when none is named (design: section 8).
func defaultStore() string {
	if dir := os.Getenv(envName("", storeKey)); dir != "" {
		return dir
	}
	if os.Geteuid() == 0 {
		return "/var/lib/ctxfs"
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "ctxfs")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "ctxfs-store"
	}
	return filepath.Join(home, ".local/share/ctxfs")
}

// readOptions takes -o apart, and checks what it and the flags say.
func (m *mountFlags) readOptions() error {
	for _, o := range m.options {
		if err := m.option(o); err != nil {
			return err
		}
	}
	if m.sync != syncAsked && m.sync != syncClose {
		return usageError{fmt.Sprintf("--sync is %s or %s, not %q", syncAsked, syncClose, m.sync)}
	}
	if m.reads != readsDirect && m.reads != readsPast {
		return usageError{fmt.Sprintf("--log-reads is %s or %s, not %q", readsDirect, readsPast, m.reads)}
	}
	if err := isWithin("--budget", m.budget, 1, session.MaxBudget); err != nil {
		return err
	}
	if m.tokenizer != "" {
		if err := isOneOf("--tokenizer", m.tokenizer, token.Names()); err != nil {
			return err
		}
	}
	if m.store == "" {
		m.store = defaultStore()
	}
	if err := m.readMetrics(); err != nil {
		return err
	}
	return m.readQuota()
}

// option reads one option: ctxfs's own, one that the kernel takes, or one that only mount(8) and fstab(5) know.
func (m *mountFlags) option(o string) error {
	key, value, _ := strings.Cut(o, "=")
	var err error
	switch key {
	case "allow_other":
		m.allowOther = true
	case "store":
		m.store = value
	case "sync":
		if m.sync = value; value == "" { // mount(8)'s own
			m.sync = syncClose
		}
	case "log_reads":
		m.reads = value
	case "budget":
		m.budget, err = strconv.Atoi(value)
	case "tokenizer":
		m.tokenizer = value
	case "quota":
		m.quota = value
	case "metrics":
		m.metrics = value
	case "quota_files":
		m.space.Files, err = strconv.ParseInt(value, 10, 64)
	case "dev", "nodev", "suid", "nosuid", "exec", "noexec":
		m.kernel = append(m.kernel, o)
	case "async":
		m.sync = syncAsked
	case "ro": // also where unknown options are passed over: who asked for it did not want to write
		return usageError{"-o ro: a ctxfs cannot be mounted read-only"}
	case "remount":
		return usageError{"-o remount: what a mount is cannot be changed while it runs (unmount, and mount again)"}
	default:
		if !passedOver(key) {
			return unknownOption{o}
		}
	}
	if err != nil {
		return usageError{fmt.Sprintf("-o %s is a whole number, not %q", key, value)}
	}
	return nil
}

// passedOver tells whether an option is for mount(8) or for those who read fstab(5), and none for a file system.
func passedOver(key string) bool {
	return slices.Contains([]string{"", "rw", "defaults", "auto", "noauto", "user", "nouser", "users", "_netdev", "nofail", "owner", "group", "default_permissions",
		"atime", "noatime", "relatime", "norelatime", "strictatime", "nostrictatime", "diratime", "nodiratime", "lazytime", "nolazytime", "iversion", "noiversion", "silent", "loud"}, key) ||
		strings.HasPrefix(key, "x-") || strings.HasPrefix(key, "X-") || strings.HasPrefix(key, "comment")
}

// onlyKernel refuses options that are not for the kernel: ctxfs's own have flags, which count before a file.
func onlyKernel(options string) error {
	for _, o := range strings.Split(options, ",") {
		var m mountFlags
		if err := m.option(o); err != nil {
			return err
		}
		if len(m.kernel) == 0 && !passedOver(o) {
			return fmt.Errorf("options: %s has a setting of its own", o)
		}
	}
	return nil
}

// mountOptions are the options of ctxfs's own that -o takes.
func mountOptions() []string {
	return []string{"allow_other", "budget=", "tokenizer=", "store=", "sync=close", "log_reads=passthrough", "quota=", "quota_files=", "metrics="}
}

// unknownOption is a usageError about an option that nobody knows.
type unknownOption struct{ option string }

func (u unknownOption) Error() string {
	return fmt.Sprintf("-o %s is not known%s: there are %s, [no]dev, [no]suid, [no]exec, and those of mount(8)", u.option, didYouMean(u.option, mountOptions()), strings.Join(mountOptions(), ", "))
}

func (u unknownOption) Unwrap() error { return usageError{u.Error()} }

// readQuota reads --quota and --quota-files.
func (m *mountFlags) readQuota() error {
	if m.space.Files < 0 {
		return usageError{fmt.Sprintf("--quota-files is a number of files, not %d", m.space.Files)}
	}
	if m.quota == "" {
		return nil
	}
	bytes, err := parseSize(m.quota)
	if err != nil {
		return usageError{"--quota: " + err.Error()}
	}
	m.space.Bytes = bytes
	return nil
}

func (m *mountFlags) run(cmd *cobra.Command, point string) error {
	if m.debug {
		m.log.level = "debug"
	}
	log, err := m.log.logger()
	if err != nil {
		return err
	}
	if isWorker() {
		return m.work(point, log)
	}
	point = mounts.Real(point)
	if err := m.check(point); err != nil {
		return withMkdirHint(err, point)
	}
	if err := mounts.Overlap(m.store, point); err != nil {
		return err
	}
	if m.fake {
		return nil
	}
	if m.background && os.Getenv(readyEnv) == "" && !renewed() {
		return inBackground(cmd, m.store)
	}
	err = keepCapabilities(needed())
	if err == nil {
		err = m.supervise(log, point)
	}
	tellReady(err)
	return m.log.fail(log, err)
}

func withMkdirHint(err error, point string) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w (make it first: mkdir -p %s)", err, point)
	}
	return err
}

// check looks at the mountpoint. What a daemon that was killed left there is taken away.
func (m *mountFlags) check(point string) error {
	if _, held := heldBySystemd(); held || renewed() {
		return nil
	}
	err := mounts.Check(point)
	if errors.Is(err, mounts.ErrStale) && !m.fake && mounts.Free(point) == nil {
		err = mounts.Check(point)
	}
	return err
}
