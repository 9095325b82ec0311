package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"ctxfs/internal/quality/made"
)

// programs are what is measured.
type programs struct{ ctxfs, loopback string }

// world is a folder on the file system that is measured, with a store in it and a mount for each peer. All of them lie on
// the same backing directory:
//
//	back/plain  sessions of those peers that keep files and nothing else
//	back/store  the store of ctxfs
type world struct {
	programs
	dir   string
	uid   int
	peers map[string]*peer
}

// newWorld makes it below dir, for clients with that user id.
func newWorld(dir string, p programs, uid int) (*world, error) {
	w := &world{programs: p, dir: dir, uid: uid, peers: map[string]*peer{}}
	for _, d := range []string{w.back("plain"), w.back("store", w.agent())} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	if err := w.give(w.back()); err != nil {
		return nil, err
	}
	w.peers["native"] = &peer{name: "native", dir: w.back("plain"), kept: w.back("store", w.agent()), user: w.user()}
	return w, nil
}

func (w *world) back(rel ...string) string {
	return filepath.Join(w.dir, "back", filepath.Join(rel...))
}

func (w *world) agent() string { return fmt.Sprintf("home/%d/agent/coder/session", w.uid) }

func (w *world) user() bool { return w.uid != os.Geteuid() }

// give has what is below a folder belong to the world's user.
func (w *world) give(dir string) error {
	if !w.user() {
		return nil
	}
	return run("chown", "-R", fmt.Sprintf("%d:%d", w.uid, w.uid), dir)
}

// mount starts a peer: argv gives its command line.
func (w *world) mount(name string, argv func(back, point string) []string) error {
	point := filepath.Join(w.dir, name)
	if err := errors.Join(os.MkdirAll(point, 0o755), w.give(point)); err != nil {
		return err
	}
	p := &peer{name: name, dir: filepath.Join(point, "plain"), kept: filepath.Join(point, "store", w.agent()), user: w.user()}
	if name == "ctxfs" {
		p.dir = filepath.Join(point, w.agent())
		p.kept, p.ours = p.dir, true
	}
	w.peers[name] = p
	return p.mount(point, argv(w.back(), point)...)
}

// mountOurs starts ctxfs.
func (w *world) mountOurs(flags ...string) error {
	return w.mount("ctxfs", func(back, point string) []string {
		return append([]string{w.ctxfs, "mount", point, "--store", filepath.Join(back, "store")}, flags...)
	})
}

// mountLoopback starts go-fuse's own example.
func (w *world) mountLoopback() error {
	return w.mount("loopback", func(back, point string) []string { return []string{w.loopback, point, back} })
}

// mountFloor starts the server that does nothing.
func (w *world) mountFloor() error {
	if os.Geteuid() != 0 {
		return nil // it mounts by itself
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return w.mount("floor", func(_, point string) []string { return []string{self, "floor", point} })
}

// mountPassthrough starts the peers that the host has. Those that insist on other users' access are left out where it takes
// root.
func (w *world) mountPassthrough() error {
	options := []string{}
	if w.user() || os.Geteuid() != 0 {
		options = append(options, "--no-allow-other")
	}
	if _, err := exec.LookPath("bindfs"); err == nil {
		if err := w.mount("bindfs", func(back, point string) []string {
			return append([]string{"bindfs", "-f", back, point}, options...)
		}); err != nil {
			return err
		}
	}
	if _, err := exec.LookPath("mergerfs"); err != nil || len(options) > 0 {
		return nil
	}
	return w.mount("mergerfs", func(back, point string) []string { return []string{"mergerfs", "-f", back, point} })
}

// end unmounts all.
func (w *world) end() error {
	var errs []error
	for _, p := range w.peers {
		errs = append(errs, p.end())
	}
	return errors.Join(errs...)
}

// keep puts a session with n made records into the store, past the daemon.
func (w *world) keep(name string, n int) error {
	return w.keepLog(name, func(b *bufio.Writer) error {
		m := made.New(n)
		for range n {
			if _, err := b.Write(m.Next()); err != nil {
				return err
			}
		}
		return nil
	})
}

// keepLarge puts a session with a log of at least that many bytes into the store.
func (w *world) keepLarge(name string, size int) error {
	return w.keepLog(name, func(b *bufio.Writer) error {
		text := made.Log(1000)
		for n := 0; n < size; n += len(text) {
			if _, err := b.Write(text); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *world) keepLog(name string, fill func(*bufio.Writer) error) error {
	dir := w.back("store", w.agent(), name)
	if err := lay(dir, w.uid); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "messages.jsonl"), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(fill(b), b.Flush(), f.Close(), w.give(dir))
}

// keepMany puts n small sessions into the store.
func (w *world) keepMany(n int) error {
	for i := range n {
		if err := lay(w.back("store", w.agent(), fmt.Sprintf("session-%06d", i)), w.uid); err != nil {
			return err
		}
	}
	syscall.Sync()
	return nil
}

// lay makes the folder of a session of one record, as the daemon does.
func lay(dir string, uid int) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"messages.jsonl": "{\"role\":\"user\",\"content\":\"" + filepath.Base(dir) + "\"}\n", "events.jsonl": "",
		"meta.json": fmt.Sprintf("{\"created_at\":\"2026-01-02T03:04:05Z\",\"created_by_uid\":%d,\"id\":\"%s\"}\n", uid, filepath.Base(dir)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
