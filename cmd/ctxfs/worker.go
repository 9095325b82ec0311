package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"ctxfs/internal/fsnode"
	"ctxfs/internal/keep"
	"ctxfs/internal/mounts"
	"ctxfs/internal/serve"
	"ctxfs/internal/session"
	"ctxfs/internal/supervise"

	"golang.org/x/sys/unix"
)

// workerEnv tells `ctxfs mount` that it is a supervisor's worker: its value is where the program was started from.
const workerEnv = "CTXFS_WORKER"

// workerFD is the worker's socket to its supervisor.
const workerFD = 3

// The names by which the supervisor holds the store's lock, and its folder.
const (
	lockFile = "lock"
	rootFile = "store"
)

func isWorker() bool { return os.Getenv(workerEnv) != "" }

// work serves the mount of a supervisor until it is taken away. Why it cannot be served, the supervisor is told.
func (m *mountFlags) work(point string, log *slog.Logger) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP) // a terminal's are for the supervisor
	w, err := supervise.Join(workerFD)
	if err != nil {
		return err
	}
	if err := m.serve(w, point, log); err != nil {
		_ = w.Failed(supervise.Failure{Code: codeOf(err), Text: err.Error()}) // else the supervisor is gone, and so are we
		return problems{"told"}
	}
	return w.Gone()
}

// dieWith ends this process at once when its supervisor is gone: nobody could replace it any more, and /dev/fuse is to be
// closed, so that programs see ENOTCONN.
func dieWith(w *supervise.Worker) {
	_ = w.Wait()
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // never fails
}

// serve opens the store and serves until the mount is gone.
func (m *mountFlags) serve(w *supervise.Worker, point string, log *slog.Logger) error {
	store, err := session.Open(m.store, session.Options{Budget: m.budget, Tokenizer: m.tokenizer, Version: version, Space: m.space, Lock: w.File(lockFile), Root: w.File(rootFile)})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := keepStore(w, store); err != nil {
		return err
	}
	if store.Moved() {
		log.Warn("the store is not at its path any more, and is served from where it is now: move it back, or mount it anew", "store", store.Path())
	}
	asked, err := m.listen(w, log)
	if err != nil {
		return err
	}
	_ = session.SweepMemory()             // what cannot be removed is no reason not to mount
	syscall.Umask(0)                      // the kernel has applied the umask of whoever makes a file
	if err := os.Chdir("/"); err != nil { // a daemon keeps no other file system busy
		return err
	}
	hub := serve.New(store, serve.DefaultLimits())
	defer hub.Close()
	region, err := keep.Open(w.File(supervise.Region), time.Now().UnixNano())
	if err != nil {
		return err
	}
	fs, err := fsnode.New(store, fsnode.Options{Mountpoint: point, AllowOther: m.allowOther, Version: version, Program: os.Getenv(workerEnv),
		Debug: m.debug, SyncOnClose: m.sync == syncClose, ReadPast: m.reads == readsPast,
		Log: log, Sockets: hub, Supervisor: w.FD(), Kept: fsnode.Kept{Region: region, Nodes: w.File(supervise.Nodes), Files: w,
			KeepNodes: func(f *os.File) error { return w.Keep(supervise.Nodes, f) }}})
	if err != nil {
		return err
	}
	dev, again, err := w.Mount()
	if err != nil {
		return fmt.Errorf("mount %s: %w%s", point, err, mountHint())
	}
	go dieWith(w)
	server, err := fs.Attach(dev, again)
	if err = errors.Join(err, dev.Close()); err != nil {
		return err
	}
	stop := unmountOnSignal(fs, w, point)
	defer stop()
	if err := w.Ready(!server.Resumable()); err != nil {
		return err
	}
	store.Warm()
	go hub.Recover()
	end, err := m.serveMetrics(asked, store, fs, log)
	if err != nil {
		return err
	}
	defer end()
	return server.Wait()
}

// keepStore has the supervisor hold what the next worker opens the store by.
func keepStore(w *supervise.Worker, store *session.Store) error {
	if err := w.Keep(lockFile, store.LockFile()); err != nil || w.File(rootFile) != nil {
		return err
	}
	root, err := store.RootFile()
	if err != nil {
		return err
	}
	return errors.Join(w.Keep(rootFile, root), root.Close())
}

// unmountOnSignal unmounts at SIGTERM, which the supervisor sends. While files are open the kernel refuses; then the mount is
// detached: open files go on to work until they are closed, and no new ones come. Without a supervisor it is systemd that sends it,
// to what a supervisor that died has left, before it starts another: that one is to find the mount.
func unmountOnSignal(fs *fsnode.FS, w *supervise.Worker, point string) (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	go func() {
		for range c {
			if w.Orphan() {
				return
			}
			fs.Quiet() // sockets keep the mount busy
			if mounts.Unmount(point, false) == nil || mounts.Unmount(point, true) == nil {
				signal.Ignore(syscall.SIGTERM) // what is mounted there now is another's
				return
			}
		}
	}()
	return func() { signal.Stop(c) }
}

// mountHint says what to do where mount(2) or fusermount3(1) cannot work; "" where both can, and their own words say why they refuse.
func mountHint() string {
	if _, err := exec.LookPath("fusermount3"); err != nil && os.Geteuid() != 0 {
		return " (install fuse3: apt-get install fuse3)"
	}
	if err := unix.Access("/dev/fuse", unix.R_OK|unix.W_OK); err != nil {
		return fmt.Sprintf(" (/dev/fuse: %v; ctxfs doctor says what mends it)", err)
	}
	return ""
}
